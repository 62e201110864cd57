//! Writes the answer from the sources, and writes it again when the guard has found something.

use std::sync::Arc;

use ibid_core::model::{ChatModel, ChatRequest, ModelError, Prompt};
use ibid_graph::{Context, NodeError};
use serde_json::json;

use crate::format::{Draft, Format, answer_so_far};
use crate::guard::Policy;
use crate::kit::{Kit, Reply, failed, for_free};
use crate::source::Source;
use crate::turn::{Change, Turn};

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
    write(&kit, &turn, &context, Vec::new()).await
}

/// Writes the answer again, told what was wrong with it.
pub(crate) async fn repair(kit: Arc<Kit>, turn: Arc<Turn>, context: Context) -> Result<Change, NodeError> {
    context.status("writing the answer again, because not everything in it is borne out");
    let findings: Vec<&str> = turn.findings.iter().map(|finding| finding.text.as_str()).collect();
    let told = kit.prompt("repair", &turn, json!({ "findings": findings }))?;
    let before = turn.draft.as_ref().map(|draft| draft.raw.clone()).unwrap_or_default();
    write(&kit, &turn, &context, vec![Prompt::assistant(before), Prompt::User(told)]).await
}

async fn write(kit: &Kit, turn: &Turn, context: &Context, then: Vec<Prompt>) -> Result<Change, NodeError> {
    let (model, format) = (kit.ports.answer.as_ref(), turn.asked.format);
    let mut shown = kit.fitting(model, turn, &then)?;
    loop {
        let request = kit.answer_request(turn, &turn.sources[..shown], &then)?;
        match listen(kit, context, model, request, format).await {
            // The estimate was too low: one source less, as long as there is one left.
            Err(ModelError::TooLong { .. }) if shown > 1 => shown -= 1,
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
            Format::Text => so_far.to_owned(),
            Format::Structured | Format::TradeCompliance => answer_so_far(so_far),
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
    fn fitting(&self, model: &dyn ChatModel, turn: &Turn, then: &[Prompt]) -> Result<usize, NodeError> {
        let without = self.answer_request(turn, &[], then)?;
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
        then: &[Prompt],
    ) -> Result<ChatRequest, NodeError> {
        let (format, persona) = (turn.asked.format, self.persona(turn)?);
        let system = self.prompt("generate", turn, json!({ "persona": persona, "format": format.name() }))?;
        let shown = |sources: &[Source]| sources.iter().map(Source::shown).collect::<Vec<_>>().join("\n\n");
        let beginnings: Vec<Source> = turn
            .introductions
            .iter()
            .filter(|introduction| !sources.iter().any(|source| source.text() == introduction.text()))
            .cloned()
            .collect();
        // How a document begins is there to be understood, not to be cited: it has no number.
        let introductions = shown(&beginnings)
            .replace("<source number=", "<beginning of=")
            .replace("</source>", "</beginning>");
        let variables =
            json!({ "introductions": introductions, "question": turn.question, "sources": shown(sources) });
        let evidence = self.prompt("evidence", turn, variables)?;
        let mut prompts = vec![Prompt::System(system)];
        prompts.extend(self.history(self.ports.answer.as_ref(), turn));
        prompts.push(Prompt::User(evidence));
        prompts.extend(then.iter().cloned());
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
    Ok(Change::Drafted { draft, spent: for_free() })
}
