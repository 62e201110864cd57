//! Writes the answer from the sources, and writes it again when the guard has found something.

use std::borrow::Cow;
use std::sync::Arc;

use ibid_core::model::{ChatModel, ChatRequest, ModelError, Prompt};
use ibid_graph::{Context, NodeError};
use serde_json::json;

use crate::format::{Draft, Format, answer_so_far};
use crate::guard::Policy;
use crate::kit::{Kit, Reply, failed};
use crate::source::{Source, harmless};
use crate::turn::{Change, Spent, Turn};

/// Of a source that does not fit, at least so many bytes are shown.
const LEAST_OF_A_SOURCE: usize = 300;

/// Tokens that the parts of a prompt take besides their words.
const AROUND: usize = 96;

/// Writes the answer.
pub(crate) async fn generate(kit: Arc<Kit>, turn: Arc<Turn>, context: Context) -> Result<Change, NodeError> {
    if turn.is_chat() {
        return chat(&kit, &turn, &context).await;
    }
    if turn.sources.is_empty() {
        return not_known(&kit, &turn, &context);
    }
    context.status("writing the answer");
    write(&kit, &turn, &context, "").await
}

/// Writes the answer again, told what was wrong with it.
pub(crate) async fn repair(kit: Arc<Kit>, turn: Arc<Turn>, context: Context) -> Result<Change, NodeError> {
    context.status("writing the answer again, because not everything in it is borne out");
    let findings: Vec<&str> = turn.findings.iter().map(|finding| finding.text.as_str()).collect();
    let told = kit.prompt("repair", &turn, json!({ "findings": findings }))?;
    let before = turn.draft.as_ref().map(|draft| draft.raw.as_str()).unwrap_or_default();
    // In one message with the sources, so that these cannot be left out as what was said before.
    write(&kit, &turn, &context, &format!("\n\n<answer>\n{}\n</answer>\n\n{told}", harmless(before))).await
}

async fn write(kit: &Kit, turn: &Turn, context: &Context, then: &str) -> Result<Change, NodeError> {
    let (model, format) = (kit.ports.answer.as_ref(), turn.asked.format);
    let mut beginnings = true;
    let (mut shown, mut most) = (kit.fitting(model, turn, then)?, usize::MAX);
    loop {
        let request = kit.answer_request(turn, &turn.sources[..shown], most, beginnings, then)?;
        match listen(kit, context, model, request, format).await {
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
                let draft = Draft { format, raw: reply.text, partial, cut_off };
                return Ok(Change::Drafted { draft, spent: reply.spent });
            }
        }
    }
}

/// Asks, and tells the words of the answer as they come, unless they may be withheld.
async fn listen(
    kit: &Kit,
    context: &Context,
    model: &dyn ChatModel,
    request: ChatRequest,
    format: Format,
) -> Result<Reply, ModelError> {
    let mut told = 0;
    let aloud = kit.definition.guard != Policy::Block;
    let hear = |so_far: &str| {
        if !aloud {
            return;
        }
        if so_far.is_empty() {
            told = 0;
            context.data("again", json!({}));
            return;
        }
        let answer = match format {
            Format::Text => Cow::Borrowed(so_far),
            Format::Structured | Format::TradeCompliance => Cow::Owned(answer_so_far(so_far)),
        };
        if let Some(new) = answer.get(told..).filter(|new| !new.is_empty()) {
            context.token(new);
            told = answer.len();
        }
    };
    kit.ask(context, model, request, hear).await
}

impl Kit {
    /// How many of the sources the model has room for, at least one.
    fn fitting(&self, model: &dyn ChatModel, turn: &Turn, then: &str) -> Result<usize, NodeError> {
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
        turn: &Turn,
        sources: &[Source],
        most: usize,
        beginnings: bool,
        then: &str,
    ) -> Result<ChatRequest, NodeError> {
        let (format, persona) = (turn.asked.format, self.persona(turn)?);
        let system = self.prompt("generate", turn, json!({ "persona": persona, "format": format.name() }))?;
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
        request.schema = format.schema();
        request.max_output_tokens = self.definition.limits.answer_tokens;
        Ok(request)
    }
}

async fn chat(kit: &Kit, turn: &Turn, context: &Context) -> Result<Change, NodeError> {
    context.status("answering");
    let (model, persona) = (kit.ports.answer.as_ref(), kit.persona(turn)?);
    let description = &kit.definition.description;
    let mut prompts = vec![Prompt::System(kit.prompt(
        "chat",
        turn,
        json!({ "persona": persona, "description": description }),
    )?)];
    prompts.extend(kit.history(model, turn));
    prompts.push(Prompt::User(turn.asked.text.clone()));
    let mut request = kit.request(turn, prompts);
    request.max_output_tokens = kit.definition.limits.answer_tokens;
    let reply = listen(kit, context, model, request, Format::Text).await.map_err(failed)?;
    let (partial, cut_off) = (reply.partial, reply.cut_off);
    let draft = Draft { format: Format::Text, raw: reply.text, partial, cut_off };
    Ok(Change::Drafted { draft, spent: reply.spent })
}

/// Nothing was found: no model can know better.
fn not_known(kit: &Kit, turn: &Turn, context: &Context) -> Result<Change, NodeError> {
    context.status("nothing was found");
    let variables = json!({ "searched": turn.searched, "failures": turn.failures });
    let raw = kit.prompt("unknown", turn, variables)?.trim().to_owned();
    context.token(raw.clone());
    let draft = Draft { format: Format::Text, raw, partial: false, cut_off: false };
    Ok(Change::Drafted { draft, spent: Spent::default() })
}
