//! Keeps an answer that passed all checks, to be given again.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ibid_core::answer::QuoteMatch;
use ibid_core::cache::{CachedAnswer, EvidencePiece};
use ibid_core::research::Answered;
use ibid_graph::{Context, NodeError};

use crate::answer::metadata;
use crate::node_context::NodeContext;
use crate::source::Origin;
use crate::turn::{TurnState, TurnUpdate};

/// Whether what a turn says may be said again: it passed all checks, rests on documents or pages of the web alone, and on nothing
/// that was said in its conversation before.
pub(crate) fn may_be_kept(turn: &TurnState) -> bool {
    let Some(answer) = turn.answer.as_ref().filter(|_| turn.cache.generation.is_some()) else { return false };
    let is_complete = turn.draft.as_ref().is_none_or(|draft| !draft.partial && !draft.cut_off);
    let citations = &answer.checked.citations;
    let is_borne_out = answer.checked.warnings.is_empty()
        && !citations.is_empty()
        && citations.iter().all(|citation| citation.found != QuoteMatch::NotFound);
    let is_answered = !turn.is_research() || {
        let verdict = turn.research.best().map(|(_, verdict)| verdict);
        verdict.is_some_and(|verdict| {
            verdict.unsupported.is_empty() && verdict.not_sure.is_empty() && verdict.answered == Answered::Yes
        })
    };
    let is_from_tools = turn.sources.iter().any(|source| matches!(source.origin, Origin::Tool { .. }));
    !turn.is_chat()
        && !turn.has_history()
        && !answer.unanswered
        && !answer.withheld
        && is_complete
        && is_borne_out
        && is_answered
        && !is_from_tools
}

/// Keeps the answer of a turn. The turn does not fail if it cannot be kept.
pub(crate) async fn remember(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    _context: Context,
) -> Result<TurnUpdate, NodeError> {
    let (Some(cache), Some(answer), Some(generation)) =
        (&node_context.ports.cache, &turn.answer, turn.cache.generation)
    else {
        return Ok(TurnUpdate::Remembered {});
    };
    let mut evidence: Vec<EvidencePiece> = Vec::new();
    // Also what was found and is of no use: a search finds it again.
    for source in turn.sources.iter().chain(turn.research.left_out()) {
        if let Origin::Passage(passage) = &source.origin {
            let is_known = |known: &EvidencePiece| known.document == passage.document;
            if !evidence.iter().any(is_known) {
                evidence.push(EvidencePiece::from(passage.as_ref()));
            }
        }
    }
    let from_web = turn.sources.iter().any(|source| matches!(source.origin, Origin::Web(_)));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let expires = now + node_context.definition.cache.lifetime(from_web);
    let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let kept = CachedAnswer {
        run: turn.request.run,
        question: turn.question.clone(),
        text: answer.text.clone(),
        metadata: metadata(&turn, answer),
        evidence,
        generation,
        created: milliseconds(now),
        expires: milliseconds(expires),
    };
    let (key, question) = (node_context.cache_key(&turn), turn.cache_question());
    if let Err(error) = cache.keep(&turn.scope(), &key, &question, kept).await {
        tracing::warn!(%error, "the answer is not kept to be given again");
    }
    Ok(TurnUpdate::Remembered {})
}
