//! What the nodes of one assistant work with: its definition, its prompts, and the ports to the world.

use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use futures_util::StreamExt;
use ibid_core::Scope;
use ibid_core::cache::AnswerCache;
use ibid_core::catalogue::Catalogues;
use ibid_core::event::{ModelUsage, TurnEvent};
use ibid_core::evidence::{DocumentId, DocumentName, Evidence, EvidenceError, Index, Passage, Question};
use ibid_core::model::{
    AnswerSchema, CallProgress, Caller, ChatModel, ChatPart, ChatRequest, ChatStream, Finish, Grounding,
    ModelError, ProgressListener, Prompt,
};
use ibid_core::tool::Tool;
use ibid_core::web::{WebRules, WebSearch};
use ibid_core::{Message, Role, trace};
use ibid_graph::{Context, NodeError, Retryable, Terminal};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tracing::Instrument;

use crate::definition::Definition;
use crate::format::AnswerFormat;
use crate::prompts::Prompts;
use crate::turn::{TurnCost, TurnState};

/// One message of the history takes at most this part of its room.
const LONG_MESSAGES: usize = 3;

/// The ports that an assistant needs.
#[derive(Clone)]
pub struct Ports {
    /// The model that answers.
    pub answer: Arc<dyn ChatModel>,
    /// The model that condenses, routes, rewrites and plans.
    pub small: Arc<dyn ChatModel>,
    /// The documents.
    pub index: Arc<dyn Index>,
    /// The tools that the assistant may use.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The web.
    pub web: WebAccess,
    /// The answers that may be given again, if the assistant gives any.
    pub cache: Option<Arc<dyn AnswerCache>>,
    /// The catalogues.
    pub catalogues: Option<Arc<dyn Catalogues>>,
    /// The model that says whether a source supports a sentence, if there is one besides the small one.
    pub grounding: Option<Arc<dyn Grounding>>,
}

/// The way to a search of the web.
#[derive(Clone, Default)]
pub enum WebAccess {
    /// None is set up.
    #[default]
    Off,
    /// One is set up, and something is missing.
    Missing(String),
    /// One can be asked.
    On {
        /// The search.
        search: Arc<dyn WebSearch>,
        /// Which questions may be sent to it.
        rules: WebRules,
    },
}

impl Ports {
    /// Ports that lead nowhere, to draw a graph with.
    pub fn absent() -> Self {
        let absent = Arc::new(Absent);
        Self {
            answer: absent.clone(),
            small: absent.clone(),
            index: absent,
            tools: Vec::new(),
            web: WebAccess::Off,
            cache: None,
            catalogues: None,
            grounding: None,
        }
    }
}

/// What the nodes of one assistant work with.
pub(crate) struct NodeContext {
    /// Its name.
    pub(crate) name: String,
    /// What tells its versions apart, for the cache of answers.
    pub(crate) version: String,
    /// Its definition.
    pub(crate) definition: Definition,
    /// Its prompts.
    pub(crate) prompts: Prompts,
    /// Its formats.
    pub(crate) formats: Vec<AnswerFormat>,
    /// Its ports.
    pub(crate) ports: Ports,
}

/// What came of asking a model.
#[derive(Default)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<ibid_core::model::ToolCall>,
    pub(crate) spent: TurnCost,
    /// Whether it was stopped before its end.
    pub(crate) partial: bool,
    /// Whether the model reached its limit of tokens.
    pub(crate) cut_off: bool,
}

impl NodeContext {
    /// The tool of a name.
    pub(crate) fn tool(&self, name: &str) -> Option<&dyn Tool> {
        self.ports.tools.iter().map(AsRef::as_ref).find(|tool| tool.spec().name == name)
    }

    /// A prompt of this assistant in the language of a turn.
    pub(crate) fn prompt(&self, name: &str, turn: &TurnState, variables: Value) -> Result<String, NodeError> {
        let rendered = self.prompts.render(name, turn.request.spoken.language, variables);
        Ok(rendered.map_err(|error| Terminal::new(error.to_string()))?)
    }

    /// The format that a turn asks for.
    pub(crate) fn format(&self, turn: &TurnState) -> Result<&AnswerFormat, NodeError> {
        let name = &turn.request.format;
        let found = self.formats.iter().find(|format| format.name() == name);
        Ok(found.ok_or_else(|| Terminal::new(format!("there is no format `{name}` any more")))?)
    }

