//! The events of a turn in LangGraph's stream modes. Every event has its frames in a fixed order, whether they are wanted or
//! not, so that a frame has the same id for every client.

use std::collections::HashMap;
use std::sync::Arc;

use ibid_core::event::{DraftAnswer, DraftChange};
use ibid_core::{RunEvent, RunId, RunStatus, Scope, ThreadId, TurnEvent};
use ibid_engine::{Engine, ThreadMessage};
use ibid_graph::Record;
use serde_json::{Value, json};

use super::{Mode, Modes, StreamCursor};
use crate::http::{Frame, Problem};
use crate::threads::{CheckpointRef, CheckpointStep};

/// What a step is known by while the run is told.
struct Step {
    node: Arc<str>,
    attempt: u32,
}

/// A turn as LangGraph's clients follow it.
pub(super) struct LangGraphStream {
    engine: Arc<dyn Engine>,
    scope: Scope,
    thread: ThreadId,
    run: RunId,
    modes: Modes,
    steps: HashMap<u32, Step>,
    records: Vec<Record>,
    /// The conversation up to what was asked.
    asked: Option<Vec<ThreadMessage>>,
    /// The answer as far as it has come. What is written anew is another message.
    draft: DraftAnswer,
    /// The step that wrote last.
    writer: u32,
    /// What stands behind the text of every piece of the message that is told.
    behind: Option<String>,
    last: Option<CheckpointRef>,
    out: FrameBuffer,
}

/// The frames of one event.
#[derive(Default)]
struct FrameBuffer {
    seq: u64,
    slot: u16,
    modes: Option<Modes>,
    frames: Vec<(StreamCursor, Frame)>,
}

impl FrameBuffer {
    /// Tells a frame of a mode, if that is wanted; its place is taken in any case.
    fn tell(&mut self, mode: Mode, name: &str, data: impl FnOnce() -> Value) {
        self.slot += 1;
        if self.modes.as_ref().is_some_and(|modes| modes.wants(mode)) {
            let place = StreamCursor { seq: self.seq, slot: self.slot };
            self.frames.push((place, place.frame(name, data())));
        }
    }

    /// The same with what is written already.
    fn tell_written(&mut self, mode: Mode, name: &str, data: impl FnOnce() -> String) {
        self.slot += 1;
        if self.modes.as_ref().is_some_and(|modes| modes.wants(mode)) {
            let place = StreamCursor { seq: self.seq, slot: self.slot };
            self.frames.push((place, place.written(name, data())));
        }
    }

    fn always(&mut self, name: &str, data: Value) {
        self.slot += 1;
        let place = StreamCursor { seq: self.seq, slot: self.slot };
        self.frames.push((place, place.frame(name, data)));
    }
}

impl LangGraphStream {
    pub(super) fn new(
        engine: &Arc<dyn Engine>,
        scope: &Scope,
        thread: ThreadId,
        run: RunId,
        modes: Modes,
    ) -> Self {
        Self {
            engine: engine.clone(),
            scope: scope.clone(),
            thread,
            run,
            out: FrameBuffer { modes: Some(modes.clone()), ..FrameBuffer::default() },
            modes,
            steps: HashMap::new(),
            records: Vec::new(),
            asked: None,
            draft: DraftAnswer::default(),
            writer: 0,
            behind: None,
            last: None,
        }
    }

