//! Sources: how documents are kept in step, what a comparison would do, and comparing now.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use ibid_app::{Deletions, SourceStatus, SyncPlan};
use ibid_core::{AccessRole, SourceName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{Api, operation};
use crate::http::{Caller, Json, Problem};
use crate::state::ServerState;

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| operation("Sources", summary, AccessRole::Admin);
    api.get("/sources", list, on("Sources, and how they stand").gives::<Vec<SourceStatus>>())
        .get("/sources/{source}", one, on("A source with its history").gives::<SourceStatus>())
        .get(
            "/sources/{source}/plan",
            plan,
            on("What comparing it would do now, without doing it").gives::<SyncPlan>(),
        )
        .post(
            "/sources/{source}/sync",
            sync,
            on("Compare it now").takes::<SyncRequest>().gives::<SyncStarted>(),
        )
}

/// How a source is to be compared.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct SyncRequest {
    /// Delete up to so many documents that are gone there, also if the brake would hold.
    allow_deletions: Option<usize>,
}

/// It is being compared.
#[derive(Debug, Serialize, JsonSchema)]
struct SyncStarted {
    /// Which source.
    source: SourceName,
}

async fn list(
    State(app): State<ServerState>,
    caller: Caller,
) -> Result<axum::Json<Vec<SourceStatus>>, Problem> {
    Ok(axum::Json(app.app().sources()?.list(&caller.scope).await?))
}

async fn one(
    State(app): State<ServerState>,
    caller: Caller,
    Path(source): Path<String>,
) -> Result<axum::Json<SourceStatus>, Problem> {
    Ok(axum::Json(app.app().sources()?.status(&caller.scope, &named(&source)?).await?))
}

async fn plan(
    State(app): State<ServerState>,
    caller: Caller,
    Path(source): Path<String>,
) -> Result<axum::Json<SyncPlan>, Problem> {
    let source = named(&source)?;
    let plan = Box::pin(app.app().sources()?.plan(&caller.scope, &source)).await;
    plan.map(axum::Json).map_err(|error| match error {
        ibid_app::Error::Unknown(_) => error.into(),
        // The place answers no better than it does.
        error => Problem::unavailable(error.chain()),
    })
}

async fn sync(
    State(app): State<ServerState>,
    caller: Caller,
    Path(source): Path<String>,
    Json(asked): Json<SyncRequest>,
) -> Result<(StatusCode, axum::Json<SyncStarted>), Problem> {
    let (sources, source) = (app.app().sources()?, named(&source)?);
    if sources.status(&caller.scope, &source).await?.running.is_some() {
        return Err(Problem::conflict(format!("the source `{source}` is being compared already")));
    }
    sources.start(
        &caller.scope,
        &source,
        asked.allow_deletions.map_or(Deletions::Brake, Deletions::Allow),
    )?;
    Ok((StatusCode::ACCEPTED, axum::Json(SyncStarted { source })))
}

fn named(source: &str) -> Result<SourceName, Problem> {
    source.parse().map_err(|_| Problem::not_found(format!("there is no source `{source}`")))
}
