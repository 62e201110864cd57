//! The engine's events in LangGraph's words. Every event has its frames in a fixed order, whether they are wanted or not,
//! so that a frame has the same place for every client.

use std::collections::HashMap;
use std::sync::Arc;

use ibid_core::{RunId, Scope, ThreadId};
use ibid_engine::{Engine, Event, Said};
use ibid_graph::{Kind, Record};
use serde_json::{Value, json};

use super::{Mode, Modes, Place};
use crate::http::{Frame, Problem};
use crate::threads::{Checkpoint, Point};

/// What a step is known by while the run is told.
struct Step {
    node: Arc<str>,
    attempt: u32,
}

/// Tells a run in LangGraph's words.
pub(super) struct Translation {
    engine: Arc<dyn Engine>,
    scope: Scope,
    thread: ThreadId,
    run: RunId,
    modes: Modes,
    steps: HashMap<u32, Step>,
    records: Vec<Record>,
    /// The conversation up to what was asked.
    asked: Option<Vec<Said>>,
    /// The answer as far as it was told, under the name of its message.
    spoken: Option<(String, String)>,
    /// How many messages were begun: what is said anew is another message.
    messages: u32,
    speaking: (u32, u32),
    /// What stands behind the text of every piece of the message that is told.
    behind: Option<String>,
    last: Option<Checkpoint>,
    out: Out,
}

/// The frames of one event.
#[derive(Default)]
struct Out {
    seq: u64,
    slot: u16,
    modes: Option<Modes>,
    frames: Vec<(Place, Frame)>,
}

impl Out {
    /// Tells a frame of a mode, if that is wanted; its place is taken in any case.
    fn tell(&mut self, mode: Mode, name: &str, data: impl FnOnce() -> Value) {
        self.slot += 1;
        if self.modes.as_ref().is_some_and(|modes| modes.wants(mode)) {
            let place = Place { seq: self.seq, slot: self.slot };
            self.frames.push((place, place.frame(name, data())));
        }
    }

    /// The same with what is written already.
    fn tell_written(&mut self, mode: Mode, name: &str, data: impl FnOnce() -> String) {
        self.slot += 1;
        if self.modes.as_ref().is_some_and(|modes| modes.wants(mode)) {
            let place = Place { seq: self.seq, slot: self.slot };
            self.frames.push((place, place.written(name, data())));
        }
    }

    fn always(&mut self, name: &str, data: Value) {
        self.slot += 1;
        let place = Place { seq: self.seq, slot: self.slot };
        self.frames.push((place, place.frame(name, data)));
    }
}

