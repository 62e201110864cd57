//! Writes the answer from the sources, and writes it again when the guard has found something.

use std::borrow::Cow;
use std::sync::Arc;

use ibid_core::event::TurnEvent;
use ibid_core::model::{ChatModel, ChatRequest, ModelError, Prompt};
use ibid_graph::{Context, NodeError};
use serde_json::json;

use crate::definition::Knowledge;
use crate::format::{Draft, TEXT, answer_so_far, without_signal_so_far};
use crate::guard::Policy;
use crate::language::filled;
use crate::node_context::{NodeContext, Reply, emit, failed};
use crate::packing::pack;
use crate::source::{Source, harmless};
use crate::turn::{TurnCost, TurnState, TurnUpdate};

/// Sources take at least so many tokens, however slow a model reads.
const LEAST_OF_SOURCES: usize = 400;
/// What is shown of them where a model turns out to have less room is cut down to this, and not further.
const LEAST_ROOM: usize = 40;

/// Tokens that the parts of a prompt take besides their words.
const AROUND: usize = 96;

/// Writes the answer.
pub(crate) async fn generate(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    if turn.is_chat() {
        return chat(&node_context, &turn, &context).await;
    }
    if turn.sources.is_empty() {
        return match node_context.definition.knowledge {
            Knowledge::Documents => not_known(&node_context, &turn, &context),
            Knowledge::DocumentsFirst | Knowledge::Open => chat(&node_context, &turn, &context).await,
        };
    }
    context.status("writing the answer");
    write(&node_context, &turn, &context, "").await
}

/// Writes the answer again, told what was wrong with it.
pub(crate) async fn repair(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    context.status("writing the answer again, because the sources do not support all of it");
    let findings: Vec<&str> = turn.findings.iter().map(|finding| finding.text.as_str()).collect();
    let told = node_context.prompt("repair", &turn, json!({ "findings": findings }))?;
    let before = turn.draft.as_ref().map(|draft| draft.raw.as_str()).unwrap_or_default();
    // In one message with the sources, so that these cannot be left out as what was said before.
    write(&node_context, &turn, &context, &format!("\n\n<answer>\n{}\n</answer>\n\n{told}", harmless(before)))
        .await
}

async fn write(
    node_context: &NodeContext,
    turn: &TurnState,
    context: &Context,
    then: &str,
) -> Result<TurnUpdate, NodeError> {
    let (model, format) = (node_context.ports.answer.as_ref(), &turn.request.format);
    let mut room = node_context.room_for_sources(model, turn, then)?;
    loop {
        let evidence = Shown::within(model, &turn.sources, &turn.question, room);
        let request = node_context.answer_request(turn, &evidence, then)?;
        match listen(node_context, turn, context, model, request, format).await {
            Err(ModelError::TooLong { .. }) if room > LEAST_ROOM => room = room.min(evidence.tokens) * 3 / 4,
            Err(error) => return Err(failed(error)),
            Ok(reply) => {
                let left = turn.sources.len() - evidence.sources.len();
                if left > 0 {
                    context.status(format!("the model had no room for {left} of the sources"));
                }
                let (partial, cut_off) = (reply.partial, reply.cut_off);
                let draft = Draft { format: format.clone(), raw: reply.text, partial, cut_off };
                return Ok(TurnUpdate::Drafted { draft, spent: reply.spent });
            }
        }
    }
}

/// What a model is shown of what was found.
#[derive(Default)]
pub(super) struct Shown {
    /// The sources.
    pub(super) sources: Vec<String>,
    /// How many tokens they take.
    tokens: usize,
}

impl Shown {
    /// As much as a model has room for.
    pub(super) fn within(model: &dyn ChatModel, sources: &[Source], question: &str, room: usize) -> Self {
        let count = |text: &str| model.count_tokens(text) + 1;
        let sources = pack(sources, question, room, &count);
        let tokens = sources.iter().map(|shown| count(shown)).sum();
        Self { sources, tokens }
    }
}

/// Asks, and tells the words of the answer as they come, unless they may be withheld.
async fn listen(
    node_context: &NodeContext,
    turn: &TurnState,
    context: &Context,
    model: &dyn ChatModel,
    request: ChatRequest,
    format: &str,
) -> Result<Reply, ModelError> {
    let mut told = 0;
    let aloud = node_context.definition.guard != Policy::Block;
    let hear = |so_far: &str| {
        if !aloud {
            return;
        }
        if so_far.is_empty() {
            told = 0;
            emit(context, &TurnEvent::DraftWithdrawn { reason: String::new() });
            return;
        }
        let answer = match format {
            TEXT => Cow::Borrowed(so_far),
            _ => Cow::Owned(answer_so_far(so_far)),
        };
        let answer = without_signal_so_far(&answer);
        let answer = turn.say(answer);
        if let Some(new) = answer.get(told..).filter(|new| !new.is_empty()) {
            context.token(new);
            told = answer.len();
        }
    };
    node_context.ask(context, model, request, hear).await
}

