//! Whether the server is there, whether it can work, and what it is.

use axum::Router;
use axum::routing::get;
use serde_json::{Value, json};

use crate::app::App;

/// The routes that nobody needs a key for.
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/healthz", get(alive)).route("/ok", get(ok)).route("/info", get(info))
}

async fn alive() -> &'static str {
    "ok"
}

async fn ok() -> axum::Json<Value> {
    axum::Json(json!({ "ok": true }))
}

async fn info() -> axum::Json<Value> {
    axum::Json(json!({
        "name": "ibid",
        "version": env!("CARGO_PKG_VERSION"),
        "flags": { "assistants": true, "crons": false, "langsmith": false },
    }))
}
