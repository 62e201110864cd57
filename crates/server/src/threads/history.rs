//! The state of a thread, now and at every point before.

use axum::extract::{Path, State};
use ibid_core::ThreadId;
use ibid_engine::{Error, Run, RunStatus, Said};
use ibid_graph::{Record, ShapeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Checkpoint, Point, Select, interrupts, stamp};
use crate::api::{Api, about};
use crate::app::App;
use crate::http::{Caller, Json, Problem, Query, thread_id};

/// So many points are told at once at most.
const MOST_POINTS: usize = 100;

/// The routes.
pub(super) fn routes(api: Api) -> Api {
    let on = |summary| about("Threads", summary);
    api.get(
        "/threads/{thread}/state",
        now,
        on("Where a conversation stands").query("select", "only these fields").gives::<Told>(),
    )
    .post("/threads/{thread}/state", update, on("Add messages that nobody answers").takes::<Update>())
    .post(
        "/threads/{thread}/state/checkpoint",
        at_checkpoint,
        on("Where a conversation stood at a point").takes::<At>().gives::<Told>(),
    )
    .get(
        "/threads/{thread}/state/{checkpoint}",
        at,
        on("Where a conversation stood at a point").gives::<Told>(),
    )
    .get(
        "/threads/{thread}/history",
        history_by_query,
        on("Where a conversation stood before, the newest first")
            .query("limit", "how many points")
            .query("before", "only points before this one")
            .gives::<Vec<Told>>(),
    )
    .post(
        "/threads/{thread}/history",
        history,
        on("Where a conversation stood before, the newest first").takes::<History>().gives::<Vec<Told>>(),
    )
}

async fn now(
    State(app): State<App>,
    caller: Caller,
    Path(thread): Path<String>,
    query: Query,
) -> Result<axum::Json<Value>, Problem> {
    let past = Past::of(&app, &caller, thread_id(&thread)?).await?;
    let select = Select::of(&query.list("select"));
    Ok(axum::Json(select.keep(past.now().await?)))
}

