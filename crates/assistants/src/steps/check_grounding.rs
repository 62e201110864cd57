//! Checks a draft sentence by sentence: what the guard has found first, then words that a source has, then a grounding model if
//! there is one, then the small model.

use std::sync::Arc;

use ibid_core::answer::WarningKind;
use ibid_core::model::{Caller, Prompt};
use ibid_core::trace;
use ibid_graph::{Context, NodeError, Terminal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tracing::Instrument;

use crate::definition::Knowledge;
use crate::guard::{Sentences, pieces, sentences};
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
    let Sentences { mut unsupported, mut open } =
        Sentences::of(&checked.answer, &checked.warnings, &turn.sources, turn.request.spoken.language);
    let cites_nothing = checked.warnings.iter().any(|warning| warning.kind == WarningKind::NothingCited);
    if cites_nothing && node_context.definition.knowledge == Knowledge::Documents {
        // The model has named no source, and none was found that says it.
        unsupported.append(&mut open);
    }
    let mut report = GroundingReport { unsupported, not_sure: Vec::new() };
    if sentences(&checked.answer).next().is_none() {
        // Nothing but numbers of sources.
        report.unsupported.push(checked.answer.clone());
    }
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
    let open = classify(&node_context, &turn, sources, open, &mut report).await;
    if open.is_empty() {
        return Ok(TurnUpdate::GroundingChecked { report, spent: TurnCost::default() });
    }
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

/// A grounding model reads a source in pieces of at most so many bytes.
const PIECE: usize = 1500;

/// Has a grounding model judge the sentences, if there is one. Returns those that it is not sure of.
async fn classify(
    node_context: &NodeContext,
    turn: &TurnState,
    sources: &[Source],
    sentences: Vec<String>,
    report: &mut GroundingReport,
) -> Vec<String> {
    let Some(grounding) = &node_context.ports.grounding else { return sentences };
    let pieces: Vec<String> = sources.iter().flat_map(|source| in_pieces(source.text())).collect();
    let pairs: Vec<(&str, &str)> = sentences
        .iter()
        .flat_map(|sentence| pieces.iter().map(move |piece| (piece.as_str(), sentence.as_str())))
        .collect();
    let caller = Caller::chat(turn.request.scope.tenant().clone());
    let span = trace::grounding_span(grounding.name(), pairs.len());
    let scores = match grounding.support(&caller, &pairs).instrument(span).await {
        Ok(scores) => scores,
        Err(error) => {
            tracing::warn!(%error, "the small model checks the sentences");
            return sentences;
        }
    };
    let sure = node_context.definition.corrective.sure;
    let mut open = Vec::new();
    for (sentence, scores) in sentences.into_iter().zip(scores.chunks(pieces.len().max(1))) {
        // One piece that supports it is enough.
        let best = scores.iter().copied().fold(0.0, f32::max);
        if best <= 1.0 - sure {
            report.unsupported.push(sentence);
        } else if best < sure {
            open.push(sentence);
        }
    }
    open
}

/// A text in pieces of whole rows and sentences.
fn in_pieces(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for span in pieces(text) {
        let piece = text[span].trim();
        match all.last_mut().filter(|last| last.len() + piece.len() < PIECE) {
            Some(last) => {
                last.push(' ');
                last.push_str(piece);
            }
            None => all.push(piece.to_owned()),
        }
    }
    all
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