    /// Who the assistant is.
    pub(crate) fn persona(&self, turn: &TurnState) -> Result<String, NodeError> {
        self.prompt("persona", turn, json!({}))
    }

    /// The conversation before the turn as a model is shown it, the newest that fit into the window. A long message is
    /// shortened, so that what was said before it stays.
    pub(crate) fn history(&self, model: &dyn ChatModel, turn: &TurnState) -> Vec<Prompt> {
        let mut room = self.definition.limits.history_tokens;
        let longest = room / LONG_MESSAGES;
        let mut shown: Vec<Message> = Vec::new();
        for message in turn.request.history.iter().rev() {
            let mut message = message.clone();
            let mut tokens = model.count_tokens(&message.text);
            if tokens > longest {
                message.text = shortened(&message.text, longest, tokens);
                tokens = model.count_tokens(&message.text);
            }
            if tokens > room {
                break;
            }
            room -= tokens;
            shown.push(message);
        }
        // A window that begins with an answer would begin in the middle.
        while shown.last().is_some_and(|message| message.role != Role::User) {
            shown.pop();
        }
        shown.iter().rev().map(Prompt::from).collect()
    }

    /// The same as lines of text, for models that are to work on it and not to take part.
    pub(crate) fn transcript(&self, model: &dyn ChatModel, turn: &TurnState) -> String {
        let lines = self.history(model, turn).into_iter().map(|prompt| match prompt {
            Prompt::User(text) => format!("Person: {text}"),
            other => format!("Assistant: {}", other.text()),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// A request on behalf of whoever the turn is of.
    pub(crate) fn request(&self, turn: &TurnState, prompts: Vec<Prompt>) -> ChatRequest {
        let mut request = ChatRequest::new(Caller::chat(turn.request.scope.tenant().clone()), prompts);
        request.temperature = Some(0.0);
        request
    }

    /// Asks a model, hands its words on as they come, and stops when the turn is stopped.
    pub(crate) async fn ask(
        &self,
        context: &Context,
        model: &dyn ChatModel,
        mut request: ChatRequest,
        mut heard: impl FnMut(&str),
    ) -> Result<Reply, ModelError> {
        let own = context.clone();
        request.progress = Some(ProgressListener::new(move |progress| match progress {
            CallProgress::Reading(reading) => emit(&own, &TurnEvent::ModelReading(reading)),
            CallProgress::Retrying { reason } => own.status(format!("asking the model again: {reason}")),
        }));
        let began = Instant::now();
        let mut reply = Reply::default();
        reply.spent.calls = 1;
        let cancel = context.cancel();
        let span = trace::chat_span(model.name());
        trace::with_input(&span, || shown_prompts(&request.prompts));
        let called = cancel.run_until_cancelled(model.chat(request).instrument(span.clone())).await;
        let Some(parts) = called else {
            reply.partial = true;
            return Ok(reply);
        };
        let mut parts = parts.inspect_err(|error| trace::failed(&span, error))?;
        let mut cancelled = pin!(cancel.cancelled());
        loop {
            let part = tokio::select! {
                biased;
                () = &mut cancelled => None,
                part = parts.next() => Some(part),
            };
            match part {
                None => {
                    reply.partial = true;
                    break;
                }
                Some(None) => {
                    let (provider, reason) = (model.name().to_owned(), "the reply has no end".to_owned());
                    return Err(ModelError::Broken { provider, reason });
                }
                Some(Some(part)) => match part.inspect_err(|error| trace::failed(&span, error))? {
                    ChatPart::Text(piece) => {
                        reply.text.push_str(&piece);
                        heard(&reply.text);
                    }
                    ChatPart::Reasoning(_) => {}
                    ChatPart::Call(call) => reply.calls.push(call),
                    ChatPart::Again { reason } => {
                        context.status(format!("writing again: {reason}"));
                        reply.text.clear();
                        reply.calls.clear();
                        heard("");
                    }
                    ChatPart::End { finish, usage, model } => {
                        reply.cut_off = finish == Finish::Length;
                        reply.spent.usage = usage;
                        trace::chat_used(&span, &model, usage);
                        emit(context, &TurnEvent::ModelUsage(ModelUsage { model, usage }));
                        break;
                    }
                },
            }
        }
        trace::with_output(&span, || reply.text.clone());
        reply.spent.milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(reply)
    }
}

impl NodeContext {
    /// Asks a model for something of a type; none if what it says cannot be read so, or if it has no room for the question.
    pub(crate) async fn ask_for<T: JsonSchema + DeserializeOwned>(
        &self,
        context: &Context,
        model: &dyn ChatModel,
        mut request: ChatRequest,
    ) -> Result<(Option<T>, TurnCost), NodeError> {
        request.schema = Some(AnswerSchema::of::<T>());
        match self.ask(context, model, request, |_| {}).await {
            Ok(reply) => Ok((serde_json::from_str(&reply.text).ok(), reply.spent)),
            Err(ModelError::Form { .. }) => Ok((None, TurnCost { calls: 1, ..TurnCost::default() })),
            Err(ModelError::TooLong { .. }) => Ok((None, TurnCost::default())),
            Err(error) => Err(failed(error)),
        }
    }
}

/// What a model is shown, for whoever reads traces.
fn shown_prompts(prompts: &[Prompt]) -> String {
    let shown = prompts.iter().map(|prompt| {
        let speaker = match prompt {
            Prompt::System(_) => "system",
            Prompt::User(_) => "user",
            Prompt::Assistant { .. } => "assistant",
            Prompt::Tool { .. } => "tool",
        };
        format!("{speaker}: {}", prompt.text())
    });
    shown.collect::<Vec<_>>().join("\n\n")
}

/// The beginning and the end of a text that has so many tokens, with about as many as are left to it.
fn shortened(text: &str, most: usize, tokens: usize) -> String {
    let letters = text.chars().count();
    // A little less than the share of its length, since not all letters weigh the same.
    let kept = letters * most / tokens.max(1) * 9 / 10;
    let (begin, end) = (kept * 2 / 3, kept / 3);
    let beginning: String = text.chars().take(begin).collect();
    let ending: String = text.chars().skip(letters - end.min(letters)).collect();
    format!("{} \u{2026} {}", beginning.trim_end(), ending.trim_start())
}

/// Emits an event of a turn.
pub(crate) fn emit(context: &Context, event: &TurnEvent) {
    if let Some((name, value)) = event.to_custom() {
        context.custom(name, value);
    }
}

/// A model's failure as a node's.
pub(crate) fn failed(error: ModelError) -> NodeError {
    let text = error.to_string();
    if error.may_pass() {
        let retryable = Retryable::new(text);
        return match error.retry_after() {
            Some(delay) => retryable.after(delay).into(),
            None => retryable.into(),
        };
    }
    Terminal::new(text).into()
}

/// A failure of the documents as a node's.
pub(crate) fn not_searched(error: EvidenceError) -> NodeError {
    if error.may_pass {
        Retryable::new(error.to_string()).into()
    } else {
        Terminal::new(error.to_string()).into()
    }
}

/// What stands in for ports where there are none.
struct Absent;

impl Absent {
    const REASON: &str = "nothing is set up here";
}

#[async_trait]
impl ChatModel for Absent {
    fn name(&self) -> &str {
        "none"
    }

    fn context_tokens(&self) -> usize {
        0
    }

    fn count_tokens(&self, text: &str) -> usize {
        text.len()
    }

    async fn chat(&self, _request: ChatRequest) -> Result<ChatStream, ModelError> {
        Err(ModelError::Broken { provider: self.name().to_owned(), reason: Self::REASON.to_owned() })
    }
}

#[async_trait]
impl Index for Absent {
    async fn retrieve(&self, _: &Scope, _: &Question) -> Result<Evidence, EvidenceError> {
        Err(EvidenceError { message: Self::REASON.to_owned(), may_pass: false })
    }

    async fn page(&self, _: &Scope, _: &DocumentId, _: u32) -> Result<Vec<Passage>, EvidenceError> {
        Ok(Vec::new())
    }

    async fn relevance(&self, _: &Scope, _: &str) -> Result<Option<f32>, EvidenceError> {
        Ok(None)
    }

    async fn documents(&self, _: &Scope, _: usize) -> Result<Vec<DocumentName>, EvidenceError> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let text = format!("first {}last", "word ".repeat(1000));
        let short = shortened(&text, 100, 1002);
        assert!(short.starts_with("first word") && short.ends_with("word last"), "{short}");
        assert!(short.split_whitespace().count() <= 100, "{short}");
    }
}
