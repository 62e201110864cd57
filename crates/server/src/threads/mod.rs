//! Threads, in the shape of LangGraph's Agent Server.

mod checkpoint;
mod history;
mod wire;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse as _;
use ibid_core::{AccessRole, ThreadId};
use ibid_engine::{
    Lifetime, RunStatus, Thread, ThreadFilter, ThreadMessage, ThreadOrder, ThreadPage, ThreadStatus,
    ThreadUpdate,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

pub(crate) use checkpoint::{CheckpointRef, CheckpointStep};
pub(crate) use history::ThreadHistory;
pub(crate) use wire::{Select, interrupts, stamp};

use crate::api::{Api, operation};
use crate::audit::AuditDetail;
use crate::http::{Caller, Json, Problem, Query, thread_id};
use crate::state::ServerState;
use wire::{order_of, status_of};

/// So many threads are listed at most, and so many bytes of them unless one alone has more.
const MOST_THREADS: usize = 1000;
const MOST_BYTES: usize = 8 << 20;

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| operation("Threads", summary, AccessRole::Reader);
    api.post("/threads", create, on("Begin a conversation").takes::<Create>().gives::<ThreadView<'_>>())
        .post("/threads/search", search, on("List conversations").takes::<Search>().gives::<Vec<ThreadView<'_>>>())
        .post("/threads/count", count, on("Count conversations").takes::<Search>().gives::<u64>())
        .post("/threads/prune", prune, on("Delete several conversations").takes::<Prune>().audited())
        .get("/threads/{thread}", one, on("A conversation").gives::<ThreadView<'_>>())
        .patch(
            "/threads/{thread}",
            note,
            on("Change what is noted of a conversation, and whether it is shared").takes::<Note>().gives::<ThreadView<'_>>(),
        )
        .delete("/threads/{thread}", delete, on("Delete a conversation with everything in it").nothing())
        .post(
            "/threads/{thread}/copy",
            copy,
            on("Begin a conversation with what was said in another").takes::<Copy>().gives::<ThreadView<'_>>(),
        )
        .get(
            "/threads/{thread}/messages",
            messages,
            on("What was said in a conversation, in its order: its newest 1,000 messages, or the 1,000 before a position")
                .query("before", "the position before which to look")
                .gives::<Vec<crate::messages::MessageView>>(),
        )
        .and(history::routes)
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum IfExists {
    #[default]
    Raise,
    DoNothing,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadCreate")]
struct Create {
    thread_id: Option<String>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    if_exists: Option<IfExists>,
}

async fn create(
    State(app): State<ServerState>,
    caller: Caller,
    Json(asked): Json<Create>,
) -> Result<axum::Json<Value>, Problem> {
    let thread = asked.thread_id.as_deref().map_or_else(|| Ok(ThreadId::new()), thread_id)?;
    let begun = app
        .engine()
        .create_thread(&caller.scope, thread, asked.metadata.unwrap_or_default(), Lifetime::Kept)
        .await;
    let raise = matches!(asked.if_exists.unwrap_or_default(), IfExists::Raise);
    // Whether a stranger has a thread of that name is nobody's business: it is taken, like one's own.
    let taken = || Problem::conflict(format!("there is a thread {thread} already"));
    match begun {
        Ok((_, false)) if raise => Err(taken()),
        Ok((begun, _)) => Ok(axum::Json(view(&app, &caller, &begun, &Select::default()).await?)),
        Err(ibid_engine::Error::UnknownThread(_)) => Err(taken()),
        Err(error) => Err(error.into()),
    }
}

async fn one(
    State(app): State<ServerState>,
    caller: Caller,
    Path(thread): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    let thread = app.engine().thread(&caller.scope, thread_id(&thread)?).await?;
    let _turn = app.large_answer(&caller).await;
    Ok(axum::Json(view(&app, &caller, &thread, &Select::default()).await?))
}

/// A conversation tells its newest messages; those before them are found here.
async fn messages(
    State(app): State<ServerState>,
    caller: Caller,
    Path(thread): Path<String>,
    query: Query,
) -> Result<axum::Json<Vec<crate::messages::MessageView>>, Problem> {
    let (engine, scope) = (app.engine(), &caller.scope);
    let thread = engine.thread(scope, thread_id(&thread)?).await?.id;
    let _turn = app.large_answer(&caller).await;
    let said = match query.number("before")? {
        Some(position) => crate::messages::before(engine, scope, thread, position as u64).await?,
        None => crate::messages::of_thread(engine, scope, thread).await?,
    };
    Ok(axum::Json(said.iter().map(crate::messages::to_wire).collect()))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadNote")]
struct Note {
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    /// Ours: whether others at the tenant may read it, if they may see all that it may quote.
    #[serde(default)]
    shared: Option<bool>,
}

async fn note(
    State(app): State<ServerState>,
    caller: Caller,
    Path(thread): Path<String>,
    headers: HeaderMap,
    Json(asked): Json<Note>,
) -> Result<Response<Body>, Problem> {
    let update = ThreadUpdate { metadata: asked.metadata.unwrap_or_default(), shared: asked.shared };
    let shared = update.shared.map(|shared| if shared { "shared" } else { "no longer shared" });
    let thread = app.engine().update_thread(&caller.scope, thread_id(&thread)?, update).await?;
    let mut response = if headers.get("prefer").is_some_and(|prefer| prefer.as_bytes() == b"return=minimal") {
        StatusCode::NO_CONTENT.into_response()
    } else {
        axum::Json(view(&app, &caller, &thread, &Select::default()).await?).into_response()
    };
    if let Some(shared) = shared {
        response.extensions_mut().insert(AuditDetail(shared.to_owned()));
    }
    Ok(response)
}

async fn delete(
    State(app): State<ServerState>,
    caller: Caller,
    Path(thread): Path<String>,
) -> Result<StatusCode, Problem> {
    app.engine().delete_thread(&caller.scope, thread_id(&thread)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn copy(
    State(app): State<ServerState>,
    caller: Caller,
    Path(thread): Path<String>,
    Json(asked): Json<Copy>,
) -> Result<axum::Json<Value>, Problem> {
    let thread = thread_id(&thread)?;
    let before = match CheckpointRef::read(&asked.checkpoint)?.or(CheckpointRef::read(&asked.checkpoint_id)?)
    {
        Some(checkpoint) => Some(ThreadHistory::of(&app, &caller, thread).await?.reached(checkpoint)?),
        None => asked.position,
    };
    let copy = app.engine().copy_thread(&caller.scope, thread, before).await?;
    Ok(axum::Json(view(&app, &caller, &copy, &Select::default()).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadCopy")]
struct Copy {
    /// Ours: only what was said up to this point.
    #[serde(default)]
    checkpoint: Value,
    #[serde(default)]
    checkpoint_id: Value,
    /// Ours: only the messages before this position.
    position: Option<u64>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadSearch")]
struct Search {
    ids: Option<Vec<String>>,
    metadata: Option<Map<String, Value>>,
    status: Option<String>,
    /// Ours: threads whose title contains this.
    title: Option<String>,
    values: Option<Map<String, Value>>,
    /// Ours: only the caller's own, also if others may be seen.
    #[serde(default)]
    own: bool,
    limit: Option<usize>,
    offset: Option<usize>,
    sort_by: Option<String>,
    sort_order: Option<String>,
    select: Option<Vec<String>>,
}

impl Search {
    fn filter(&self) -> Result<ThreadFilter, Problem> {
        if self.values.as_ref().is_some_and(|values| !values.is_empty()) {
            return Err(Problem::invalid("threads are found by metadata, status and title, not by values"));
        }
        if self.ids.as_ref().is_some_and(|ids| ids.len() > MOST_THREADS) {
            return Err(Problem::invalid(format!("at most {MOST_THREADS} ids can be given")));
        }
        let ids = self.ids.as_ref().map(|ids| ids.iter().map(|id| thread_id(id)).collect()).transpose()?;
        Ok(ThreadFilter {
            ids,
            metadata: self.metadata.clone().unwrap_or_default(),
            status: self.status.as_deref().map(status_of).transpose()?,
            title: self.title.clone(),
            own: self.own,
        })
    }

    fn order(&self) -> Result<ThreadOrder, Problem> {
        order_of(self.sort_by.as_deref(), self.sort_order.as_deref())
    }
}

async fn search(
    State(app): State<ServerState>,
    caller: Caller,
    Json(asked): Json<Search>,
) -> Result<Response<Body>, Problem> {
    let _turn = app.large_answer(&caller).await;
    let (skip, limit) = (asked.offset.unwrap_or(0), asked.limit.unwrap_or(10).clamp(1, MOST_THREADS));
    let select = Select::of(asked.select.as_deref().unwrap_or_default());
    let page = ThreadPage {
        filter: asked.filter()?,
        order: asked.order()?,
        skip,
        // One more tells whether there is another page.
        ..ThreadPage::first(limit + 1)
    };
    let mut threads = app.engine().threads(&caller.scope, page).await?;
    let mut more = threads.len() > limit;
    threads.truncate(limit);
    let (mut list, mut bytes) = (Vec::with_capacity(threads.len()), 0);
    for thread in &threads {
        let listed = raw(view(&app, &caller, thread, &select).await?).await?;
        bytes += listed.get().len();
        if bytes > MOST_BYTES && !list.is_empty() {
            more = true;
            break;
        }
        list.push(listed);
    }
    let next = skip + list.len();
    let mut response = axum::Json(list).into_response();
    let headers = response.headers_mut();
    headers.insert("x-pagination-total", HeaderValue::from(if more { next + 1 } else { next }));
    if more {
        headers.insert("x-pagination-next", HeaderValue::from(next));
    }
    Ok(response)
}

async fn count(
    State(app): State<ServerState>,
    caller: Caller,
    Json(asked): Json<Search>,
) -> Result<axum::Json<u64>, Problem> {
    Ok(axum::Json(app.engine().count_threads(&caller.scope, asked.filter()?).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadPrune")]
struct Prune {
    thread_ids: Vec<String>,
    #[serde(default)]
    strategy: Option<String>,
}

async fn prune(
    State(app): State<ServerState>,
    caller: Caller,
    Json(asked): Json<Prune>,
) -> Result<(Extension<AuditDetail>, axum::Json<Value>), Problem> {
    let delete = match asked.strategy.as_deref() {
        None | Some("delete") => true,
        // A thread keeps its conversation only, so there is nothing else to take away.
        Some("keep_latest") => false,
        Some(other) => return Err(Problem::invalid(format!("`{other}` is no way to prune"))),
    };
    let mut pruned: Vec<String> = Vec::new();
    for thread in &asked.thread_ids {
        let thread = thread_id(thread)?;
        let done = if delete {
            app.engine().delete_thread(&caller.scope, thread).await
        } else {
            app.engine().thread(&caller.scope, thread).await.map(drop)
        };
        match done {
            Ok(()) => pruned.push(thread.to_string()),
            Err(ibid_engine::Error::UnknownThread(_) | ibid_engine::Error::ReadOnly(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let detail = AuditDetail(if delete { pruned.join(" ") } else { String::new() });
    Ok((Extension(detail), axum::Json(json!({ "pruned_count": pruned.len() }))))
}

/// As it is sent, written out, which takes less room than its parts.
pub(crate) async fn raw(value: Value) -> Result<Box<RawValue>, Problem> {
    let raw = apart(move || serde_json::value::to_raw_value(&value)).await?;
    raw.map_err(|error| Problem::internal(&error))
}

/// Messages as they are sent. There may be megabytes of them.
pub(crate) async fn messages_view(said: Vec<ThreadMessage>) -> Result<Value, Problem> {
    apart(move || json!(said.iter().map(crate::messages::to_wire).collect::<Vec<_>>())).await
}

/// Does what takes long beside those who wait for little.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Problem::internal(&error))
}

/// A thread as it is sent.
async fn view(
    app: &ServerState,
    caller: &Caller,
    thread: &Thread,
    select: &Select,
) -> Result<Value, Problem> {
    let values = if select.wants("values") && thread.messages > 0 {
        let said = crate::messages::of_thread(app.engine(), &caller.scope, thread.id).await?;
        json!({ "messages": messages_view(said).await? })
    } else {
        Value::Null
    };
    let (mut asked, mut error) = (json!({}), Value::Null);
    if matches!(thread.status, ThreadStatus::Waiting | ThreadStatus::Failed) {
        let runs = app.engine().runs(&caller.scope, thread.id).await?;
        if let Some(run) = runs.iter().find(|run| run.status == RunStatus::Waiting) {
            asked = json!({ (run.id.to_string()): interrupts(run) });
        } else if let Some(run) = runs.last() {
            error = json!({ "error": "RunFailed", "message": run.error });
        }
    }
    let view = ThreadView {
        thread_id: thread.id.to_string(),
        created_at: stamp(thread.created),
        updated_at: stamp(thread.updated),
        state_updated_at: stamp(thread.updated),
        metadata: &thread.metadata,
        config: Map::new(),
        status: wire::status(thread.status),
        title: &thread.title,
        owner: thread.owner.as_deref(),
        shared: thread.shared,
        message_count: thread.messages,
        values: None,
        interrupts: asked,
        error,
    };
    let mut view = json!(view);
    // Put in as it is, where it would be copied with the rest.
    view["values"] = values;
    Ok(select.keep(view))
}

/// A thread as LangGraph's clients know it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Thread")]
struct ThreadView<'a> {
    thread_id: String,
    created_at: String,
    updated_at: String,
    state_updated_at: String,
    /// What the caller notes of it.
    metadata: &'a Map<String, Value>,
    config: Map<String, Value>,
    /// idle, busy, interrupted or error.
    status: &'static str,
    /// Ours: the beginning of its first message.
    title: &'a str,
    /// Ours: who began it; null if it belongs to everybody at the tenant.
    owner: Option<&'a str>,
    /// Ours: whether others at the tenant may read it.
    shared: bool,
    /// Ours: how many messages it has.
    message_count: u64,
    /// The conversation; null if it is empty or was not asked for.
    values: Option<Values>,
    interrupts: Value,
    error: Value,
}

/// What a thread holds.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ThreadValues")]
struct Values {
    messages: Vec<crate::messages::MessageView>,
}
