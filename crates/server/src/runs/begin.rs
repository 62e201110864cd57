//! Beginning a run: a new turn, or the answer to what an earlier one asked.

use std::time::Duration;

use axum::http::HeaderMap;
use futures_util::StreamExt as _;
use ibid_core::{Role, RunId, ThreadId, TurnEvent, TurnOptions};
use ibid_engine::{Error, Lifetime, Turn, WhenBusy, turn_events};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::outcome::Outcome;
use crate::http::{Caller, Problem, headers as header_map};
use crate::state::ServerState;
use crate::stream::{Following, Format, Modes};
use crate::threads::{CheckpointRef, ThreadHistory};

/// What is asked for. What is not known is left alone, since clients send more than is needed.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "RunCreate")]
pub(super) struct Create {
    assistant_id: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    command: Option<Command>,
    #[serde(default)]
    stream_mode: Value,
    #[serde(default)]
    config: Option<Settings>,
    #[serde(default)]
    context: Option<Map<String, Value>>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    checkpoint: Value,
    #[serde(default)]
    checkpoint_id: Value,
    #[serde(default)]
    interrupt_before: Value,
    #[serde(default)]
    interrupt_after: Value,
    #[serde(default)]
    multitask_strategy: Option<String>,
    #[serde(default)]
    if_not_exists: Option<String>,
    #[serde(default)]
    on_completion: Option<String>,
    #[serde(default)]
    on_disconnect: Option<String>,
    #[serde(default)]
    after_seconds: Option<f64>,
    #[serde(default)]
    webhook: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Command {
    #[serde(default)]
    resume: Value,
    #[serde(default)]
    update: Value,
    #[serde(default)]
    goto: Value,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "RunConfig")]
struct Settings {
    #[serde(default)]
    configurable: Map<String, Value>,
}

