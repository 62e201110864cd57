//! The server: threads, runs and assistants over HTTP, in the shapes that published clients already speak.
//!
//! A request goes through `http`: it gets a trace id, a caller with a scope, and problems that say what happened. A
//! handler turns it into a call of the engine; `stream` tells what the engine writes down.

mod access;
mod api;
mod app;
mod assistants;
mod connections;
mod docs;
mod documents;
mod health;
mod http;
mod library;
mod mcp;
mod messages;
mod openai;
mod page;
mod runs;
mod status;
mod stream;
mod threads;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use tower_http::catch_panic::CatchPanicLayer;

pub use access::{Access, Claims, Issuer, Key};
pub use app::{Check, Facts, Finding, Model, Offer, Parts};
pub use connections::serve;
pub use library::{Left, Library, Treated, Upkeep};

use api::Api;
use app::App;
use http::Problem;

/// All routes.
pub fn router(parts: Parts) -> Router {
    let app = App::new(parts);
    let (open, health) = Api::new().and(health::routes).into_parts();
    let (guarded, described) = Api::new()
        .and(assistants::routes)
        .and(threads::routes)
        .and(runs::routes)
        .and(documents::routes)
        .and(openai::routes)
        .and(status::routes)
        .into_parts();
    let guarded = guarded.merge(mcp::routes(&app)).layer(from_fn_with_state(app.clone(), http::authenticate));
    Router::new()
        .merge(open)
        .merge(docs::routes(api::document([described, health])))
        .merge(page::routes())
        .merge(guarded)
        .fallback(async || Problem::not_found("there is nothing at this address; /docs shows what there is"))
        .method_not_allowed_fallback(async || Problem::not_allowed())
        .layer(CatchPanicLayer::custom(http::panicked))
        .layer(http::cors(&app))
        .layer(from_fn(http::finish))
        .with_state(app)
}