impl NodeContext {
    /// How many tokens of sources the model has room for in its window, and reads within the patience of a person.
    fn room_for_sources(
        &self,
        model: &dyn ChatModel,
        turn: &TurnState,
        then: &str,
    ) -> Result<usize, NodeError> {
        let limits = &self.definition.limits;
        let without = self.answer_request(turn, &Shown::default(), then)?;
        let answer = limits.answer_tokens.unwrap_or((model.context_tokens() / 4).min(2048));
        let history = self.history(model, turn).len();
        let prompts = without.prompts.iter().enumerate();
        // The conversation gives way to the sources.
        let needed: usize = prompts
            .filter(|(at, _)| !(1..=history).contains(at))
            .map(|(_, prompt)| model.count_tokens(prompt.text()) + 8)
            .sum();
        Ok(self.room_beside(model, needed, answer))
    }

    /// How many tokens of sources a model has room for, beside so many others and an answer of so many.
    pub(super) fn room_beside(&self, model: &dyn ChatModel, needed: usize, answer: usize) -> usize {
        let room = model.context_tokens().saturating_sub(needed + answer + AROUND);
        let in_time = model.reading_speed().tokens_within(self.definition.limits.patience());
        let in_time = in_time.map(|tokens| tokens.saturating_sub(needed).max(LEAST_OF_SOURCES));
        room.min(in_time.unwrap_or(usize::MAX))
    }

    fn answer_request(&self, turn: &TurnState, shown: &Shown, then: &str) -> Result<ChatRequest, NodeError> {
        let (format, persona) = (self.format(turn)?, self.persona(turn)?);
        let system = self.prompt(
            "generate",
            turn,
            json!({
                "persona": persona,
                "format": format.name(),
                "knowledge": self.definition.knowledge.name(),
                "language": turn.request.spoken.name(),
                "unknown": turn.texts().unknown_phrase,
            }),
        )?;
        let variables = json!({ "question": turn.question, "sources": shown.sources.join("\n\n") });
        let evidence = self.prompt("evidence", turn, variables)?;
        let mut prompts = vec![Prompt::System(system)];
        prompts.extend(self.history(self.ports.answer.as_ref(), turn));
        prompts.push(Prompt::User(evidence + then));
        let mut request = self.request(turn, prompts);
        request.schema = format.for_model();
        request.max_output_tokens = self.definition.limits.answer_tokens;
        Ok(request)
    }
}

async fn chat(
    node_context: &NodeContext,
    turn: &TurnState,
    context: &Context,
) -> Result<TurnUpdate, NodeError> {
    context.status("answering");
    let (model, persona) = (node_context.ports.answer.as_ref(), node_context.persona(turn)?);
    let (description, knowledge) = (&node_context.definition.description, node_context.definition.knowledge);
    let (knowledge, language) = (knowledge.name(), turn.request.spoken.name());
    let variables = json!({ "persona": persona, "description": description, "knowledge": knowledge, "language": language });
    let mut prompts = vec![Prompt::System(node_context.prompt("chat", turn, variables)?)];
    prompts.extend(node_context.history(model, turn));
    prompts.push(Prompt::User(turn.request.text.clone()));
    let mut request = node_context.request(turn, prompts);
    request.max_output_tokens = node_context.definition.limits.answer_tokens;
    let reply = listen(node_context, turn, context, model, request, TEXT).await.map_err(failed)?;
    let (partial, cut_off) = (reply.partial, reply.cut_off);
    let draft = Draft { format: TEXT.to_owned(), raw: reply.text, partial, cut_off };
    Ok(TurnUpdate::Drafted { draft, spent: reply.spent })
}

/// Nothing was found: no model can know better.
fn not_known(
    node_context: &NodeContext,
    turn: &TurnState,
    context: &Context,
) -> Result<TurnUpdate, NodeError> {
    context.status("nothing was found");
    let (texts, searched) = (turn.texts(), turn.searched.join("; "));
    let unknown = if turn.failures.is_empty() { &texts.unknown } else { &texts.unknown_after_failures };
    let searched_for = filled(&texts.searched_for, &[("searched", &searched)]);
    let variables = json!({ "unknown": unknown, "searched_for": searched_for, "searched": turn.searched, "failures": turn.failures });
    let raw = node_context.prompt("unknown", turn, variables)?.trim().to_owned();
    context.token(turn.say(&raw));
    let draft = Draft { format: TEXT.to_owned(), raw, partial: false, cut_off: false };
    Ok(TurnUpdate::Drafted { draft, spent: TurnCost::default() })
}
