//! Whether the server is there, whether it can work, and what it is.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::api::{Api, operation};
use ibid_app::{CheckResult, HealthCheck};

use crate::state::ServerState;

/// So long what was found holds.
const FRESH: Duration = Duration::from_secs(5);
/// So long a part may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The routes that nobody needs a key for.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| operation("Health", summary, None);
    api.get("/healthz", alive, on("Whether the server is there"))
        .get("/readyz", ready, on("Whether each part can work"))
        .get("/ok", ok, on("Whether the server is there"))
        .get("/info", info, on("What it is"))
}

async fn alive() -> &'static str {
    "ok"
}

/// Whether each part can work that the server cannot do without, by name.
async fn ready(State(app): State<ServerState>) -> (StatusCode, axum::Json<Value>) {
    let found = examine(&app, |check| check.vital).await;
    let works = |found: &CheckResult| !matches!(found, CheckResult::Wrong { .. });
    let sound = found.iter().all(|(_, found)| works(found));
    let parts: Map<String, Value> =
        found.iter().map(|(name, found)| ((*name).to_owned(), json!({ "ready": works(found) }))).collect();
    (status(sound), axum::Json(json!({ "ready": sound, "parts": parts })))
}

/// What is found of the parts that are asked for, all looked at at once.
pub(crate) async fn examine(
    app: &ServerState,
    wanted: impl Fn(&HealthCheck) -> bool,
) -> Vec<(&str, CheckResult)> {
    let wanted = app.checks().iter().enumerate().filter(|(_, check)| wanted(check));
    let looks = wanted.map(|(index, check)| async move {
        // Whoever asks may go away meanwhile; what is found is kept all the same.
        let found = tokio::spawn(look(app.clone(), index)).await;
        let found = found.unwrap_or_else(|error| CheckResult::wrong(error.to_string(), "see the log"));
        (check.name.as_str(), found)
    });
    futures_util::future::join_all(looks).await
}

/// Looks at a part. It may cost a call of a model, so what was found holds for a while, whoever asks.
async fn look(app: ServerState, index: usize) -> CheckResult {
    let (check, mut last) = (&app.checks()[index], app.found(index).lock().await);
    if let Some((when, found)) = &*last
        && when.elapsed() < FRESH
    {
        return found.clone();
    }
    let found = tokio::time::timeout(PATIENCE, (check.run)()).await.unwrap_or_else(|_| {
        let late = format!("it does not answer within {} s", PATIENCE.as_secs());
        CheckResult::wrong(late, "see whether it is overloaded")
    });
    if let CheckResult::Wrong { what, .. } = &found {
        tracing::warn!(part = check.name, what, "a part does not work");
    }
    *last = Some((Instant::now(), found.clone()));
    found
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
