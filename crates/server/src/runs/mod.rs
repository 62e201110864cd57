//! Runs, in the shape of LangGraph's Agent Server.

mod begin;
mod feedback;
mod outcome;
mod wire;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::IntoResponse as _;
use ibid_core::{AccessRole, RunId, ThreadId};
use ibid_engine::{Run, RunStatus, Stop};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::{Api, operation};
use crate::http::{Caller, Json, Problem, Query, headers, run_id, thread_id, trickled};
use crate::state::ServerState;
use crate::stream::{Following, Format, Modes, answered};
use crate::threads::Select;
use begin::{Begun, Create, begin};
use outcome::Outcome;
use wire::{RunView, to_wire};

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| operation("Runs", summary, AccessRole::Reader);
    let format = ("format", "langgraph, or ibid for events in our own words");
    let modes = ("stream_mode", "what of the run is to_wire, as when it was begun");
    api.post(
        "/threads/{thread}/runs",
        create,
        on("Ask in a conversation").takes::<Create>().gives::<RunView>(),
    )
    .post(
        "/threads/{thread}/runs/stream",
        stream,
        on("Ask in a conversation and follow the answer")
            .takes::<Create>()
            .query(format.0, format.1)
            .events(),
    )
    .post(
        "/threads/{thread}/runs/wait",
        wait,
        on("Ask in a conversation and wait for the answer").takes::<Create>(),
    )
    .get(
        "/threads/{thread}/runs",
        list,
        on("The turns of a conversation, the newest first")
            .query("limit", "how many")
            .query("offset", "leave out so many")
            .query("status", "only those that stand so")
            .gives::<Vec<RunView>>(),
    )
    .get("/threads/{thread}/runs/{run}", one, on("A turn as it stands").gives::<RunView>())
    .delete("/threads/{thread}/runs/{run}", delete, on("Delete a turn; what it said stays").nothing())
    .get("/threads/{thread}/runs/{run}/join", join, on("Wait for the answer of a turn"))
    .get(
        "/threads/{thread}/runs/{run}/stream",
        join_stream,
        on("Follow a turn, from the event that the header Last-Event-ID names")
            .query(modes.0, modes.1)
            .query(format.0, format.1)
            .events(),
    )
    .post(
        "/threads/{thread}/runs/{run}/cancel",
        cancel,
        on("Stop a turn")
            .query("wait", "1 to wait until it has ended")
            .query("action", "interrupt to keep what it had, rollback to forget it"),
    )
    .post(
        "/threads/{thread}/runs/{run}/fork",
        fork,
        on("Begin a conversation that shares the first steps of a turn, and go on from there")
            .takes::<Fork>()
            .gives::<RunView>(),
    )
    .get(
        "/threads/{thread}/runs/{run}/feedback",
        feedback::given,
        on("What was thought of an answer").gives::<Vec<feedback::FeedbackView>>(),
    )
    .post(
        "/threads/{thread}/runs/{run}/feedback",
        feedback::give,
        on("Say what you think of an answer").takes::<feedback::Give>().gives::<feedback::FeedbackView>(),
    )
    .post("/runs", create, on("Ask without a conversation").takes::<Create>().gives::<RunView>())
    .post(
        "/runs/batch",
        create_several,
        on("Ask several things, each without a conversation").takes::<Vec<Create>>().gives::<Vec<RunView>>(),
    )
    .post(
        "/runs/stream",
        stream,
        on("Ask without a conversation and follow the answer")
            .takes::<Create>()
            .query(format.0, format.1)
            .events(),
    )
    .post("/runs/wait", wait, on("Ask without a conversation and wait for the answer").takes::<Create>())
    .post("/runs/cancel", cancel_several, on("Stop several turns").takes::<CancelSeveral>().nothing())
    .get("/runs/{run}/stream", join_stream_alone, on("Follow a turn").query(modes.0, modes.1).events())
}

/// The thread of the path, if it names one: what is asked without a thread gets one of its own.
fn named(thread: Option<Path<String>>) -> Result<Option<ThreadId>, Problem> {
    thread.map(|Path(thread)| thread_id(&thread)).transpose()
}

async fn create(
    State(app): State<ServerState>,
    caller: Caller,
    thread: Option<Path<String>>,
    headers: HeaderMap,
    Json(asked): Json<Create>,
) -> Result<Response<Body>, Problem> {
    let begun = begin(&app, &caller, named(thread)?, asked, &headers).await?;
    taken(&app, &caller, &begun).await
}

async fn create_several(
    State(app): State<ServerState>,
    caller: Caller,
    headers: HeaderMap,
    Json(asked): Json<Vec<Create>>,
) -> Result<axum::Json<Vec<RunView>>, Problem> {
    const MOST: usize = 100;
    if asked.len() > MOST {
        return Err(Problem::invalid(format!("at most {MOST} runs can be begun at once")));
    }
    let mut list = Vec::new();
    for asked in asked {
        let begun = begin(&app, &caller, None, asked, &headers).await?;
        list.push(to_wire(&app.engine().run(&caller.scope, begun.run).await?));
    }
    Ok(axum::Json(list))
}

async fn taken(app: &ServerState, caller: &Caller, begun: &Begun) -> Result<Response<Body>, Problem> {
    let run = app.engine().run(&caller.scope, begun.run).await?;
    Ok((headers([("content-location", begun.path())]), axum::Json(to_wire(&run))).into_response())
}

