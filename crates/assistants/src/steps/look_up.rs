//! Looks whether the same was asked before, of the same documents, and gives the verified answer again.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

use ibid_core::cache::{CacheError, CacheHit, CachedAnswer, CachedFrom};
use ibid_core::event::TurnEvent;
use ibid_core::evidence::EvidenceError;
use ibid_core::{metric, trace};
use ibid_graph::{Context, NodeError};
use jiff::Timestamp;
use tracing::Instrument;

use crate::cache::is_near;
use crate::language::filled;
use crate::node_context::{NodeContext, emit};
use crate::turn::{TurnState, TurnUpdate};

/// An answer is told in pieces of about so many bytes.
const PIECE: usize = 40;

/// Looks up.
pub(crate) async fn look_up(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let Some(cache) = &node_context.ports.cache else { return Ok(TurnUpdate::LookedUp { generation: None }) };
    let found = async {
        // Before anything is searched: what is loaded from now on is not behind the answer.
        let generation = cache.generation().await?;
        let hit = if turn.request.may_be_cached { same(&node_context, &turn).await? } else { None };
        Ok::<_, CacheError>((generation, hit))
    };
    let found = found.instrument(trace::cache_span()).await;
    if turn.request.may_be_cached {
        let outcome = found.as_ref().map(|(_, hit)| if hit.is_some() { "hit" } else { "miss" });
        metric::cache_looked_up(outcome.unwrap_or("failed"));
    }
    match found {
        Ok((_, Some(hit))) => Ok(recalled(&turn, &context, hit.answer, false)),
        Ok((generation, None)) => Ok(TurnUpdate::LookedUp { generation: Some(generation) }),
        Err(error) => {
            tracing::warn!(%error, "the question is answered anew");
            Ok(TurnUpdate::LookedUp { generation: None })
        }
    }
}

/// The answer to the same question, if a search would find nothing else now.
async fn same(node_context: &NodeContext, turn: &TurnState) -> Result<Option<CacheHit>, CacheError> {
    let Some(cache) = &node_context.ports.cache else { return Ok(None) };
    let (key, question) = (node_context.cache_key(turn), turn.cache_question());
    let Some(hit) = cache.find(&turn.scope(), &key, &question).await? else { return Ok(None) };
    if hit.similarity < node_context.definition.cache.similarity {
        return Ok(None);
    }
    let is_fresh = hit.is_current || finds_the_same(node_context, turn, &hit.answer).await?;
    Ok(is_fresh.then_some(hit))
}

/// Whether a search finds nothing that an answer does not rest on: what was loaded since may say something else.
async fn finds_the_same(
    node_context: &NodeContext,
    turn: &TurnState,
    answer: &CachedAnswer,
) -> Result<bool, CacheError> {
    let known: BTreeSet<_> = answer.evidence.iter().map(|piece| (&piece.document, &piece.version)).collect();
    let question = node_context.definition.retrieval.question(vec![turn.question.clone()]);
    let found = node_context.ports.index.retrieve(&turn.scope(), &question).await;
    let found = found.map_err(|error: EvidenceError| CacheError(error.to_string()))?;
    Ok(found.passages.iter().all(|passage| known.contains(&(&passage.document, &passage.version))))
}

/// Gives an answer again, told like one that is written now.
fn recalled(turn: &TurnState, context: &Context, answer: CachedAnswer, similar: bool) -> TurnUpdate {
    let at = i64::try_from(answer.created).ok().and_then(|created| Timestamp::from_millisecond(created).ok());
    let from = CachedFrom {
        question: answer.question.clone(),
        run_id: answer.run.to_string(),
        answered_at: at.unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        similar,
    };
    let metadata = &answer.metadata;
    emit(context, &TurnEvent::Cached(from.clone()));
    emit(context, &TurnEvent::Sources { sources: metadata.sources.clone() });
    let mut text = answer.text.clone();
    if similar {
        text =
            format!("{}\n\n{text}", filled(&turn.texts().similar_answer, &[("question", &answer.question)]));
    }
    let text = turn.say(text);
    pieces(&text).into_iter().for_each(|piece| context.token(piece));
    emit(context, &TurnEvent::Citations { citations: metadata.citations.clone() });
    TurnUpdate::Recalled { answer: Box::new(answer), text, from }
}

/// A text in pieces that end after a word.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for word in text.split_inclusive([' ', '\n']) {
        if let Some(last) = pieces.last_mut() {
            last.push_str(word);
        }
        if pieces.last().is_some_and(|last| last.len() >= PIECE) {
            pieces.push(String::new());
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// A step with a model; where none can be reached, a verified answer to nearly the same question is offered in its place, if
/// there is one. The model was asked several times by then, so that nobody is kept waiting for more.
pub(crate) fn or_recall<R>(
    work: impl Fn(Arc<NodeContext>, Arc<TurnState>, Context) -> R + Clone + Send + Sync + 'static,
) -> impl Fn(
    Arc<NodeContext>,
    Arc<TurnState>,
    Context,
) -> futures_util::future::BoxFuture<'static, Result<TurnUpdate, NodeError>>
+ Send
+ Sync
+ 'static
where
    R: Future<Output = Result<TurnUpdate, NodeError>> + Send + 'static,
{
    move |node_context, turn, context| {
        let work = work.clone();
        Box::pin(async move {
            let done = work(node_context.clone(), turn.clone(), context.clone()).await;
            let Err(NodeError::Retryable(failure)) = done else { return done };
            match near(&node_context, &turn).await {
                Ok(Some(answer)) => {
                    emit(&context, &TurnEvent::DraftWithdrawn { reason: String::new() });
                    Ok(recalled(&turn, &context, answer, true))
                }
                Ok(None) => Err(failure.into()),
                Err(error) => {
                    tracing::warn!(%error, "no earlier answer can be offered");
                    Err(failure.into())
                }
            }
        })
    }
}

/// The answer to the question that is nearest.
async fn near(node_context: &NodeContext, turn: &TurnState) -> Result<Option<CachedAnswer>, CacheError> {
    let least = node_context.definition.cache.similarity_when_down;
    let Some(cache) = node_context.ports.cache.as_ref().filter(|_| turn.request.may_be_cached && least < 1.0)
    else {
        return Ok(None);
    };
    let (key, question) = (node_context.cache_key(turn), turn.cache_question());
    let hits = cache.find_similar(&turn.scope(), &key, &question, least).await?;
    let is_near = |hit: &CacheHit| {
        // What follows up on a conversation, and could not be condensed, must be a question by itself.
        let is_condensed = !turn.has_history() || turn.question != turn.request.text;
        let form = crate::cache::question_form(&hit.answer.question, turn.request.spoken);
        form == question.form
            || (is_condensed && is_near(&question.text, &hit.answer.question, turn.request.spoken))
    };
    Ok(hits.into_iter().find(is_near).map(|hit| hit.answer))
}