impl Create {
    /// What is to be streamed.
    pub(super) fn modes(&self) -> Vec<String> {
        match &self.stream_mode {
            Value::String(one) => vec![one.clone()],
            Value::Array(several) => several.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the run ends with the connection.
    pub(super) fn cancels_on_disconnect(&self) -> bool {
        self.on_disconnect.as_deref() == Some("cancel")
    }

    /// What is asked for and cannot be had is refused, and not forgotten.
    fn check(&self) -> Result<(), Problem> {
        let is_set = |value: &Value| match value {
            Value::Null => false,
            Value::Array(list) => !list.is_empty(),
            _ => true,
        };
        if is_set(&self.interrupt_before) || is_set(&self.interrupt_after) {
            return Err(Problem::invalid(
                "a run can be interrupted by its graph, not before or after any node",
            ));
        }
        if self.after_seconds.is_some_and(|after| after > 0.0) {
            return Err(Problem::invalid("a run begins at once; after_seconds is not supported"));
        }
        if self.webhook.is_some() {
            return Err(Problem::invalid("webhooks are not supported; follow the run's stream or join it"));
        }
        Ok(())
    }

    fn when_busy(&self) -> Result<WhenBusy, Problem> {
        match self.multitask_strategy.as_deref() {
            None | Some("enqueue") => Ok(WhenBusy::Enqueue),
            Some("reject") => Ok(WhenBusy::Reject),
            Some("interrupt") => Ok(WhenBusy::Interrupt),
            Some("rollback") => Ok(WhenBusy::Rollback),
            Some(other) => Err(Problem::invalid(format!("`{other}` is no multitask strategy"))),
        }
    }

    /// How to answer: mode, format and the like.
    fn options(&self) -> TurnOptions {
        let configurable = self.config.as_ref().map(|config| config.configurable.clone());
        let mut options = configurable.unwrap_or_default();
        options.extend(self.context.clone().unwrap_or_default());
        options.retain(|name, _| !name.starts_with("__") && name != "thread_id" && name != "checkpoint_id");
        options.into()
    }
}

/// A run that has begun.
pub(super) struct Begun {
    pub(super) thread: ThreadId,
    pub(super) run: RunId,
    /// Events up to here were before this request.
    after: u64,
    /// Whether its thread is deleted when it is over.
    temporary: bool,
}

impl Begun {
    /// A run that had begun before.
    pub(super) fn earlier(thread: ThreadId, run: RunId) -> Self {
        Self { thread, run, after: 0, temporary: false }
    }

    /// Where the run is found.
    pub(super) fn path(&self) -> String {
        format!("/threads/{}/runs/{}", self.thread, self.run)
    }

    /// Where the run is found, and where to go on after the connection was lost.
    pub(super) fn headers(&self, then: &str) -> HeaderMap {
        let path = self.path();
        header_map([("location", format!("{path}/{then}")), ("content-location", path)])
    }

    /// Follows it from where it began.
    pub(super) fn following(&self, app: &ServerState, caller: &Caller) -> Following {
        Following {
            engine: app.engine().clone(),
            scope: caller.scope.clone(),
            thread: self.thread,
            run: self.run,
            from: self.after,
            after: None,
            modes: Modes::default(),
            format: Format::default(),
            cancel_on_disconnect: false,
        }
    }

    /// Waits for what it comes to.
    pub(super) fn outcome(&self, app: &ServerState, caller: &Caller) -> Outcome {
        let (thread, run, after, temporary) = (self.thread, self.run, self.after, self.temporary);
        Outcome {
            app: app.clone(),
            caller: caller.clone(),
            thread,
            run,
            after,
            temporary,
            cancel_on_disconnect: false,
        }
    }
}

/// Begins what is asked for.
pub(super) async fn begin(
    app: &ServerState,
    caller: &Caller,
    thread: Option<ThreadId>,
    asked: Create,
    headers: &HeaderMap,
) -> Result<Begun, Problem> {
    asked.check()?;
    let options = asked.options();
    app.can_answer(&asked.assistant_id, &options).await?;
    if let Some(command) = &asked.command {
        let Some(thread) = thread else {
            return Err(Problem::unreadable("an answer belongs to a thread; say which one in the path"));
        };
        return answer(app, caller, thread, command).await;
    }
    let temporary = thread.is_none() && asked.on_completion.as_deref() != Some("keep");
    let id = thread.unwrap_or_else(ThreadId::new);
    let must_be_there = thread.is_some() && asked.if_not_exists.as_deref() != Some("create");
    let names_a_point = !asked.checkpoint.is_null() || !asked.checkpoint_id.is_null();
    if names_a_point && thread.is_some() {
        let past = ThreadHistory::of(app, caller, id).await?;
        for named in [&asked.checkpoint, &asked.checkpoint_id] {
            past.must_be_now(CheckpointRef::read(named)?).await?;
        }
    } else if must_be_there {
        app.engine().thread(&caller.scope, id).await?;
    }
    let mut messages = crate::messages::read_all(&asked.input)?;
    // An assistant has its own instructions.
    messages.retain(|message| message.role != Role::System);
    if thread.is_some() && messages.len() > 1 {
        leave_out_known(app, caller, id, &mut messages).await?;
    }
    let Some(message) = messages.pop().filter(|message| message.role == Role::User) else {
        let hint = r#"say something: {"input": {"messages": [{"role": "user", "content": "…"}]}}"#;
        return Err(Problem::invalid(hint));
    };
    let turn = Turn {
        options,
        stream_modes: asked.modes(),
        when_busy: asked.when_busy()?,
        metadata: asked.metadata.clone().unwrap_or_default(),
        trace: caller.trace,
        idempotency_key: headers.get("idempotency-key").and_then(|key| key.to_str().ok()).map(str::to_owned),
        ..Turn::new(id, &asked.assistant_id, message)
    };
    if temporary {
        app.engine().create_thread(&caller.scope, id, Map::new(), Lifetime::Temporary).await?;
    } else if !messages.is_empty() && !must_be_there {
        app.engine().create_thread(&caller.scope, id, Map::new(), Lifetime::Kept).await?;
    }
    if !messages.is_empty() {
        // What was said before is history, and not part of the question.
        app.engine().add_messages(&caller.scope, id, crate::messages::joining(messages)).await?;
    }
    let submitted = app.engine().submit(&caller.scope, turn).await?;
    Ok(Begun { thread: id, run: submitted.run, after: 0, temporary })
}

/// Clients that keep the conversation themselves send it whole, with names: what is there already is not said again.
async fn leave_out_known(
    app: &ServerState,
    caller: &Caller,
    thread: ThreadId,
    messages: &mut Vec<ibid_core::Message>,
) -> Result<(), Problem> {
    let known = match crate::messages::of_thread(app.engine(), &caller.scope, thread).await {
        Ok(said) => said,
        Err(_) => return Ok(()),
    };
    let known: Vec<String> = known.iter().map(crate::messages::id_of).collect();
    messages.retain(|message| !message.id.as_ref().is_some_and(|id| known.contains(id)));
    Ok(())
}

/// Answers what the thread's run asks, and follows it from there.
async fn answer(
    app: &ServerState,
    caller: &Caller,
    thread: ThreadId,
    command: &Command,
) -> Result<Begun, Problem> {
    if !command.update.is_null() || !command.goto.is_null() {
        return Err(Problem::invalid("a command can resume a run; update and goto are not supported"));
    }
    let runs = app.engine().runs(&caller.scope, thread).await?;
    let Some((waiting, step)) = runs.iter().find_map(|run| Some((run, run.interrupted_step?))) else {
        return Err(Problem::conflict(format!("no run of the thread {thread} waits for an answer")));
    };
    let (run, id) = (waiting.id, waiting.id.to_string());
    // An answer may name the question.
    let answer = match &command.resume {
        Value::Object(fields) if fields.len() == 1 && fields.contains_key(&id) => &fields[&id],
        other => other,
    };
    let mut events = turn_events(app.engine(), &caller.scope, run, 0).await?;
    let mut after = 0;
    let find = async {
        while let Some(event) = events.next().await {
            let event = event.map_err(|error: Error| Problem::from(error))?;
            if matches!(event.event, TurnEvent::Interrupted { .. }) && event.step == step {
                after = event.seq;
                break;
            }
        }
        Ok::<_, Problem>(())
    };
    // If somebody else answers at this moment, there is no such event.
    if let Ok(found) = tokio::time::timeout(Duration::from_secs(5), find).await {
        found?;
    } else if app.engine().run(&caller.scope, run).await?.interrupted_step == Some(step) {
        return Err(Problem::unavailable(
            "the question could not be read in time; answer it again in a moment",
        ));
    } else {
        return Err(Problem::conflict("the question has been answered already"));
    }
    app.engine().resume(&caller.scope, run, answer.clone()).await?;
    Ok(Begun { thread, run, after, temporary: false })
}
