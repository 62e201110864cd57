//! A turn that a client of OpenAI's API asks for.

use futures_util::StreamExt as _;
use ibid_core::event::{DraftAnswer, DraftChange};
use ibid_core::{Message, Role, RunId, ThreadId, TurnEvent, TurnOptions};
use ibid_engine::{Lifetime, Run, RunStatus, ThreadMessage, Turn, TurnEvents, turn_events};
use serde_json::{Map, Value};

use crate::http::{Caller, Problem};
use crate::state::ServerState;

/// What is asked.
pub(super) struct Asked {
    /// Which assistant.
    pub(super) assistant: String,
    /// What was said before.
    pub(super) history: Vec<Message>,
    /// What is said now.
    pub(super) message: Message,
    /// How to answer.
    pub(super) options: TurnOptions,
    /// What the caller notes of it.
    pub(super) metadata: Map<String, Value>,
}

impl Asked {
    /// From the messages of a conversation: the last one is what is asked. What tells a model who it is, is left out: an
    /// assistant has its own instructions.
    pub(super) fn of(
        assistant: &str,
        mut said: Vec<Message>,
        body: &Map<String, Value>,
    ) -> Result<Self, Problem> {
        said.retain(|message| message.role != Role::System);
        let message = said.pop().filter(|message| message.role == Role::User);
        let message = message.ok_or_else(|| Problem::invalid("the last message must be the user's"))?;
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        let options = TurnOptions::narrowing_in(body).with(text("mode"), text("format"));
        let metadata = body.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        Ok(Self { assistant: assistant.to_owned(), history: said, message, options, metadata })
    }

    /// The assistant that is asked for, as a model.
    pub(super) fn model(body: &Map<String, Value>) -> Result<&str, Problem> {
        let model = body.get("model").and_then(Value::as_str);
        model.ok_or_else(|| Problem::invalid("`model` is missing: the name of an assistant"))
    }

    /// What an assistant has of its own cannot be given: tools, and the form of its answers. It is refused, and not
    /// forgotten.
    pub(super) fn refuse(body: &Map<String, Value>, form: Option<&Value>) -> Result<(), Problem> {
        if body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty()) {
            return Err(Problem::invalid("an assistant has its own tools; `tools` cannot be given"));
        }
        if form.and_then(|form| form["type"].as_str()).is_some_and(|form| form != "text") {
            let detail = "an assistant has its own formats: send `format`, such as \"structured\"";
            return Err(Problem::invalid(detail));
        }
        Ok(())
    }

    /// Begins the turn in a thread, or in a new one.
    pub(super) async fn begin(
        self,
        app: &ServerState,
        caller: &Caller,
        thread: Option<ThreadId>,
        lifetime: Lifetime,
    ) -> Result<Answer, Problem> {
        app.can_answer(&self.assistant, &self.options).await?;
        let id = thread.unwrap_or_else(ThreadId::new);
        if thread.is_none() {
            app.engine().create_thread(&caller.scope, id, Map::new(), lifetime).await?;
        }
        if !self.history.is_empty() {
            app.engine().add_messages(&caller.scope, id, crate::messages::joining(self.history)).await?;
        }
        let mut turn = Turn::new(id, self.assistant, self.message);
        (turn.options, turn.metadata, turn.trace) = (self.options, self.metadata, caller.trace);
        let run = app.engine().submit(&caller.scope, turn).await?.run;
        Ok(Answer::new(app, caller, id, run))
    }
}

/// Something that happens on the way to an answer.
pub(super) enum AnswerPiece {
    /// A piece of its text.
    Text(String),
    /// It is complete, or as complete as it will be.
    End(Box<Ended>),
}

/// How an answer ended.
pub(super) struct Ended {
    pub(super) status: RunStatus,
    pub(super) error: Option<String>,
    /// The message, if there is one.
    pub(super) said: Option<ThreadMessage>,
}

/// An answer that comes.
pub(super) struct Answer {
    app: ServerState,
    caller: Caller,
    pub(super) thread: ThreadId,
    pub(super) run: RunId,
    events: Option<TurnEvents>,
    draft: DraftAnswer,
    heard: String,
    /// What is still to be told.
    rest: Option<Box<Ended>>,
    over: bool,
}

