//! Metrics for Prometheus.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::api::{Api, operation};
use crate::http::{Caller, Problem};
use crate::state::ServerState;
use ibid_core::AccessRole;

/// As Prometheus reads it.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = operation("Health", "What was counted and measured, as Prometheus reads it", AccessRole::Reader);
    api.get("/metrics", metrics, on.file())
}

/// Everything that was counted, of all tenants.
async fn metrics(State(app): State<ServerState>, caller: Caller) -> Result<Response, Problem> {
    let settings = &app.app().settings().metrics;
    if !app.access().is_open() && !settings.keys.iter().any(|name| **name == *caller.name) {
        let help =
            "metrics tell of all tenants: add the name of this key to `metrics.keys` to let it read them";
        return Err(Problem::forbidden(help));
    }
    let Some(registry) = app.metrics() else {
        return Err(Problem::not_found("nothing is counted here: `metrics.enabled` is off"));
    };
    app.cells().measure();
    Ok(([(header::CONTENT_TYPE, TEXT)], registry.render()).into_response())
}
