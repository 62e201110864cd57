//! Looks for what documents say: one search for each thing that is wanted, all at once.

use std::sync::Arc;

use futures_util::future::try_join_all;
use ibid_core::answer::SearchRequest;
use ibid_core::event::TurnEvent;
use ibid_graph::{Context, NodeError};
use tracing::Instrument;

use crate::node_context::{NodeContext, emit, not_searched};
use crate::source::{Source, take};
use crate::turn::{TurnState, TurnUpdate};

/// Retrieves.
pub(crate) async fn retrieve(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let searches = searches(&turn);
    context.status(match searches.len() {
        1 => "searching the documents".to_owned(),
        several => format!("making {several} searches in the documents"),
    });
    let retrieval = &node_context.definition.retrieval;
    let found = searches.iter().map(|search| {
        let mut question = retrieval.question(search.phrasings.clone());
        question.documents = search.document.iter().cloned().collect();
        question.introduce = search.document.iter().cloned().collect();
        let (node_context, turn) = (node_context.clone(), turn.clone());
        let span = tracing::info_span!("retrieval", phrasings = question.phrasings.len(), top = question.top);
        async move { node_context.ports.index.retrieve(&turn.request.scope, &question).await }
            .instrument(span)
    });
    let found = try_join_all(found).await.map_err(not_searched)?;
    // The best of every search before the second best of any.
    let longest = found.iter().map(|evidence| evidence.passages.len()).max().unwrap_or_default();
    let ranks =
        (0..longest).flat_map(|rank| found.iter().filter_map(move |evidence| evidence.passages.get(rank)));
    let passages: Vec<_> = ranks.cloned().collect();
    let mut sources = turn.sources.clone();
    take(&mut sources, passages.clone());
    emit(&context, &TurnEvent::Sources { sources: sources.iter().map(Source::info).collect() });
    let searched: Vec<String> =
        searches.into_iter().filter_map(|search| search.phrasings.into_iter().next()).collect();
    emit(&context, &TurnEvent::Searched { queries: searched.clone() });
    Ok(TurnUpdate::Retrieved { passages, searched })
}

/// What is to be looked for: what was worked out, or else the question itself, in every document that is named.
fn searches(turn: &TurnState) -> Vec<SearchRequest> {
    if !turn.searches.is_empty() {
        return turn.searches.clone();
    }
    let mut phrasings = vec![turn.question.clone()];
    // What a model made of a question may have lost something; the words of the person have not.
    if turn.question != turn.request.text {
        phrasings.push(turn.request.text.clone());
    }
    phrasings.extend(turn.phrasings.iter().cloned());
    let named = turn.route.iter().flat_map(|route| &route.documents);
    let in_each: Vec<SearchRequest> = named
        .map(|document| SearchRequest { phrasings: phrasings.clone(), document: Some(document.id.clone()) })
        .collect();
    if in_each.is_empty() { vec![SearchRequest { phrasings, document: None }] } else { in_each }
}
