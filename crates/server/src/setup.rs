//! The first start in a browser: the page, and what it asks while nothing is open yet. Only whoever is on this machine may use it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use ibid_app::{ModelChoice, ModelTrial, PullStatus, Setup, SetupReport};
use ibid_core::Scope;
use ibid_core::Tenant;
use serde_json::{Value, json};
use tower_http::catch_panic::CatchPanicLayer;

use crate::access::Access;
use crate::http::{self, Json, Problem};
use crate::page;

#[derive(Clone)]
struct SetupState {
    setup: Arc<Setup>,
    access: Arc<Access>,
}

/// The routes of a first start.
pub fn setup_router(setup: Arc<Setup>) -> Router {
    let state = SetupState { setup, access: Arc::new(Access::open(Scope::of(Tenant::local()))) };
    let guarded = Router::new()
        .route("/setup", get(report))
        .route("/setup/try", post(try_model))
        .route("/setup/model", post(save_model))
        .route("/setup/pull", get(pull_status).post(pull))
        .route("/setup/open", post(open))
        .layer(from_fn_with_state(state.clone(), only_from_here));
    Router::new()
        .merge(page::routes())
        .route("/info", get(info))
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(not_ready))
        .merge(guarded)
        .fallback(async || {
            Problem::unavailable("ibid is being set up: open `/` in a browser on this machine")
        })
        .method_not_allowed_fallback(async || Problem::not_allowed())
        .layer(CatchPanicLayer::custom(http::panicked))
        .layer(from_fn(http::finish))
        .with_state(state)
}

/// Neither other machines nor pages of other origins may set something up.
async fn only_from_here(
    State(SetupState { access, .. }): State<SetupState>,
    request: Request,
    next: Next,
) -> Response<Body> {
    match access.caller(http::key_of(request.headers()), request.headers()).await {
        Ok(_) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn info() -> axum::Json<Value> {
    axum::Json(json!({ "name": "ibid", "version": env!("CARGO_PKG_VERSION"), "setup": true }))
}

async fn not_ready() -> (StatusCode, axum::Json<Value>) {
    (
        StatusCode::SERVICE_UNAVAILABLE,
        axum::Json(json!({ "ready": false, "parts": { "setup": { "ready": false } } })),
    )
}

async fn report(
    State(SetupState { setup, .. }): State<SetupState>,
) -> Result<axum::Json<SetupReport>, Problem> {
    Ok(axum::Json(setup.report().await.map_err(failed)?))
}

async fn try_model(
    State(SetupState { setup, .. }): State<SetupState>,
    Json(choice): Json<ModelChoice>,
) -> Result<axum::Json<ModelTrial>, Problem> {
    Ok(axum::Json(setup.try_model(&choice).await.map_err(failed)?))
}

async fn save_model(
    State(SetupState { setup, .. }): State<SetupState>,
    Json(choice): Json<ModelChoice>,
) -> Result<axum::Json<SetupReport>, Problem> {
    let saving = setup.clone();
    let saved = tokio::task::spawn_blocking(move || saving.save_model(&choice)).await;
    saved.map_err(|error| Problem::internal(&error))?.map_err(failed)?;
    Ok(axum::Json(setup.report().await.map_err(failed)?))
}

async fn pull(State(SetupState { setup, .. }): State<SetupState>) -> axum::Json<PullStatus> {
    setup.pull();
    axum::Json(setup.pull_status())
}

async fn pull_status(State(SetupState { setup, .. }): State<SetupState>) -> axum::Json<PullStatus> {
    axum::Json(setup.pull_status())
}

async fn open(State(SetupState { setup, .. }): State<SetupState>) -> Result<axum::Json<Value>, Problem> {
    // Whoever asks may go away meanwhile; what is opened stays open.
    let opened = tokio::spawn(async move { setup.open().await }).await;
    opened.map_err(|error| Problem::internal(&error))?.map_err(failed)?;
    Ok(axum::Json(json!({ "open": true })))
}

fn failed(error: ibid_app::Error) -> Problem {
    match &error {
        ibid_app::Error::Settings(_) | ibid_app::Error::Missing(_) | ibid_app::Error::Unknown(_) => {
            Problem::invalid(error.chain())
        }
        _ => Problem::failed(error.chain()),
    }
}
