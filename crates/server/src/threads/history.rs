//! The state of a thread, now and at every point before.

use axum::extract::{Path, State};
use ibid_core::{AccessRole, ThreadId};
use ibid_engine::{Error, Run, RunStatus, ThreadMessage};
use ibid_graph::{Record, TopologyNodeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{CheckpointRef, CheckpointStep, Select, interrupts, messages_view, raw, stamp};
use crate::api::{Api, operation};
use crate::http::{Caller, Json, Problem, Query, thread_id};
use crate::state::ServerState;

/// So many points are told at once at most, and so many bytes of them unless one alone has more.
const MOST_POINTS: usize = 100;
const MOST_BYTES: usize = 8 << 20;

/// The routes.
pub(super) fn routes(api: Api) -> Api {
    let on = |summary| operation("Threads", summary, AccessRole::Reader);
    api.get(
        "/threads/{thread}/state",
        now,
        on("Where a conversation stands").query("select", "only these fields").gives::<ThreadStateView>(),
    )
    .post(
        "/threads/{thread}/state",
        update,
        on("Add messages that nobody answers").takes::<Update>().audited(),
    )
    .post(
        "/threads/{thread}/state/checkpoint",
        at_checkpoint,
        on("Where a conversation stood at a point").takes::<At>().gives::<ThreadStateView>(),
    )
    .get(
        "/threads/{thread}/state/{checkpoint}",
        at,
        on("Where a conversation stood at a point").gives::<ThreadStateView>(),
    )
    .get(
        "/threads/{thread}/history",
        history_by_query,
        on("Where a conversation stood before, the newest first")
            .query("limit", "how many points")
            .query("before", "only points before this one")
            .gives::<Vec<ThreadStateView>>(),
    )
    .post(
        "/threads/{thread}/history",
        history,
        on("Where a conversation stood before, the newest first")
            .takes::<History>()
            .gives::<Vec<ThreadStateView>>(),
    )
}

async fn now(
    State(app): State<ServerState>,
    caller: Caller,
    Path(thread): Path<String>,
    query: Query,
) -> Result<axum::Json<Value>, Problem> {
    let _turn = app.large_answer(&caller).await;
    let past = ThreadHistory::of(&app, &caller, thread_id(&thread)?).await?;
    let select = Select::of(&query.list("select"));
    Ok(axum::Json(select.keep(past.now().await?)))
}

async fn at(
    State(app): State<ServerState>,
    caller: Caller,
    Path((thread, checkpoint)): Path<(String, String)>,
    query: Query,
) -> Result<axum::Json<Value>, Problem> {
    let _turn = app.large_answer(&caller).await;
    let past = ThreadHistory::of(&app, &caller, thread_id(&thread)?).await?;
    let select = Select::of(&query.list("select"));
    Ok(axum::Json(select.keep(past.at(checkpoint.parse()?).await?)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "StateAt")]
struct At {
    checkpoint: Value,
    #[serde(default)]
    select: Vec<String>,
}

async fn at_checkpoint(
    State(app): State<ServerState>,
    caller: Caller,
    Path(thread): Path<String>,
    Json(asked): Json<At>,
) -> Result<axum::Json<Value>, Problem> {
    let _turn = app.large_answer(&caller).await;
    let past = ThreadHistory::of(&app, &caller, thread_id(&thread)?).await?;
    let state = match CheckpointRef::read(&asked.checkpoint)? {
        Some(checkpoint) => past.at(checkpoint).await?,
        None => past.now().await?,
    };
    Ok(axum::Json(Select::of(&asked.select).keep(state)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "StateUpdate")]
struct Update {
    #[serde(default)]
    values: Value,
    #[serde(default)]
    checkpoint: Value,
    #[serde(default)]
    checkpoint_id: Value,
}

/// Adds messages, since the conversation is what a thread consists of.
async fn update(
    State(app): State<ServerState>,
    caller: Caller,
    Path(thread): Path<String>,
    Json(asked): Json<Update>,
) -> Result<axum::Json<Value>, Problem> {
    let thread = thread_id(&thread)?;
    let past = ThreadHistory::of(&app, &caller, thread).await?;
    for named in [&asked.checkpoint, &asked.checkpoint_id] {
        past.must_be_now(CheckpointRef::read(named)?).await?;
    }
    let other = asked.values.as_object().and_then(|values| values.keys().find(|name| *name != "messages"));
    if let Some(other) = other {
        return Err(Problem::invalid(format!("only messages can be added to a thread, not `{other}`")));
    }
    let added = crate::messages::read_all(&asked.values)?;
    let checkpoint = if added.is_empty() {
        past.head().await?.ok_or_else(|| Problem::invalid("there is nothing to add"))?
    } else {
        let run = app.engine().add_messages(&caller.scope, thread, crate::messages::joining(added)).await?;
        CheckpointRef { run, point: CheckpointStep::End }
    };
    let sent = checkpoint.to_wire(thread);
    Ok(axum::Json(json!({
        "checkpoint": sent,
        "configurable": sent,
        "checkpoint_id": checkpoint.to_string(),
    })))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "StateHistory")]
struct History {
    limit: Option<usize>,
    #[serde(default)]
    before: Value,
    #[serde(default)]
    checkpoint: Value,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    select: Vec<String>,
}

async fn history(
    State(app): State<ServerState>,
    caller: Caller,
    Path(thread): Path<String>,
    Json(asked): Json<History>,
) -> Result<axum::Json<Vec<Box<RawValue>>>, Problem> {
    let _turn = app.large_answer(&caller).await;
    let past = ThreadHistory::of(&app, &caller, thread_id(&thread)?).await?;
    let limit = asked.limit.unwrap_or(1).clamp(1, MOST_POINTS);
    let select = Select::of(&asked.select);
    let wanted = asked.metadata.unwrap_or_default();
    let (before, from) = (CheckpointRef::read(&asked.before)?, CheckpointRef::read(&asked.checkpoint)?);
    let fits = |state: &Value| wanted.iter().all(|(name, value)| state["metadata"][name] == *value);
    Ok(axum::Json(past.before(before, from, limit, fits, &select).await?))
}

async fn history_by_query(
    state: State<ServerState>,
    caller: Caller,
    thread: Path<String>,
    query: Query,
) -> Result<axum::Json<Vec<Box<RawValue>>>, Problem> {
    let limit = query.number("limit")?;
    let before = query.one("before").map(Value::from).unwrap_or_default();
    let asked =
        History { limit, before, checkpoint: Value::Null, metadata: None, select: query.list("select") };
    history(state, caller, thread, Json(asked)).await
}

/// Where a thread stood at a point, as LangGraph's clients know it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ThreadState")]
struct ThreadStateView {
    /// The conversation, and within a run the state of its graph.
    values: Values,
    next: Vec<String>,
    tasks: Vec<Value>,
    checkpoint: Value,
    parent_checkpoint: Option<Value>,
    metadata: Value,
    created_at: String,
    interrupts: Value,
    checkpoint_id: String,
    parent_checkpoint_id: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ThreadStateValues")]
struct Values {
    messages: Vec<crate::messages::MessageView>,
    /// Ours: the state of the turn's graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<Value>,
}

/// What a thread went through.
pub(crate) struct ThreadHistory<'a> {
    app: &'a ServerState,
    caller: &'a Caller,
    thread: ThreadId,
    messages: Vec<ThreadMessage>,
    /// The runs that have begun and were not forgotten, in their order.
    runs: Vec<Run>,
}

impl<'a> ThreadHistory<'a> {
    /// Reads it.
    pub(crate) async fn of(
        app: &'a ServerState,
        caller: &'a Caller,
        thread: ThreadId,
    ) -> Result<Self, Problem> {
        let mut runs = app.engine().runs(&caller.scope, thread).await?;
        // One that was stopped before it began has said nothing either.
        runs.retain(|run| run.status != RunStatus::RolledBack && !run.input.is_empty());
        let messages = crate::messages::of_thread(app.engine(), &caller.scope, thread).await?;
        Ok(Self { app, caller, thread, messages, runs })
    }

    /// Where the thread is now.
    pub(crate) async fn head(&self) -> Result<Option<CheckpointRef>, Problem> {
        let Some(run) = self.runs.last() else { return Ok(None) };
        let records = self.records(run).await?;
        Ok(points(run, &records).pop().map(|point| CheckpointRef { run: run.id, point }))
    }

    /// A thread goes on from where it is; from elsewhere only a copy can.
    pub(crate) async fn must_be_now(&self, named: Option<CheckpointRef>) -> Result<(), Problem> {
        match named {
            Some(named) if self.head().await? != Some(named) => Err(Problem::conflict(
                "a thread goes on from where it is; to go on from an earlier point, copy it up to there with \
                 POST /threads/{thread}/copy and that checkpoint",
            )),
            _ => Ok(()),
        }
    }

    /// Up to which position the conversation reached at a point.
    pub(crate) fn reached(&self, checkpoint: CheckpointRef) -> Result<u64, Problem> {
        let place = self.place(checkpoint)?;
        Ok(self.end(place, checkpoint.point))
    }

    fn place(&self, checkpoint: CheckpointRef) -> Result<usize, Problem> {
        let place = self.runs.iter().position(|run| run.id == checkpoint.run);
        place.ok_or_else(|| Problem::not_found(format!("there is no checkpoint `{checkpoint}`")))
    }

    fn end(&self, place: usize, point: CheckpointStep) -> u64 {
        match point {
            CheckpointStep::Step(_) => self.runs[place].input.end,
            CheckpointStep::End => self.runs.get(place + 1).map_or(u64::MAX, |next| next.input.start),
        }
    }

    async fn now(&self) -> Result<Value, Problem> {
        let Some(run) = self.runs.last() else { return Ok(nothing()) };
        let records = self.records(run).await?;
        let last = points(run, &records).pop().unwrap_or(CheckpointStep::End);
        self.state(self.runs.len() - 1, &records, last).await
    }

    async fn at(&self, checkpoint: CheckpointRef) -> Result<Value, Problem> {
        let place = self.place(checkpoint)?;
        let records = self.records(&self.runs[place]).await?;
        if !points(&self.runs[place], &records).contains(&checkpoint.point) {
            return Err(Problem::not_found(format!("there is no checkpoint `{checkpoint}`")));
        }
        self.state(place, &records, checkpoint.point).await
    }

    /// The newest states before a point, or from one on, as they are sent.
    async fn before(
        &self,
        before: Option<CheckpointRef>,
        from: Option<CheckpointRef>,
        limit: usize,
        fits: impl Fn(&Value) -> bool,
        select: &Select,
    ) -> Result<Vec<Box<RawValue>>, Problem> {
        let (mut states, mut bytes, mut looked_at) = (Vec::new(), 0, 0);
        // Until the point is met nothing is told.
        let mut met = before.is_none() && from.is_none();
        for (place, run) in self.runs.iter().enumerate().rev() {
            let elsewhere = |named: Option<CheckpointRef>| named.is_none_or(|named| named.run != run.id);
            if !met && elsewhere(before) && elsewhere(from) {
                continue;
            }
            let records = self.records(run).await?;
            for point in points(run, &records).into_iter().rev() {
                let here = Some(CheckpointRef { run: run.id, point });
                met |= here == from;
                if met {
                    let state = self.state(place, &records, point).await?;
                    if fits(&state) {
                        let state = raw(select.keep(state)).await?;
                        bytes += state.get().len();
                        if bytes > MOST_BYTES && !states.is_empty() {
                            return Ok(states);
                        }
                        states.push(state);
                    }
                }
                met |= here == before;
                looked_at += usize::from(met);
                if states.len() == limit || looked_at == MOST_POINTS {
                    return Ok(states);
                }
            }
        }
        Ok(states)
    }

    async fn records(&self, run: &Run) -> Result<Vec<Record>, Problem> {
        if run.assistant.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.app.engine().steps(&self.caller.scope, run.id).await?)
    }

    async fn state(&self, place: usize, records: &[Record], point: CheckpointStep) -> Result<Value, Problem> {
        let run = &self.runs[place];
        let end = self.end(place, point);
        let said = self.messages.iter().filter(|said| said.position < end).cloned().collect();
        let messages = messages_view(said).await?;
        let turn = match point {
            CheckpointStep::Step(step) => self.turn(run, step).await?,
            CheckpointStep::End => None,
        };
        let waits = run.status == RunStatus::Waiting && point == CheckpointStep::Step(count(records));
        let next = match point {
            CheckpointStep::Step(step) if !waits => {
                records.get(step as usize).map(|record| record.node.to_string())
            }
            CheckpointStep::Step(_) => Some(self.asking(&run.assistant)),
            CheckpointStep::End => None,
        };
        let asked = if waits { interrupts(run) } else { json!([]) };
        let task = |name: &String| {
            json!({
                "id": run.id.to_string(), "name": name, "path": ["__pregel_pull", name], "error": null,
                "interrupts": asked, "checkpoint": null, "state": null, "result": null,
            })
        };
        let here = CheckpointRef { run: run.id, point };
        let parent = self.parent(place, records, point);
        let created =
            if point == CheckpointStep::End { run.ended.unwrap_or(run.created) } else { run.created };
        let view = ThreadStateView {
            values: Values { messages: Vec::new(), turn },
            next: next.iter().cloned().collect(),
            tasks: next.iter().map(task).collect(),
            checkpoint: here.to_wire(self.thread),
            parent_checkpoint: parent.map(|parent| parent.to_wire(self.thread)),
            metadata: metadata(run, point, self.thread),
            created_at: stamp(created),
            interrupts: asked.clone(),
            checkpoint_id: here.to_string(),
            parent_checkpoint_id: parent.map(|parent| parent.to_string()),
        };
        let mut view = json!(view);
        // Put in as they are, where they would be copied with the rest.
        view["values"]["messages"] = messages;
        Ok(view)
    }

    /// The node of an assistant that asks.
    fn asking(&self, assistant: &str) -> String {
        let Ok(info) = self.app.assistant(assistant) else { return String::new() };
        let nodes = info.topology.nodes.iter();
        let asks =
            nodes.filter(|node| node.kind == TopologyNodeKind::Interrupt).map(|node| node.name.clone());
        asks.collect::<Vec<_>>().join(" or ")
    }

    /// What the graph of the turn knew, where its steps are still kept.
    async fn turn(&self, run: &Run, step: u32) -> Result<Option<Value>, Problem> {
        match self.app.engine().state(&self.caller.scope, run.id, step).await {
            Ok(mut state) => {
                if let Some(fields) = state.as_object_mut() {
                    // The conversation stands beside it, and on whose behalf is nobody's business.
                    fields.shift_remove("request");
                }
                Ok(Some(state))
            }
            Err(Error::NoSuchStep { .. } | Error::UnknownAssistant(_) | Error::Walk(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn parent(&self, place: usize, records: &[Record], point: CheckpointStep) -> Option<CheckpointRef> {
        let run = &self.runs[place];
        let earlier = points(run, records).into_iter().rev().find(|earlier| *earlier < point);
        match earlier {
            Some(point) => Some(CheckpointRef { run: run.id, point }),
            None => {
                let before = self.runs.get(place.checked_sub(1)?)?;
                Some(CheckpointRef { run: before.id, point: CheckpointStep::End })
            }
        }
    }
}

/// The points of a run, in their order.
fn points(run: &Run, records: &[Record]) -> Vec<CheckpointStep> {
    let mut points = Vec::new();
    if !run.assistant.is_empty() {
        points.extend((0..=count(records)).map(CheckpointStep::Step));
    }
    if run.status.is_final() {
        points.push(CheckpointStep::End);
    }
    points
}

fn count(records: &[Record]) -> u32 {
    u32::try_from(records.len()).unwrap_or(u32::MAX)
}

fn metadata(run: &Run, point: CheckpointStep, thread: ThreadId) -> Value {
    let (source, step) = match point {
        _ if run.assistant.is_empty() => ("update", json!(0)),
        CheckpointStep::Step(0) => ("input", json!(0)),
        CheckpointStep::Step(step) => ("loop", json!(step)),
        CheckpointStep::End => ("loop", json!("end")),
    };
    json!({
        "source": source, "step": step, "parents": {}, "run_id": run.id.to_string(),
        "thread_id": thread.to_string(), "assistant_id": run.assistant,
    })
}

/// The state of a thread in which nothing has happened.
fn nothing() -> Value {
    json!({
        "values": {}, "next": [], "tasks": [], "checkpoint": null, "parent_checkpoint": null, "metadata": null,
        "created_at": null, "interrupts": [], "checkpoint_id": null, "parent_checkpoint_id": null,
    })
}
