//! The server: threads, runs and assistants over HTTP, in the shapes that published clients already speak.
//!
//! A request goes through [`http`]: it gets a trace id, a caller with a scope, and problems that say what happened. A
//! handler turns it into a call of the engine; [`stream`] tells what the engine writes down.

mod access;
mod app;
mod assistants;
mod health;
mod http;
mod messages;
mod openai;
mod runs;
mod stream;
mod threads;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use tokio::net::TcpListener;

pub use access::{Access, Key};
pub use app::{Offer, Parts};

use app::App;
use http::Problem;

/// All routes.
pub fn router(parts: Parts) -> Router {
    let app = App::new(parts);
    let guarded = Router::new()
        .merge(assistants::routes())
        .merge(openai::routes())
        .merge(runs::routes())
        .merge(threads::routes())
        .layer(from_fn_with_state(app.clone(), http::authenticate));
    Router::new()
        .merge(health::routes())
        .merge(guarded)
        .fallback(async || Problem::not_found("there is nothing at this address; /docs shows what there is"))
        .method_not_allowed_fallback(async || Problem::not_allowed())
        .layer(from_fn(http::finish))
        .with_state(app)
}

/// Serves until told to stop, and then lets open answers come to their next event.
///
/// # Errors
/// Fails if the listener does.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router).with_graceful_shutdown(stop).await
}