async fn stream(
    State(app): State<ServerState>,
    caller: Caller,
    thread: Option<Path<String>>,
    query: Query,
    headers: HeaderMap,
    Json(asked): Json<Create>,
) -> Result<Response<Body>, Problem> {
    let (modes, format) = (Modes::read(&asked.modes())?, Format::read(&query)?);
    let cancel_on_disconnect = asked.cancels_on_disconnect();
    let begun = begin(&app, &caller, named(thread)?, asked, &headers).await?;
    let following = Following { modes, format, cancel_on_disconnect, ..begun.following(&app, &caller) };
    Ok(answered(following, begun.headers("stream")))
}

async fn wait(
    State(app): State<ServerState>,
    caller: Caller,
    thread: Option<Path<String>>,
    headers: HeaderMap,
    Json(asked): Json<Create>,
) -> Result<Response<Body>, Problem> {
    let cancel_on_disconnect = asked.cancels_on_disconnect();
    let begun = begin(&app, &caller, named(thread)?, asked, &headers).await?;
    let outcome = Outcome { cancel_on_disconnect, ..begun.outcome(&app, &caller) };
    Ok(trickled(begun.headers("join"), outcome.values()))
}

async fn list(
    State(app): State<ServerState>,
    caller: Caller,
    Path(thread): Path<String>,
    query: Query,
) -> Result<axum::Json<Vec<Value>>, Problem> {
    let runs = app.engine().runs(&caller.scope, thread_id(&thread)?).await?;
    let (limit, skip) = (query.number("limit")?.unwrap_or(10), query.number("offset")?.unwrap_or(0));
    let status = query.one("status");
    let select = Select::of(&query.list("select"));
    let wanted = runs.iter().rev().filter(|run| is_visible(run));
    let wanted = wanted.filter(|run| status.is_none_or(|status| wire::status(run.status) == status));
    Ok(axum::Json(wanted.skip(skip).take(limit).map(|run| select.keep(json!(to_wire(run)))).collect()))
}

/// What was rolled back is forgotten, and messages that joined without a turn are no run.
fn is_visible(run: &Run) -> bool {
    run.status != RunStatus::RolledBack && !run.assistant.is_empty()
}

/// A run of a thread.
async fn find(app: &ServerState, caller: &Caller, thread: ThreadId, run: RunId) -> Result<Run, Problem> {
    let found = app.engine().run(&caller.scope, run).await?;
    if found.thread != thread || !is_visible(&found) {
        return Err(Problem::not_found(format!("there is no run {run} in the thread {thread}")));
    }
    Ok(found)
}

/// The thread and the run of a path.
fn ids((thread, run): (String, String)) -> Result<(ThreadId, RunId), Problem> {
    Ok((thread_id(&thread)?, run_id(&run)?))
}

async fn one(
    State(app): State<ServerState>,
    caller: Caller,
    Path(path): Path<(String, String)>,
) -> Result<axum::Json<RunView>, Problem> {
    let (thread, run) = ids(path)?;
    Ok(axum::Json(to_wire(&find(&app, &caller, thread, run).await?)))
}

async fn delete(
    State(app): State<ServerState>,
    caller: Caller,
    Path(path): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let (thread, run) = ids(path)?;
    find(&app, &caller, thread, run).await?;
    app.engine().delete_run(&caller.scope, run).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn join(
    State(app): State<ServerState>,
    caller: Caller,
    Path(path): Path<(String, String)>,
    query: Query,
) -> Result<Response<Body>, Problem> {
    let (thread, run) = ids(path)?;
    find(&app, &caller, thread, run).await?;
    let begun = Begun::earlier(thread, run);
    let cancel_on_disconnect = query.flag("cancel_on_disconnect");
    let outcome = Outcome { cancel_on_disconnect, ..begun.outcome(&app, &caller) };
    Ok(trickled(begun.headers("join"), outcome.values()))
}

async fn join_stream(
    State(app): State<ServerState>,
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
    State(app): State<ServerState>,
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
    app: &ServerState,
    caller: &Caller,
    run: &Run,
    query: &Query,
    headers: &HeaderMap,
) -> Result<Response<Body>, Problem> {
    let begun = Begun::earlier(run.thread, run.id);
    let mut modes = query.list("stream_mode");
    if modes.is_empty() {
        // As whoever began the run wanted it: clients that reconnect do not say it again.
        modes = run.stream_modes.clone();
    }
    let following = Following {
        modes: Modes::read(&modes)?,
        format: Format::read(query)?,
        cancel_on_disconnect: query.flag("cancel_on_disconnect"),
        after: crate::stream::StreamCursor::of(headers)?,
        ..begun.following(app, caller)
    };
    Ok(answered(following, begun.headers("stream")))
}

async fn cancel(
    State(app): State<ServerState>,
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

#[derive(Debug, Deserialize, JsonSchema)]
struct Fork {
    /// After which step; 0 is before the first.
    step: u32,
}

async fn fork(
    State(app): State<ServerState>,
    caller: Caller,
    Path(path): Path<(String, String)>,
    Json(asked): Json<Fork>,
) -> Result<Response<Body>, Problem> {
    let (thread, run) = ids(path)?;
    find(&app, &caller, thread, run).await?;
    let (thread, run) = app.engine().fork(&caller.scope, run, asked.step).await?;
    taken(&app, &caller, &Begun::earlier(thread, run)).await
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

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "RunsCancel")]
struct CancelSeveral {
    thread_id: String,
    run_ids: Vec<String>,
}

async fn cancel_several(
    State(app): State<ServerState>,
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