    /// The frames of an event.
    pub(super) async fn frames(
        &mut self,
        event: RunEvent<TurnEvent>,
    ) -> Result<Vec<(StreamCursor, Frame)>, Problem> {
        (self.out.seq, self.out.slot) = (event.seq, 0);
        if self.asked.is_none() && self.whole_state() {
            self.asked = Some(self.conversation().await?);
        }
        if event.seq == 1 {
            self.point(CheckpointStep::Step(0));
            self.values(None);
        }
        let (step, attempt) = (event.step, event.attempt);
        if let DraftChange::Began(_) = self.draft.apply(step, attempt, &event.event) {
            self.behind = None;
        }
        match event.event {
            TurnEvent::Started { trace_id } => self.custom(step, "started", json!({ "trace_id": trace_id })),
            TurnEvent::StepStarted { node } => self.started(step, attempt, node.into()),
            TurnEvent::Token { text } => self.token(step, &text),
            TurnEvent::Status { text } => self.custom(step, "status", json!({ "text": text })),
            TurnEvent::StepRetrying { error, after_ms } => {
                self.custom(step, "retrying", json!({ "error": error, "after_ms": after_ms }));
            }
            TurnEvent::StepFinished { .. } => self.finished(step).await?,
            TurnEvent::Interrupted { value } => self.interrupted(&value),
            TurnEvent::Resumed => self.custom(step, "answered", json!({})),
            TurnEvent::Recovered => self.custom(step, "resumed", json!({})),
            TurnEvent::Restarted { reason } => {
                self.records.clear();
                self.custom(step, "restarted", json!({ "reason": reason }));
            }
            TurnEvent::Ended { status, error, .. } => self.ended(status, error).await?,
            other => self.emitted(step, &other),
        }
        Ok(std::mem::take(&mut self.out.frames))
    }

    fn started(&mut self, step: u32, attempt: u32, node: Arc<str>) {
        let id = self.task(step);
        let task = json!({ "id": id, "name": node, "input": null, "triggers": [] });
        self.out.tell(Mode::Tasks, "tasks", || task.clone());
        self.debug(step, "task", &task);
        self.event("on_chain_start", &node, step, json!({}));
        self.steps.insert(step, Step { node, attempt });
    }