impl Answer {
    /// The answer of a run.
    pub(super) fn new(app: &ServerState, caller: &Caller, thread: ThreadId, run: RunId) -> Self {
        let (app, caller) = (app.clone(), caller.clone());
        let (events, draft, heard) = (None, DraftAnswer::default(), String::new());
        Self { app, caller, thread, run, events, draft, heard, rest: None, over: false }
    }

    /// What happens next; nothing after the end.
    pub(super) async fn next(&mut self) -> Result<Option<AnswerPiece>, Problem> {
        if let Some(ended) = self.rest.take() {
            self.over = true;
            return Ok(Some(AnswerPiece::End(ended)));
        }
        if self.over {
            return Ok(None);
        }
        let events = match &mut self.events {
            Some(events) => events,
            None => {
                let events = turn_events(self.app.engine(), &self.caller.scope, self.run, 0).await?;
                self.events.insert(events)
            }
        };
        while let Some(event) = events.next().await {
            let event = event?;
            match self.draft.apply(event.step, event.attempt, &event.event) {
                // What was heard cannot be taken back here; what is written anew stands under it.
                DraftChange::Began(text) if !self.heard.is_empty() => {
                    let text = format!("\n\n{text}");
                    self.heard.push_str(&text);
                    return Ok(Some(AnswerPiece::Text(text)));
                }
                DraftChange::Began(text) | DraftChange::Continued(text) => {
                    self.heard.push_str(text);
                    return Ok(Some(AnswerPiece::Text(text.to_owned())));
                }
                DraftChange::Withdrawn | DraftChange::Unchanged => {}
            }
            match event.event {
                TurnEvent::Interrupted { value } => {
                    let ended =
                        Ended { status: RunStatus::Waiting, error: Some(value.to_string()), said: None };
                    self.rest = Some(Box::new(ended));
                    break;
                }
                TurnEvent::Ended { .. } => break,
                _ => {}
            }
        }
        self.finish().await
    }

    /// What was said in the end and not on the way, and then the end.
    async fn finish(&mut self) -> Result<Option<AnswerPiece>, Problem> {
        if self.rest.is_none() {
            let run = self.app.engine().run(&self.caller.scope, self.run).await?;
            self.rest = Some(Box::new(Self::settled(&self.app, &self.caller, &run).await?));
        }
        let said = self.rest.as_ref().and_then(|ended| ended.said.as_ref());
        let text = said.map(|said| said.message.text.as_str()).unwrap_or_default();
        let spoken = self.heard.rsplit("\n\n").next().unwrap_or_default().trim_end();
        let rest = match text.strip_prefix(self.heard.trim_end()).or_else(|| text.strip_prefix(spoken)) {
            Some(rest) => rest.to_owned(),
            None => format!("\n\n{text}"),
        };
        if rest.trim().is_empty() {
            let ended = self.rest.take();
            self.over = true;
            return Ok(ended.map(AnswerPiece::End));
        }
        self.heard.push_str(&rest);
        Ok(Some(AnswerPiece::Text(rest)))
    }

    /// How a run ended or where it rests, if it does, from what is kept for good.
    pub(super) async fn settled(app: &ServerState, caller: &Caller, run: &Run) -> Result<Ended, Problem> {
        let said = crate::messages::answer_of(app.engine(), &caller.scope, run).await?;
        let error = run.error.clone().or(run.interrupt.as_ref().map(ToString::to_string));
        Ok(Ended { status: run.status, error, said })
    }

    /// The end, without the way.
    pub(super) async fn ended(mut self) -> Result<Ended, Problem> {
        loop {
            match self.next().await? {
                Some(AnswerPiece::Text(_)) => {}
                Some(AnswerPiece::End(ended)) => return Ok(*ended),
                None => return Err(Problem::gone("the answer has been told already")),
            }
        }
    }

    /// Forgets the thread of a conversation that the client keeps itself.
    pub(super) async fn forget(app: &ServerState, caller: &Caller, thread: ThreadId) {
        if let Err(error) = app.engine().delete_thread(&caller.scope, thread).await {
            tracing::warn!(%error, "a thread for one answer could not be deleted");
        }
    }
}
