//! The server: threads, runs and assistants over HTTP, in the shapes that published clients already speak.
//!
//! A request goes through `http`: it gets a trace id, a caller with a scope, and problems that say what happened. A
//! handler turns it into a call of the engine; `stream` turns the events of a run into what its clients expect.

mod access;
mod api;
mod assistants;
mod audit;
mod cells;
mod connections;
mod datasets;
mod docs;
mod documents;
mod health;
mod http;
mod insights;
mod keys;
mod mcp;
mod messages;
mod metrics;
mod openai;
mod page;
mod runs;
mod setup;
mod slots;
mod sources;
mod state;
mod status;
mod stream;
mod threads;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use ibid_app::{App, Cells};
use ibid_core::{LoadEvent, RunEvent, TurnEvent};
use ibid_telemetry::MetricsRegistry;
use tower_http::catch_panic::CatchPanicLayer;

pub use access::{Access, Claims, Issuer, KEY_PREFIX, Key, key_expiry, key_hash};
pub use connections::serve;
pub use setup::setup_router;

use api::Api;
use http::Problem;
use state::ServerState;

/// Shows the terminal beside this server that it is the right one.
async fn local_proof(
    axum::extract::State(app): axum::extract::State<ServerState>,
    query: http::Query,
) -> Result<String, Problem> {
    let proof = query.one("number").and_then(|number| app.access().proof(number));
    proof.ok_or_else(|| Problem::not_found("this server has no terminal beside it"))
}

/// All routes of a server for an application, who may use them, and what counts, if something does.
///
/// # Errors
/// Fails when the application answers no turns.
pub fn router(app: App, access: Access, metrics: Option<MetricsRegistry>) -> Result<Router, ibid_app::Error> {
    cells_router(app.into(), access, metrics)
}

/// The same for the applications of cells: each request goes to that of its caller's tenant.
///
/// # Errors
/// Fails when one of them answers no turns.
pub fn cells_router(
    cells: Cells,
    access: Access,
    metrics: Option<MetricsRegistry>,
) -> Result<Router, ibid_app::Error> {
    of_cells(cells, access, metrics, server_router)
}

/// The routes of a process that works on what servers take: how it is, and what it counts.
///
/// # Errors
/// Fails when an application answers no turns.
pub fn worker_router(
    cells: Cells,
    access: Access,
    metrics: Option<MetricsRegistry>,
) -> Result<Router, ibid_app::Error> {
    of_cells(cells, access, metrics, health_router)
}

/// Routes for each of the applications; if there are several, with a dispatcher in front of them.
fn of_cells(
    cells: Cells,
    access: Access,
    metrics: Option<MetricsRegistry>,
    routes: fn(ServerState) -> Router,
) -> Result<Router, ibid_app::Error> {
    let access = Arc::new(access.and_keys_of(cells.clone()));
    let state = |app: &App| ServerState::new(cells.clone(), app.clone(), access.clone(), metrics.clone());
    let states = cells.all().map(|(_, app)| state(app));
    let routers = states.map(|state| state.map(routes)).collect::<Result<Vec<Router>, _>>()?;
    Ok(match <[Router; 1]>::try_from(routers) {
        Ok([only]) => only,
        Err(routers) => cells::dispatcher(cells, access, routers),
    })
}

fn server_router(app: ServerState) -> Router {
    let (open, health) = Api::new().and(health::routes).into_parts();
    let (guarded, described) = Api::new()
        .and(assistants::routes)
        .and(threads::routes)
        .and(runs::routes)
        .and(documents::routes)
        .and(sources::routes)
        .and(openai::routes)
        .and(status::routes)
        .and(metrics::routes)
        .and(insights::routes)
        .and(datasets::routes)
        .and(keys::routes)
        .streams::<RunEvent<TurnEvent>>("TurnEvent")
        .streams::<RunEvent<LoadEvent>>("LoadEvent")
        .into_parts();
    let guarded = guarded.merge(mcp::routes(&app)).layer(from_fn_with_state(app.clone(), http::authenticate));
    let router = Router::new()
        .merge(open)
        .merge(docs::routes(api::document([described, health])))
        .merge(page::routes())
        .merge(guarded)
        .route(ibid_app::LOCAL_PROOF_PATH, axum::routing::get(local_proof).with_state(app.clone()))
        .fallback(async || Problem::not_found("there is nothing at this address; /docs shows what there is"));
    finished(router, app)
}

fn health_router(app: ServerState) -> Router {
    let (open, _) = Api::new().and(health::routes).into_parts();
    let (guarded, _) = Api::new().and(metrics::routes).into_parts();
    let router = Router::new()
        .merge(open)
        .merge(guarded.layer(from_fn_with_state(app.clone(), http::authenticate)))
        .fallback(async || Problem::not_found("this process works on what servers take; ask one of them"));
    finished(router, app)
}

/// What every answer goes through.
fn finished(router: Router<ServerState>, app: ServerState) -> Router {
    router
        .method_not_allowed_fallback(async || Problem::not_allowed())
        .layer(CatchPanicLayer::custom(http::panicked))
        .layer(http::cors(&app))
        .layer(from_fn(http::finish))
        .with_state(app)
}