async fn at(
    State(app): State<App>,
    caller: Caller,
    Path((thread, checkpoint)): Path<(String, String)>,
    query: Query,
) -> Result<axum::Json<Value>, Problem> {
    let past = Past::of(&app, &caller, thread_id(&thread)?).await?;
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
    State(app): State<App>,
    caller: Caller,
    Path(thread): Path<String>,
    Json(asked): Json<At>,
) -> Result<axum::Json<Value>, Problem> {
    let past = Past::of(&app, &caller, thread_id(&thread)?).await?;
    let state = match Checkpoint::read(&asked.checkpoint)? {
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
    State(app): State<App>,
    caller: Caller,
    Path(thread): Path<String>,
    Json(asked): Json<Update>,
) -> Result<axum::Json<Value>, Problem> {
    let thread = thread_id(&thread)?;
    let past = Past::of(&app, &caller, thread).await?;
    for named in [&asked.checkpoint, &asked.checkpoint_id] {
        past.must_be_now(Checkpoint::read(named)?).await?;
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
        Checkpoint { run, point: Point::End }
    };
    let told = checkpoint.told(thread);
    Ok(axum::Json(json!({
        "checkpoint": told,
        "configurable": told,
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
    State(app): State<App>,
    caller: Caller,
    Path(thread): Path<String>,
    Json(asked): Json<History>,
) -> Result<axum::Json<Vec<Value>>, Problem> {
    let past = Past::of(&app, &caller, thread_id(&thread)?).await?;
    let limit = asked.limit.unwrap_or(1).clamp(1, MOST_POINTS);
    let select = Select::of(&asked.select);
    let wanted = asked.metadata.unwrap_or_default();
    let (before, from) = (Checkpoint::read(&asked.before)?, Checkpoint::read(&asked.checkpoint)?);
    let fits = |state: &Value| wanted.iter().all(|(name, value)| state["metadata"][name] == *value);
    let states = past.before(before, from, limit, fits).await?;
    Ok(axum::Json(states.into_iter().map(|state| select.keep(state)).collect()))
}

async fn history_by_query(
    state: State<App>,
    caller: Caller,
    thread: Path<String>,
    query: Query,
) -> Result<axum::Json<Vec<Value>>, Problem> {
    let limit = query.number("limit")?;
    let before = query.one("before").map(Value::from).unwrap_or_default();
    let asked =
        History { limit, before, checkpoint: Value::Null, metadata: None, select: query.list("select") };
    history(state, caller, thread, Json(asked)).await
}

/// Where a thread stood at a point, as LangGraph's clients know it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ThreadState")]
struct Told {
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
    messages: Vec<crate::messages::Told>,
    /// Ours: the state of the turn's graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<Value>,
}

/// What a thread went through.
pub(crate) struct Past<'a> {
    app: &'a App,
    caller: &'a Caller,
    thread: ThreadId,
    messages: Vec<Said>,
    /// The runs that have begun and were not forgotten, in their order.
    runs: Vec<Run>,
}

impl<'a> Past<'a> {
    /// Reads it.
    pub(crate) async fn of(app: &'a App, caller: &'a Caller, thread: ThreadId) -> Result<Self, Problem> {
        let mut runs = app.engine().runs(&caller.scope, thread).await?;
        // One that was stopped before it began has said nothing either.
        runs.retain(|run| run.status != RunStatus::RolledBack && !run.input.is_empty());
        let messages = crate::messages::of_thread(app.engine(), &caller.scope, thread).await?;
        Ok(Self { app, caller, thread, messages, runs })
    }

    /// Where the thread is now.
    pub(crate) async fn head(&self) -> Result<Option<Checkpoint>, Problem> {
        let Some(run) = self.runs.last() else { return Ok(None) };
        let records = self.records(run).await?;
        Ok(points(run, &records).pop().map(|point| Checkpoint { run: run.id, point }))
    }

    /// A thread goes on from where it is; from elsewhere only a copy can.
    pub(crate) async fn must_be_now(&self, named: Option<Checkpoint>) -> Result<(), Problem> {
        match named {
            Some(named) if self.head().await? != Some(named) => Err(Problem::conflict(
                "a thread goes on from where it is; to go on from an earlier point, copy it up to there with \
                 POST /threads/{thread}/copy and that checkpoint",
            )),
            _ => Ok(()),
        }
    }

    /// Up to which position the conversation reached at a point.
    pub(crate) fn reached(&self, checkpoint: Checkpoint) -> Result<u64, Problem> {
        let place = self.place(checkpoint)?;
        Ok(self.end(place, checkpoint.point))
    }

    fn place(&self, checkpoint: Checkpoint) -> Result<usize, Problem> {
        let place = self.runs.iter().position(|run| run.id == checkpoint.run);
        place.ok_or_else(|| Problem::not_found(format!("there is no checkpoint `{checkpoint}`")))
    }

    fn end(&self, place: usize, point: Point) -> u64 {
        match point {
            Point::Step(_) => self.runs[place].input.end,
            Point::End => self.runs.get(place + 1).map_or(u64::MAX, |next| next.input.start),
        }
    }

    async fn now(&self) -> Result<Value, Problem> {
        let Some(run) = self.runs.last() else { return Ok(nothing()) };
        let records = self.records(run).await?;
        let last = points(run, &records).pop().unwrap_or(Point::End);
        self.state(self.runs.len() - 1, &records, last).await
    }

    async fn at(&self, checkpoint: Checkpoint) -> Result<Value, Problem> {
        let place = self.place(checkpoint)?;
        let records = self.records(&self.runs[place]).await?;
        if !points(&self.runs[place], &records).contains(&checkpoint.point) {
            return Err(Problem::not_found(format!("there is no checkpoint `{checkpoint}`")));
        }
        self.state(place, &records, checkpoint.point).await
    }

    /// The newest states before a point, or from one on.
    async fn before(
        &self,
        before: Option<Checkpoint>,
        from: Option<Checkpoint>,
        limit: usize,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Vec<Value>, Problem> {
        let mut states = Vec::new();
        // Until the point is met nothing is told.
        let mut met = before.is_none() && from.is_none();
        for (place, run) in self.runs.iter().enumerate().rev() {
            let elsewhere = |named: Option<Checkpoint>| named.is_none_or(|named| named.run != run.id);
            if !met && elsewhere(before) && elsewhere(from) {
                continue;
            }
            let records = self.records(run).await?;
            for point in points(run, &records).into_iter().rev() {
                let here = Some(Checkpoint { run: run.id, point });
                met |= here == from;
                if met {
                    let state = self.state(place, &records, point).await?;
                    if fits(&state) {
                        states.push(state);
                    }
                }
                met |= here == before;
                if states.len() == limit {
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

    async fn state(&self, place: usize, records: &[Record], point: Point) -> Result<Value, Problem> {
        let run = &self.runs[place];
        let end = self.end(place, point);
        let said = self.messages.iter().filter(|said| said.position < end).map(crate::messages::told);
        let messages = said.collect();
        let turn = match point {
            Point::Step(step) => self.turn(run, step).await?,
            Point::End => None,
        };
        let values = Values { messages, turn };
        let waits = run.status == RunStatus::Waiting && point == Point::Step(count(records));
        let next = match point {
            Point::Step(step) if !waits => records.get(step as usize).map(|record| record.node.to_string()),
            Point::Step(_) => Some(self.asking(&run.assistant)),
            Point::End => None,
        };
        let asked = if waits { interrupts(run) } else { json!([]) };
        let task = |name: &String| {
            json!({
                "id": run.id.to_string(), "name": name, "path": ["__pregel_pull", name], "error": null,
                "interrupts": asked, "checkpoint": null, "state": null, "result": null,
            })
        };
        let here = Checkpoint { run: run.id, point };
        let parent = self.parent(place, records, point);
        let created = if point == Point::End { run.ended.unwrap_or(run.created) } else { run.created };
        let told = Told {
            values,
            next: next.iter().cloned().collect(),
            tasks: next.iter().map(task).collect(),
            checkpoint: here.told(self.thread),
            parent_checkpoint: parent.map(|parent| parent.told(self.thread)),
            metadata: metadata(run, point, self.thread),
            created_at: stamp(created),
            interrupts: asked.clone(),
            checkpoint_id: here.to_string(),
            parent_checkpoint_id: parent.map(|parent| parent.to_string()),
        };
        Ok(json!(told))
    }

    /// The node of an assistant that asks.
    fn asking(&self, assistant: &str) -> String {
        let shape = self.app.assistant(assistant).ok().map(|offer| &offer.shape);
        let nodes = shape.into_iter().flat_map(|shape| &shape.nodes);
        let asks = nodes.filter(|node| node.kind == ShapeKind::Ask).map(|node| node.name.clone());
        asks.collect::<Vec<_>>().join(" or ")
    }

    /// What the graph of the turn knew, where its steps are still kept.
    async fn turn(&self, run: &Run, step: u32) -> Result<Option<Value>, Problem> {
        match self.app.engine().state(&self.caller.scope, run.id, step).await {
            Ok(mut state) => {
                if let Some(fields) = state.as_object_mut() {
                    // The conversation stands beside it, and on whose behalf is nobody's business.
                    fields.shift_remove("asked");
                }
                Ok(Some(state))
            }
            Err(Error::NoSuchStep { .. } | Error::UnknownAssistant(_) | Error::Walk(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn parent(&self, place: usize, records: &[Record], point: Point) -> Option<Checkpoint> {
        let run = &self.runs[place];
        let earlier = points(run, records).into_iter().rev().find(|earlier| *earlier < point);
        match earlier {
            Some(point) => Some(Checkpoint { run: run.id, point }),
            None => {
                let before = self.runs.get(place.checked_sub(1)?)?;
                Some(Checkpoint { run: before.id, point: Point::End })
            }
        }
    }
}

/// The points of a run, in their order.
fn points(run: &Run, records: &[Record]) -> Vec<Point> {
    let mut points = Vec::new();
    if !run.assistant.is_empty() {
        points.extend((0..=count(records)).map(Point::Step));
    }
    if run.status.is_final() {
        points.push(Point::End);
    }
    points
}

fn count(records: &[Record]) -> u32 {
    u32::try_from(records.len()).unwrap_or(u32::MAX)
}

fn metadata(run: &Run, point: Point, thread: ThreadId) -> Value {
    let (source, step) = match point {
        _ if run.assistant.is_empty() => ("update", json!(0)),
        Point::Step(0) => ("input", json!(0)),
        Point::Step(step) => ("loop", json!(step)),
        Point::End => ("loop", json!("end")),
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
