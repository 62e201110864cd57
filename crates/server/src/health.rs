//! Whether the server is there, whether it can work, and what it is.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::api::{Api, about};
use crate::app::{App, Check, Finding};

/// So long what was found holds.
const FRESH: Duration = Duration::from_secs(5);
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
    // Anybody may ask, so the parts are not asked each time.
    let mut last = app.readiness().lock().await;
    if let Some((when, sound, told)) = &*last
        && when.elapsed() < FRESH
    {
        return (status(*sound), axum::Json(told.clone()));
    }
    let found = examine(app.checks().iter().filter(|check| check.vital)).await;
    let sound = !found.iter().any(|(_, found)| matches!(found, Finding::Wrong { .. }));
    let told: Map<String, Value> = found
        .into_iter()
        .map(|(name, found)| match found {
            Finding::Wrong { what, .. } => {
                tracing::warn!(part = name, what, "a part is not ready");
                (name.to_owned(), json!({ "ready": false }))
            }
            _ => (name.to_owned(), json!({ "ready": true })),
        })
        .collect();
    let told = json!({ "ready": sound, "parts": told });
    *last = Some((Instant::now(), sound, told.clone()));
    (status(sound), axum::Json(told))
}

/// What is found of every part. Looking costs calls of models, so what was found holds for a while.
pub(crate) async fn examine_all(app: &App) -> Vec<(String, Finding)> {
    let mut last = app.findings().lock().await;
    match &*last {
        Some((when, found)) if when.elapsed() < FRESH => found.clone(),
        _ => {
            let found = examine(app.checks().iter()).await;
            let found: Vec<_> = found.into_iter().map(|(name, found)| (name.to_owned(), found)).collect();
            *last = Some((Instant::now(), found.clone()));
            found
        }
    }
}

/// Looks at several parts at once.
async fn examine<'a>(checks: impl Iterator<Item = &'a Check>) -> Vec<(&'a str, Finding)> {
    let checks = checks.map(|check| async move {
        let looked = tokio::time::timeout(PATIENCE, (check.look)()).await;
        let late = format!("it does not answer within {} s", PATIENCE.as_secs());
        (check.name.as_str(), looked.unwrap_or_else(|_| Finding::wrong(late, "see whether it is overloaded")))
    });
    futures_util::future::join_all(checks).await
}

fn status(sound: bool) -> StatusCode {
    if sound { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
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