    fn token(&mut self, step: u32, text: &str) {
        self.writer = step;
        let modes = [Mode::MessagesTuple, Mode::Messages, Mode::Events];
        if !modes.into_iter().any(|mode| self.modes.wants(mode)) {
            return;
        }
        let (id, begins) = (self.message_id(self.draft.number), self.behind.is_none());
        if begins {
            self.behind = Some(format!("{}, {}]", rest_of_piece(&id), self.about(step)));
        }
        let behind = self.behind.as_deref().unwrap_or_default();
        // There are many of these, and all but the text is the same.
        let written = || format!(r#"[{{"type":"AIMessageChunk","content":{},{behind}"#, Value::from(text));
        self.out.tell_written(Mode::MessagesTuple, "messages", written);
        if begins {
            let about = self.about(step);
            let about = || json!({ (id.clone()): { "metadata": about } });
            self.out.tell(Mode::Messages, "messages/metadata", about);
        }
        let whole = self.draft.text.as_str();
        self.out.tell(Mode::Messages, "messages/partial", || json!([message(&id, whole)]));
        if self.modes.wants(Mode::Events) {
            let node = self.node(step);
            self.event("on_chat_model_stream", &node, step, json!({ "chunk": piece(&id, text) }));
        }
    }

    /// The id of a draft as a message: that of the run, and for what is written anew a number behind it.
    fn message_id(&self, number: u32) -> String {
        if number <= 1 { self.run.to_string() } else { format!("{}.{number}", self.run) }
    }

    /// An event that the graph emits as its own.
    fn emitted(&mut self, step: u32, event: &TurnEvent) {
        let Some((name, value)) = event.to_custom() else { return };
        let (name, tool) = (name.to_owned(), |event: &'static str, name: &str| (event, Arc::from(name)));
        let called = match event {
            TurnEvent::ToolCallStarted(call) => {
                Some((tool("on_tool_start", &call.name), json!({ "input": call.arguments })))
            }
            TurnEvent::ToolCallFinished(result) => {
                Some((tool("on_tool_end", &result.name), json!({ "output": value })))
            }
            _ => None,
        };
        if let Some(((event, tool), data)) = called {
            self.event(event, &tool, step, data);
        }
        self.custom(step, &name, json!({ "value": value }));
    }

    async fn finished(&mut self, step: u32) -> Result<(), Problem> {
        let wanted = [Mode::Updates, Mode::Tasks, Mode::Debug, Mode::Events];
        if wanted.into_iter().any(|mode| self.modes.wants(mode)) && self.records.len() < step as usize {
            self.records = self.engine.steps(&self.scope, self.run).await?;
        }
        let record = self.records.get((step as usize).saturating_sub(1));
        let node = record.map_or_else(|| self.node(step), |record| record.node.clone());
        let change =
            record.and_then(|record| serde_json::from_str(&record.update).ok()).unwrap_or(Value::Null);
        let task =
            json!({ "id": self.task(step), "name": node, "error": null, "result": change, "interrupts": [] });
        self.out.tell(Mode::Tasks, "tasks", || task.clone());
        self.debug(step, "task_result", &task);
        self.event("on_chain_end", &node, step, json!({ "output": change }));
        self.out.tell(Mode::Updates, "updates", || json!({ (node.to_string()): change }));
        self.values(None);
        self.point(CheckpointStep::Step(step));
        Ok(())
    }

    fn interrupted(&mut self, question: &Value) {
        let asked = json!([{ "id": self.run.to_string(), "value": question }]);
        self.out.tell(Mode::Updates, "updates", || json!({ "__interrupt__": asked }));
        self.values(Some(&asked));
    }

    async fn ended(&mut self, status: RunStatus, error: Option<String>) -> Result<(), Problem> {
        if let Some(error) = error {
            self.out.always("error", json!({ "error": "RunFailed", "message": error }));
            return Ok(());
        }
        if status == RunStatus::RolledBack {
            return Ok(());
        }
        let wanted = [Mode::Updates, Mode::Messages, Mode::MessagesTuple];
        if self.whole_state() || wanted.into_iter().any(|mode| self.modes.wants(mode)) {
            let own = self.answer().await?;
            let mut said: Vec<Value> = own.iter().map(|said| json!(crate::messages::to_wire(said))).collect();
            self.out.tell(Mode::Updates, "updates", || json!({ "__end__": { "messages": said } }));
            // What nobody heard piece by piece is told whole. Clients add up what has one name, so that an answer which
            // became another when it was checked has another.
            let text = own.as_ref().map_or("", |own| own.message.text.as_str());
            let heard = !self.draft.text.is_empty() && self.draft.text.trim_end() == text.trim_end();
            if let (false, Some(whole)) = (heard, said.first_mut()) {
                if self.draft.number > 0 {
                    whole["id"] = self.message_id(self.draft.number + 1).into();
                }
                let about = self.about(self.writer);
                self.out.tell(Mode::MessagesTuple, "messages", || json!([whole, about]));
                self.out.tell(Mode::Messages, "messages/complete", || json!([whole]));
            }
            if let Some(asked) = &mut self.asked {
                asked.extend(own);
            }
        }
        self.values(None);
        self.point(CheckpointStep::End);
        Ok(())
    }

    /// The conversation with what was asked, and without what was answered.
    async fn conversation(&self) -> Result<Vec<ThreadMessage>, Problem> {
        let run = self.engine.run(&self.scope, self.run).await?;
        // A turn that was stopped before it began has added nothing.
        let end = if run.input.is_empty() { u64::MAX } else { run.input.end };
        crate::messages::before(&self.engine, &self.scope, self.thread, end).await
    }

    /// What this run answered.
    async fn answer(&self) -> Result<Option<ThreadMessage>, Problem> {
        let run = self.engine.run(&self.scope, self.run).await?;
        crate::messages::answer_of(&self.engine, &self.scope, &run).await
    }

    fn whole_state(&self) -> bool {
        [Mode::Values, Mode::Checkpoints, Mode::Debug].into_iter().any(|mode| self.modes.wants(mode))
    }

    fn state(&self) -> Value {
        let said = self.asked.iter().flatten().map(crate::messages::to_wire);
        json!({ "messages": said.collect::<Vec<_>>() })
    }

    fn values(&mut self, interrupt: Option<&Value>) {
        let state = if self.whole_state() { self.state() } else { Value::Null };
        self.out.tell(Mode::Values, "values", || {
            let mut values = state;
            if let Some(interrupt) = interrupt {
                values["__interrupt__"] = interrupt.clone();
            }
            values
        });
    }

    /// A point that one can go back to.
    fn point(&mut self, point: CheckpointStep) {
        let here = CheckpointRef { run: self.run, point };
        let before = self.last.replace(here);
        let wanted = self.modes.wants(Mode::Checkpoints) || self.modes.wants(Mode::Debug);
        let state = if wanted {
            let source = if point == CheckpointStep::Step(0) { "input" } else { "loop" };
            json!({
                "config": { "configurable": here.to_wire(self.thread) },
                "parent_config": before.map(|before| json!({ "configurable": before.to_wire(self.thread) })),
                "values": self.state(),
                "metadata": { "source": source, "parents": {} },
                "next": [],
                "tasks": [],
                "checkpoint": here.to_wire(self.thread),
                "parent_checkpoint": before.map(|before| before.to_wire(self.thread)),
            })
        } else {
            Value::Null
        };
        self.out.tell(Mode::Checkpoints, "checkpoints", || state.clone());
        let step = match point {
            CheckpointStep::Step(step) => step,
            CheckpointStep::End => u32::try_from(self.steps.len()).unwrap_or(u32::MAX),
        };
        self.debug(step, "checkpoint", &state);
    }

    fn debug(&mut self, step: u32, kind: &str, payload: &Value) {
        self.out.tell(Mode::Debug, "debug", || json!({ "step": step, "type": kind, "payload": payload }));
    }

    fn custom(&mut self, step: u32, kind: &str, mut data: Value) {
        let node = self.node(step);
        self.out.tell(Mode::Custom, "custom", || {
            data["type"] = kind.into();
            data["node"] = node.as_ref().into();
            data
        });
    }

    fn event(&mut self, event: &str, name: &Arc<str>, step: u32, data: Value) {
        if !self.modes.wants(Mode::Events) {
            // Its place is taken in any case.
            return self.out.tell(Mode::Events, "events", || Value::Null);
        }
        let (id, about) = (self.task(step), self.about(step));
        self.out.tell(Mode::Events, "events", || {
            json!({
                "event": event, "name": name, "run_id": id, "tags": [], "metadata": about, "parent_ids": [],
                "data": data,
            })
        });
    }

    fn node(&self, step: u32) -> Arc<str> {
        self.steps.get(&step).map_or_else(|| Arc::from(""), |step| step.node.clone())
    }

    fn task(&self, step: u32) -> String {
        format!("{}:{step:06}", self.run)
    }

    /// What is said of a piece besides its text.
    fn about(&self, step: u32) -> Value {
        json!({
            "langgraph_step": step,
            "langgraph_node": self.node(step),
            "langgraph_checkpoint_ns": "",
            "checkpoint_ns": "",
            "run_id": self.run.to_string(),
            "thread_id": self.thread.to_string(),
            "run_attempt": self.steps.get(&step).map_or(1, |step| step.attempt),
        })
    }
}

/// What a piece says besides its text.
fn rest_of_piece(id: &str) -> String {
    let mut rest = piece(id, "");
    if let Some(fields) = rest.as_object_mut() {
        fields.retain(|name, _| name != "type" && name != "content");
    }
    rest.to_string().split_off(1)
}

fn piece(id: &str, text: &str) -> Value {
    json!({
        "type": "AIMessageChunk", "content": text, "id": id, "name": null, "additional_kwargs": {},
        "response_metadata": {}, "tool_calls": [], "invalid_tool_calls": [], "tool_call_chunks": [],
        "usage_metadata": null,
    })
}

fn message(id: &str, text: &str) -> Value {
    json!({
        "type": "ai", "content": text, "id": id, "name": null, "additional_kwargs": {}, "response_metadata": {},
        "tool_calls": [], "invalid_tool_calls": [], "usage_metadata": null,
    })
}
