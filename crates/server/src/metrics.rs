//! Metrics for Prometheus.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::api::{Api, operation};
use crate::http::{Caller, Problem};
use crate::state::ServerState;

/// As Prometheus reads it.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = operation("Health", "What was counted and measured, as Prometheus reads it");
    api.get("/metrics", metrics, on.file())
}

/// Everything that was counted. Whoever may ask the server anything may read it: it has no texts, and the names of tenants.
async fn metrics(State(app): State<ServerState>, _caller: Caller) -> Result<Response, Problem> {
    let Some(registry) = app.metrics() else {
        return Err(Problem::not_found("nothing is counted here: `metrics.enabled` is off"));
    };
    app.app().measure();
    Ok(([(header::CONTENT_TYPE, TEXT)], registry.render()).into_response())
}
