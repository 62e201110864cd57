//! Whether the server is there, whether it can work, and what it is.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::api::{Api, about};
use crate::app::App;

/// So long a part may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The routes that nobody needs a key for.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| about("Health", summary);
    api.get("/healthz", alive, on("Whether the server is there"))
        .get("/readyz", ready, on("Whether each part can work"))
        .get("/ok", ok, on("Whether the server is there"))
        .get("/info", info, on("What it is"))
}

async fn alive() -> &'static str {
    "ok"
}

/// Whether each part can work, by name.
async fn ready(State(app): State<App>) -> (StatusCode, axum::Json<Value>) {
    let checks = app.checks().iter().map(|check| async move {
        let passed = tokio::time::timeout(PATIENCE, (check.look)()).await;
        let found =
            passed.unwrap_or_else(|_| Err(format!("it does not answer within {} s", PATIENCE.as_secs())));
        (check.name.clone(), found)
    });
    let found = futures_util::future::join_all(checks).await;
    let sound = found.iter().all(|(_, found)| found.is_ok());
    let told: Map<String, Value> = found
        .into_iter()
        .map(|(name, found)| match found {
            Ok(()) => (name, json!({ "ready": true })),
            Err(why) => (name, json!({ "ready": false, "why": why })),
        })
        .collect();
    let status = if sound { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, axum::Json(json!({ "ready": sound, "parts": told })))
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