impl Translation {
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
            out: Out { modes: Some(modes.clone()), ..Out::default() },
            modes,
            steps: HashMap::new(),
            records: Vec::new(),
            asked: None,
            spoken: None,
            messages: 0,
            speaking: (0, 0),
            behind: None,
            last: None,
        }
    }

    /// The frames of an event.
    pub(super) async fn tell(&mut self, event: Event) -> Result<Vec<(Place, Frame)>, Problem> {
        (self.out.seq, self.out.slot) = (event.seq, 0);
        if self.asked.is_none() && self.whole_state() {
            self.asked = Some(self.conversation().await?);
        }
        if event.seq == 1 {
            self.point(Point::Step(0));
            self.values(None);
        }
        let (step, attempt) = (event.what.step, event.what.attempt);
        match event.what.kind {
            Kind::Started { node } => self.started(step, attempt, node),
            Kind::Token { text } => self.token(step, attempt, &text),
            Kind::Status { text } => self.custom(step, "status", json!({ "text": text })),
            Kind::Data { name, value } => self.data(step, &name, value),
            Kind::Retrying { error, after_ms } => {
                self.custom(step, "retrying", json!({ "error": error, "after_ms": after_ms }));
            }
            Kind::Finished { .. } => self.finished(step).await?,
            Kind::Asked { question } => self.asked(&question),
            Kind::Answered => self.custom(step, "answered", json!({})),
            Kind::Resumed => self.custom(step, "resumed", json!({})),
            Kind::Restarted { reason } => {
                self.records.clear();
                self.custom(step, "restarted", json!({ "reason": reason }));
            }
            Kind::Ended { status, error } => self.ended(&status, error).await?,
            _ => {}
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

    fn token(&mut self, step: u32, attempt: u32, text: &str) {
        if self.speaking != (step, attempt) {
            // A later step or attempt says it anew, which must not be added to what was said before.
            self.speaking = (step, attempt);
            self.spoken = None;
        }
        let run = self.run;
        let anew = self.spoken.is_none();
        if anew {
            self.messages += 1;
            self.behind = None;
        }
        let count = self.messages;
        let spoken = self.spoken.get_or_insert_with(|| {
            let id = if count == 1 { run.to_string() } else { format!("{run}.{count}") };
            (id, String::new())
        });
        spoken.1.push_str(text);
        let modes = [Mode::MessagesTuple, Mode::Messages, Mode::Events];
        if !modes.into_iter().any(|mode| self.modes.wants(mode)) {
            return;
        }
        let id = spoken.0.clone();
        if self.behind.is_none() {
            self.behind = Some(format!("{}, {}]", rest_of_piece(&id), self.about(step)));
        }
        let behind = self.behind.as_deref().unwrap_or_default();
        // There are many of these, and all but the text is the same.
        let written = || format!(r#"[{{"type":"AIMessageChunk","content":{},{behind}"#, Value::from(text));
        self.out.tell_written(Mode::MessagesTuple, "messages", written);
        if anew {
            let about = self.about(step);
            let about = || json!({ (id.clone()): { "metadata": about } });
            self.out.tell(Mode::Messages, "messages/metadata", about);
        }
        let whole = self.spoken.as_ref().map(|(_, whole)| whole.as_str()).unwrap_or_default();
        self.out.tell(Mode::Messages, "messages/partial", || json!([message(&id, whole)]));
        if self.modes.wants(Mode::Events) {
            let node = self.node(step);
            self.event("on_chat_model_stream", &node, step, json!({ "chunk": piece(&id, text) }));
        }
    }

    fn data(&mut self, step: u32, name: &str, value: Value) {
        if name == "again" {
            self.spoken = None;
        }
        let tool = |event: &'static str| (event, value["name"].as_str().unwrap_or_default().to_owned());
        let called = match name {
            "tool_call" => Some((tool("on_tool_start"), json!({ "input": value["arguments"] }))),
            "tool_result" => Some((tool("on_tool_end"), json!({ "output": value }))),
            _ => None,
        };
        if let Some(((event, tool), data)) = called {
            self.event(event, &tool.into(), step, data);
        }
        self.custom(step, name, json!({ "value": value }));
    }

    async fn finished(&mut self, step: u32) -> Result<(), Problem> {
        let wanted = [Mode::Updates, Mode::Tasks, Mode::Debug, Mode::Events];
        if wanted.into_iter().any(|mode| self.modes.wants(mode)) && self.records.len() < step as usize {
            self.records = self.engine.steps(&self.scope, self.run).await?;
        }
        let record = self.records.get((step as usize).saturating_sub(1));
        let node = record.map_or_else(|| self.node(step), |record| record.node.clone());
        let change =
            record.and_then(|record| serde_json::from_str(&record.change).ok()).unwrap_or(Value::Null);
        let task =
            json!({ "id": self.task(step), "name": node, "error": null, "result": change, "interrupts": [] });
        self.out.tell(Mode::Tasks, "tasks", || task.clone());
        self.debug(step, "task_result", &task);
        self.event("on_chain_end", &node, step, json!({ "output": change }));
        self.out.tell(Mode::Updates, "updates", || json!({ (node.to_string()): change }));
        self.values(None);
        self.point(Point::Step(step));
        Ok(())
    }

    fn asked(&mut self, question: &Value) {
        let asked = json!([{ "id": self.run.to_string(), "value": question }]);
        self.out.tell(Mode::Updates, "updates", || json!({ "__interrupt__": asked }));
        self.values(Some(&asked));
    }

    async fn ended(&mut self, status: &str, error: Option<String>) -> Result<(), Problem> {
        if let Some(error) = error {
            self.out.always("error", json!({ "error": "RunFailed", "message": error }));
            return Ok(());
        }
        if status == ibid_engine::RunStatus::RolledBack.as_str() {
            return Ok(());
        }
        let wanted = [Mode::Updates, Mode::Messages, Mode::MessagesTuple];
        if self.whole_state() || wanted.into_iter().any(|mode| self.modes.wants(mode)) {
            let own = self.answer().await?;
            let mut said: Vec<Value> = own.iter().map(|said| json!(crate::messages::told(said))).collect();
            self.out.tell(Mode::Updates, "updates", || json!({ "__end__": { "messages": said } }));
            // What nobody heard piece by piece is told whole. Clients add up what has one name, so that an answer which
            // became another when it was checked has another.
            let text = own.as_ref().map_or("", |own| own.message.text.as_str());
            let heard = self.spoken.as_ref().is_some_and(|(_, spoken)| spoken.trim_end() == text.trim_end());
            if let (false, Some(whole)) = (heard, said.first_mut()) {
                if self.messages > 0 {
                    whole["id"] = format!("{}.{}", self.run, self.messages + 1).into();
                }
                let about = self.about(self.speaking.0);
                self.out.tell(Mode::MessagesTuple, "messages", || json!([whole, about]));
                self.out.tell(Mode::Messages, "messages/complete", || json!([whole]));
            }
            if let Some(asked) = &mut self.asked {
                asked.extend(own);
            }
        }
        self.values(None);
        self.point(Point::End);
        Ok(())
    }

    /// The conversation with what was asked, and without what was answered.
    async fn conversation(&self) -> Result<Vec<Said>, Problem> {
        let run = self.engine.run(&self.scope, self.run).await?;
        // A turn that was stopped before it began has added nothing.
        let end = if run.input.is_empty() { u64::MAX } else { run.input.end };
        crate::messages::before(&self.engine, &self.scope, self.thread, end).await
    }

    /// What this run answered.
    async fn answer(&self) -> Result<Option<Said>, Problem> {
        let run = self.engine.run(&self.scope, self.run).await?;
        crate::messages::answer_of(&self.engine, &self.scope, &run).await
    }

    fn whole_state(&self) -> bool {
        [Mode::Values, Mode::Checkpoints, Mode::Debug].into_iter().any(|mode| self.modes.wants(mode))
    }

    fn state(&self) -> Value {
        let said = self.asked.iter().flatten().map(crate::messages::told);
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
    fn point(&mut self, point: Point) {
        let here = Checkpoint { run: self.run, point };
        let before = self.last.replace(here);
        let wanted = self.modes.wants(Mode::Checkpoints) || self.modes.wants(Mode::Debug);
        let told = if wanted {
            let source = if point == Point::Step(0) { "input" } else { "loop" };
            json!({
                "config": { "configurable": here.told(self.thread) },
                "parent_config": before.map(|before| json!({ "configurable": before.told(self.thread) })),
                "values": self.state(),
                "metadata": { "source": source, "parents": {} },
                "next": [],
                "tasks": [],
                "checkpoint": here.told(self.thread),
                "parent_checkpoint": before.map(|before| before.told(self.thread)),
            })
        } else {
            Value::Null
        };
        self.out.tell(Mode::Checkpoints, "checkpoints", || told.clone());
        let step = match point {
            Point::Step(step) => step,
            Point::End => u32::try_from(self.steps.len()).unwrap_or(u32::MAX),
        };
        self.debug(step, "checkpoint", &told);
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
