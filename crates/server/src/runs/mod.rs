//! Runs, in the shape of LangGraph's Agent Server.

mod begin;
mod outcome;
mod wire;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use ibid_core::{RunId, ThreadId};
use ibid_engine::{Run, RunStatus, Stop};
use serde::Deserialize;
use serde_json::Value;

use crate::app::App;
use crate::http::{Caller, Json, Problem, Query, headers, run_id, thread_id, trickled};
use crate::stream::{Following, Format, Modes, answered};
use crate::threads::Select;
pub(crate) use begin::TEMPORARY;
use begin::{Begun, Create, begin};
use outcome::Outcome;
use wire::told;

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/runs", post(create_alone))
        .route("/runs/batch", post(create_several))
        .route("/runs/stream", post(stream_alone))
        .route("/runs/wait", post(wait_alone))
        .route("/runs/cancel", post(cancel_several))
        .route("/runs/{run}/stream", get(join_stream_alone))
        .route("/threads/{thread}/runs", get(list).post(create))
        .route("/threads/{thread}/runs/stream", post(stream))
        .route("/threads/{thread}/runs/wait", post(wait))
        .route("/threads/{thread}/runs/{run}", get(one).delete(delete))
        .route("/threads/{thread}/runs/{run}/join", get(join))
        .route("/threads/{thread}/runs/{run}/stream", get(join_stream))
        .route("/threads/{thread}/runs/{run}/cancel", post(cancel))
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    Path(thread): Path<String>,
    headers: HeaderMap,
    Json(asked): Json<Create>,
) -> Result<Response<Body>, Problem> {
    let begun = begin(&app, &caller, Some(thread_id(&thread)?), asked, &headers).await?;
    taken(&app, &caller, &begun).await
}

async fn create_alone(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Json(asked): Json<Create>,
) -> Result<Response<Body>, Problem> {
    let begun = begin(&app, &caller, None, asked, &headers).await?;
    begun.delete_when_over(&app, &caller);
    taken(&app, &caller, &begun).await
}

async fn create_several(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Json(asked): Json<Vec<Create>>,
) -> Result<axum::Json<Vec<Value>>, Problem> {
    const MOST: usize = 100;
    if asked.len() > MOST {
        return Err(Problem::invalid(format!("at most {MOST} runs can be begun at once")));
    }
    let mut list = Vec::new();
    for asked in asked {
        let begun = begin(&app, &caller, None, asked, &headers).await?;
        begun.delete_when_over(&app, &caller);
        list.push(told(&app.engine().run(&caller.scope, begun.run).await?));
    }
    Ok(axum::Json(list))
}

async fn taken(app: &App, caller: &Caller, begun: &Begun) -> Result<Response<Body>, Problem> {
    let run = app.engine().run(&caller.scope, begun.run).await?;
    Ok((headers([("content-location", begun.place())]), axum::Json(told(&run))).into_response())
}

async fn stream(
    State(app): State<App>,
    caller: Caller,
    Path(thread): Path<String>,
    query: Query,
    headers: HeaderMap,
    Json(asked): Json<Create>,
) -> Result<Response<Body>, Problem> {
    let (modes, format) = (Modes::read(&asked.modes())?, Format::read(&query)?);
    let stop_when_gone = asked.stops_when_gone();
    let begun = begin(&app, &caller, Some(thread_id(&thread)?), asked, &headers).await?;
    let following = Following { modes, format, stop_when_gone, ..begun.following(&app, &caller) };
    Ok(answered(following, begun.headers("stream")))
}

async fn stream_alone(
    State(app): State<App>,
    caller: Caller,
    query: Query,
    headers: HeaderMap,
    Json(asked): Json<Create>,
) -> Result<Response<Body>, Problem> {
    let (modes, format) = (Modes::read(&asked.modes())?, Format::read(&query)?);
    let stop_when_gone = asked.stops_when_gone();
    let begun = begin(&app, &caller, None, asked, &headers).await?;
    begun.delete_when_over(&app, &caller);
    let following = Following { modes, format, stop_when_gone, ..begun.following(&app, &caller) };
    Ok(answered(following, begun.headers("stream")))
}

async fn wait(
    State(app): State<App>,
    caller: Caller,
    Path(thread): Path<String>,
    headers: HeaderMap,
    Json(asked): Json<Create>,
) -> Result<Response<Body>, Problem> {
    let stop_when_gone = asked.stops_when_gone();
    let begun = begin(&app, &caller, Some(thread_id(&thread)?), asked, &headers).await?;
    let outcome = Outcome { stop_when_gone, ..begun.outcome(&app, &caller) };
    Ok(trickled(begun.headers("join"), outcome.values()))
}

