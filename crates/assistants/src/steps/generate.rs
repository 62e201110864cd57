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
use crate::source::{Source, harmless};
use crate::turn::{TurnCost, TurnState, TurnUpdate};

/// Of a source that does not fit, at least so many bytes are shown.
const LEAST_OF_A_SOURCE: usize = 300;

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
    let mut beginnings = true;
    let (mut shown, mut most) = (node_context.fitting(model, turn, then)?, usize::MAX);
    loop {
        let request = node_context.answer_request(turn, &turn.sources[..shown], most, beginnings, then)?;
        match listen(node_context, context, model, request, format).await {
            // How documents begin can be left out first.
            Err(ModelError::TooLong { .. }) if beginnings && !turn.introductions.is_empty() => {
                beginnings = false;
            }
            // One source less, as long as there is one left; and then less of that one.
            Err(ModelError::TooLong { .. }) if shown > 1 => shown -= 1,
            Err(ModelError::TooLong { .. }) if most > LEAST_OF_A_SOURCE => {
                most = most.min(turn.sources[0].text().len()) * 3 / 4;
            }
            Err(error) => return Err(failed(error)),
            Ok(reply) => {
                if shown < turn.sources.len() {
                    let left = turn.sources.len() - shown;
                    context.status(format!("the model had no room for {left} of the sources"));
                }
                let (partial, cut_off) = (reply.partial, reply.cut_off);
                let draft = Draft { format: format.clone(), raw: reply.text, partial, cut_off };
                return Ok(TurnUpdate::Drafted { draft, spent: reply.spent });
            }
        }
    }
}

/// Asks, and tells the words of the answer as they come, unless they may be withheld.
async fn listen(
    node_context: &NodeContext,
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
        if let Some(new) = answer.get(told..).filter(|new| !new.is_empty()) {
            context.token(new);
            told = answer.len();
        }
    };
    node_context.ask(context, model, request, hear).await
}

impl NodeContext {
    /// How many of the sources the model has room for, at least one.
    fn fitting(&self, model: &dyn ChatModel, turn: &TurnState, then: &str) -> Result<usize, NodeError> {
        let without = self.answer_request(turn, &[], 0, true, then)?;
        let answer = self.definition.limits.answer_tokens.unwrap_or((model.context_tokens() / 4).min(2048));
        let history = self.history(model, turn).len();
        let prompts = without.prompts.iter().enumerate();
        // The conversation gives way to the sources.
        let needed = prompts
            .filter(|(at, _)| !(1..=history).contains(at))
            .map(|(_, prompt)| model.count_tokens(prompt.text()) + 8);
        let mut room = model.context_tokens().saturating_sub(needed.sum::<usize>() + answer + AROUND);
        let mut fitting = 0;
        for source in &turn.sources {
            let tokens = model.count_tokens(&source.shown()) + 4;
            if tokens > room {
                break;
            }
            room -= tokens;
            fitting += 1;
        }
        Ok(fitting.max(1))
    }

    fn answer_request(
        &self,
        turn: &TurnState,
        sources: &[Source],
        most: usize,
        beginnings: bool,
        then: &str,
    ) -> Result<ChatRequest, NodeError> {
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
        let shown = sources.iter().map(|source| source.shown_within(most, &turn.question));
        let sources = shown.collect::<Vec<_>>().join("\n\n");
        let shown = turn.introductions.iter().filter(|_| beginnings).map(Source::shown_as_beginning);
        let introductions = shown.collect::<Vec<_>>().join("\n\n");
        let variables =
            json!({ "introductions": introductions, "question": turn.question, "sources": sources });
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
    let reply = listen(node_context, context, model, request, TEXT).await.map_err(failed)?;
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
    context.token(raw.clone());
    let draft = Draft { format: TEXT.to_owned(), raw, partial: false, cut_off: false };
    Ok(TurnUpdate::Drafted { draft, spent: TurnCost::default() })
}
