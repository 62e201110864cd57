//! Makes searches of what was wrong with a draft, other than those that were made already.

use std::sync::Arc;

use ibid_core::answer::SearchRequest;
use ibid_core::event::TurnEvent;
use ibid_core::model::Prompt;
use ibid_core::research::RoundVerdict;
use ibid_graph::{Context, NodeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::condense::question_in;
use crate::language::{Texts, filled};
use crate::node_context::{NodeContext, emit};
use crate::packing::words;
use crate::turn::{TurnState, TurnUpdate};

/// All searches together have at most so many tokens.
const MOST_TOKENS: usize = 200;

/// The searches as a model writes them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "searches")]
struct Searches {
    /// What to search for, each understood by itself.
    searches: Vec<String>,
}

/// Searches again.
pub(crate) async fn search_again(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let round = turn.research.rounds.len() + 1;
    if let Some(verdict) = turn.research.rounds.last().and_then(|round| round.verdict.as_ref()) {
        emit(&context, &TurnEvent::DraftWithdrawn { reason: reason(verdict, turn.texts()) });
    }
    context.status(format!("searching in other words, round {round}"));
    let most = node_context.definition.retrieval.phrasings.max(1);
    let variables = json!({
        "question": turn.question,
        "searched": turn.searched,
        "faults": turn.research.faults(),
        "most": most,
    });
    let prompt = node_context.prompt("search_again", &turn, variables)?;
    let mut request = node_context.request(&turn, vec![Prompt::User(prompt)]);
    request.max_output_tokens = Some(MOST_TOKENS);
    let (found, spent) =
        node_context.ask_for::<Searches>(&context, node_context.ports.small.as_ref(), request).await?;
    let found = found.map(|found| found.searches).unwrap_or_default();
    let mut phrasings: Vec<String> = Vec::new();
    for search in found.iter().filter_map(|search| question_in(search)) {
        let is_known = turn.searched.iter().chain(&phrasings).any(|known| words(known) == words(&search));
        if !is_known && phrasings.len() < most {
            phrasings.push(search);
        }
    }
    let named: Vec<_> = turn.route.iter().flat_map(|route| &route.documents).collect();
    // Each is a search of its own: one that is right is not to be outvoted by others.
    let searches: Vec<SearchRequest> = phrasings
        .iter()
        .flat_map(|phrasing| {
            let of = |document: Option<ibid_core::evidence::DocumentId>| SearchRequest {
                phrasings: vec![phrasing.clone()],
                document,
            };
            let mut each: Vec<SearchRequest> = named.iter().map(|named| of(Some(named.id.clone()))).collect();
            if each.is_empty() {
                each.push(of(None));
            }
            each
        })
        .collect();
    let text = turn.question.clone();
    emit(&context, &TurnEvent::Question { text, searches: Some(searches.clone()) });
    Ok(TurnUpdate::RoundStarted { searches, spent })
}

/// That a draft does not answer the question, with what is missing, if that is known.
pub(super) fn does_not_answer(verdict: &RoundVerdict, texts: &Texts) -> String {
    match verdict.missing.as_str() {
        "" => texts.does_not_answer.clone(),
        missing => filled(&texts.does_not_answer_missing, &[("missing", &missing)]),
    }
}

/// Why a draft is withdrawn, in words.
fn reason(verdict: &RoundVerdict, texts: &Texts) -> String {
    match verdict.unsupported.as_slice() {
        [] => does_not_answer(verdict, texts),
        [only] => filled(&texts.unsupported, &[("sentence", only)]),
        several => filled(&texts.several_unsupported, &[("count", &several.len())]),
    }
}