async fn wait_alone(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Json(asked): Json<Create>,
) -> Result<Response<Body>, Problem> {
    let stop_when_gone = asked.stops_when_gone();
    let begun = begin(&app, &caller, None, asked, &headers).await?;
    let outcome = Outcome { stop_when_gone, ..begun.outcome(&app, &caller) };
    Ok(trickled(begun.headers("join"), outcome.values()))
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(thread): Path<String>,
    query: Query,
) -> Result<axum::Json<Vec<Value>>, Problem> {
    let runs = app.engine().runs(&caller.scope, thread_id(&thread)?).await?;
    let (limit, skip) = (query.number("limit")?.unwrap_or(10), query.number("offset")?.unwrap_or(0));
    let status = query.one("status");
    let select = Select::of(&query.list("select"));
    let wanted = runs.iter().rev().filter(|run| is_told(run));
    let wanted = wanted.filter(|run| status.is_none_or(|status| wire::status(run.status) == status));
    Ok(axum::Json(wanted.skip(skip).take(limit).map(|run| select.keep(told(run))).collect()))
}

/// What was rolled back is forgotten, and messages that joined without a turn are no run.
fn is_told(run: &Run) -> bool {
    run.status != RunStatus::RolledBack && !run.assistant.is_empty()
}

/// A run of a thread.
async fn find(app: &App, caller: &Caller, thread: ThreadId, run: RunId) -> Result<Run, Problem> {
    let found = app.engine().run(&caller.scope, run).await?;
    if found.thread != thread || !is_told(&found) {
        return Err(Problem::not_found(format!("there is no run {run} in the thread {thread}")));
    }
    Ok(found)
}

/// The thread and the run of a path.
fn ids((thread, run): (String, String)) -> Result<(ThreadId, RunId), Problem> {
    Ok((thread_id(&thread)?, run_id(&run)?))
}

async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<(String, String)>,
) -> Result<axum::Json<Value>, Problem> {
    let (thread, run) = ids(path)?;
    Ok(axum::Json(told(&find(&app, &caller, thread, run).await?)))
}

async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let (thread, run) = ids(path)?;
    find(&app, &caller, thread, run).await?;
    app.engine().delete_run(&caller.scope, run).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn join(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<(String, String)>,
    query: Query,
) -> Result<Response<Body>, Problem> {
    let (thread, run) = ids(path)?;
    find(&app, &caller, thread, run).await?;
    let begun = Begun::earlier(thread, run);
    let stop_when_gone = query.flag("cancel_on_disconnect");
    let outcome = Outcome { stop_when_gone, ..begun.outcome(&app, &caller) };
    Ok(trickled(begun.headers("join"), outcome.values()))
}

async fn join_stream(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<(String, String)>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let (thread, run) = ids(path)?;
    let found = find(&app, &caller, thread, run).await?;
    follow(&app, &caller, &found, &query, &headers)
}

async fn join_stream_alone(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let run = run_id(&run)?;
    let found = app.engine().run(&caller.scope, run).await?;
    let found = find(&app, &caller, found.thread, run).await?;
    follow(&app, &caller, &found, &query, &headers)
}

fn follow(
    app: &App,
    caller: &Caller,
    run: &Run,
    query: &Query,
    headers: &HeaderMap,
) -> Result<Response<Body>, Problem> {
    let begun = Begun::earlier(run.thread, run.id);
    let mut modes = query.list("stream_mode");
    if modes.is_empty() {
        // As whoever began the run wanted it: clients that reconnect do not say it again.
        modes = begin::modes_of(&run.options);
    }
    let following = Following {
        modes: Modes::read(&modes)?,
        format: Format::read(query)?,
        stop_when_gone: query.flag("cancel_on_disconnect"),
        after: crate::stream::Place::of(headers)?,
        ..begun.following(app, caller)
    };
    Ok(answered(following, begun.headers("stream")))
}

async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<(String, String)>,
    query: Query,
) -> Result<Response<Body>, Problem> {
    let (thread, run) = ids(path)?;
    let found = find(&app, &caller, thread, run).await?;
    if found.status.is_final() {
        return Err(Problem::not_found(format!("the run {run} has ended, so there is nothing to cancel")));
    }
    app.engine().stop(&caller.scope, run, how(&query)?).await?;
    if !query.flag("wait") {
        return Ok(StatusCode::ACCEPTED.into_response());
    }
    let begun = Begun::earlier(thread, run);
    Ok(trickled(begun.headers("join"), begun.outcome(&app, &caller).values()))
}

fn how(query: &Query) -> Result<Stop, Problem> {
    match query.one("action") {
        None | Some("interrupt") => Ok(Stop::Keep),
        Some("rollback") => Ok(Stop::Forget),
        Some(other) => {
            Err(Problem::invalid(format!("`{other}` is no way to cancel: use interrupt or rollback")))
        }
    }
}

#[derive(Debug, Deserialize)]
struct CancelSeveral {
    thread_id: String,
    run_ids: Vec<String>,
}

async fn cancel_several(
    State(app): State<App>,
    caller: Caller,
    query: Query,
    Json(asked): Json<CancelSeveral>,
) -> Result<StatusCode, Problem> {
    let (thread, how) = (thread_id(&asked.thread_id)?, how(&query)?);
    for run in &asked.run_ids {
        let run = find(&app, &caller, thread, run_id(run)?).await?;
        app.engine().stop(&caller.scope, run.id, how).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
