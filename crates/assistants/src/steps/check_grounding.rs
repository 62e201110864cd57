//! Checks a draft sentence by sentence: what the guard has found first, then words that a source has, then a model.

use std::sync::Arc;

use ibid_core::model::Prompt;
use ibid_graph::{Context, NodeError, Terminal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::guard::Sentences;
use crate::node_context::NodeContext;
use crate::research::GroundingReport;
use crate::source::Source;
use crate::steps::generate::Shown;
use crate::turn::{TurnCost, TurnState, TurnUpdate};

/// A verdict on one sentence has at most so many tokens.
const MOST_TOKENS: usize = 30;

/// What the form of the answer takes, where a server needs it in words.
const FORM: usize = 300;

/// The verdicts as a model writes them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "verdicts")]
struct Verdicts {
    /// One for each sentence, in their order.
    sentences: Vec<One>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct One {
    /// The number of the sentence.
    number: usize,
    /// Whether the sources say it.
    supported: bool,
}

/// Checks.
pub(crate) async fn check_grounding(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let Some(answer) = &turn.answer else { return Err(Terminal::new("nothing was written").into()) };
    if answer.unanswered || turn.sources.is_empty() {
        return Ok(TurnUpdate::GroundingChecked {
            report: GroundingReport::default(),
            spent: TurnCost::default(),
        });
    }
    context.status("checking each sentence against the sources");
    let checked = &answer.checked;
    let Sentences { unsupported, open } =
        Sentences::of(&checked.answer, &checked.warnings, &turn.sources, turn.request.spoken.language);
    let mut report = GroundingReport { unsupported, not_sure: Vec::new() };
    if open.is_empty() {
        return Ok(TurnUpdate::GroundingChecked { report, spent: TurnCost::default() });
    }
    let cited: Vec<Source> = turn
        .sources
        .iter()
        .filter(|source| checked.citations.iter().any(|citation| citation.source == source.number))
        .cloned()
        .collect();
    let sources = if cited.is_empty() { &turn.sources } else { &cited };
    let (found, spent) = ask(&node_context, &turn, &context, sources, &open).await?;
    for (number, sentence) in (1..).zip(open) {
        match found.iter().find(|one| one.number == number) {
            Some(One { supported: true, .. }) => {}
            Some(One { supported: false, .. }) => report.unsupported.push(sentence),
            None => report.not_sure.push(sentence),
        }
    }
    Ok(TurnUpdate::GroundingChecked { report, spent })
}

async fn ask(
    node_context: &NodeContext,
    turn: &TurnState,
    context: &Context,
    sources: &[Source],
    sentences: &[String],
) -> Result<(Vec<One>, TurnCost), NodeError> {
    let model = node_context.ports.small.as_ref();
    let said = sentences.join("\n");
    let without = node_context.prompt("ground", turn, json!({ "sources": "", "sentences": sentences }))?;
    let answer = MOST_TOKENS * sentences.len();
    let room = node_context.room_beside(model, model.count_tokens(&without) + FORM, answer);
    let shown = Shown::within(model, sources, &said, room);
    let variables = json!({ "sources": shown.sources.join("\n\n"), "sentences": sentences });
    let prompt = node_context.prompt("ground", turn, variables)?;
    let mut request = node_context.request(turn, vec![Prompt::User(prompt)]);
    request.max_output_tokens = Some(answer);
    let (found, spent) = node_context.ask_for::<Verdicts>(context, model, request).await?;
    Ok((found.map(|found| found.sentences).unwrap_or_default(), spent))
}
