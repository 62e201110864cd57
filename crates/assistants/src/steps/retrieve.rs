//! Looks for what documents say: one search for each thing that is wanted, all at once.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::try_join_all;
use ibid_core::answer::SearchRequest;
use ibid_core::event::TurnEvent;
use ibid_core::evidence::{DocumentId, EvidenceError, Passage};
use ibid_core::value::codes;
use ibid_core::{metric, trace};
use ibid_graph::{Context, NodeError};
use tracing::Instrument;

use crate::guard::AskedCells;
use crate::node_context::{NodeContext, emit, not_searched};
use crate::source::{Source, take, take_after};
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
        let (span, began) = (trace::retrieval_span(&question.phrasings, question.top), Instant::now());
        let inside = span.clone();
        async move {
            let found = node_context.ports.index.retrieve(&turn.request.scope, &question).await;
            metric::retrieval_ended(began.elapsed());
            match &found {
                Ok(evidence) => trace::retrieved(&inside, &evidence.passages),
                Err(error) => trace::failed(&inside, error),
            }
            found
        }
        .instrument(span)
    });
    let found = try_join_all(found).await.map_err(not_searched)?;
    // The best of every search before the second best of any.
    let longest = found.iter().map(|evidence| evidence.passages.len()).max().unwrap_or_default();
    let ranks =
        (0..longest).flat_map(|rank| found.iter().filter_map(move |evidence| evidence.passages.get(rank)));
    let passages: Vec<_> = ranks.filter(|passage| !turn.research.is_left_out(passage)).cloned().collect();
    let mut rows = described_rows(&node_context, &turn, &passages).await.map_err(not_searched)?;
    rows.extend(passages);
    let passages = rows;
    let mut sources = turn.sources.clone();
    take_after(&mut sources, passages.clone(), turn.research.last_left_out());
    emit(&context, &TurnEvent::Sources { sources: sources.iter().map(Source::info).collect() });
    let searched: Vec<String> =
        searches.into_iter().filter_map(|search| search.phrasings.into_iter().next()).collect();
    emit(&context, &TurnEvent::Searched { queries: searched.clone() });
    Ok(TurnUpdate::Retrieved { passages, searched })
}

/// Whole tables of so many are looked through for the row that a question describes, if they have no more chunks than these.
const TABLES: usize = 2;
const LONGEST_TABLE: usize = 600;

/// The passages with the row that a question describes, where it asks for a cell of one. A search finds the table by all that
/// is said; the row may stand anywhere in it. The row of a code is found by the search.
async fn described_rows(
    node_context: &NodeContext,
    turn: &TurnState,
    found: &[Passage],
) -> Result<Vec<Passage>, EvidenceError> {
    if !codes(&turn.question).is_empty() {
        return Ok(Vec::new());
    }
    let with_tables = || found.iter().filter(|passage| !passage.tables.is_empty());
    let sources = numbered(with_tables().cloned());
    if !AskedCells::of(&turn.question, &sources.iter().collect::<Vec<_>>()).has_column() {
        return Ok(Vec::new());
    }
    let mut tables: Vec<(&DocumentId, u32)> = Vec::new();
    for (document, rows) in with_tables().flat_map(|own| own.tables.iter().map(|rows| (&own.document, rows)))
    {
        if !tables.contains(&(document, rows.table)) {
            tables.push((document, rows.table));
        }
    }
    for (document, table) in tables.into_iter().take(TABLES) {
        let index = node_context.ports.index.as_ref();
        let whole = index.table(&turn.request.scope, document, table, LONGEST_TABLE).await?;
        let sources = numbered(whole);
        let rows = AskedCells::of(&turn.question, &sources.iter().collect::<Vec<_>>()).rows();
        let is_asked = |source: &Source| rows.iter().any(|(number, _)| *number == source.number);
        let rows = sources.into_iter().filter(is_asked).filter_map(Source::into_passage);
        let rows: Vec<Passage> = rows.collect();
        if !rows.is_empty() {
            return Ok(rows);
        }
    }
    Ok(Vec::new())
}

/// Passages as sources.
fn numbered(passages: impl IntoIterator<Item = Passage>) -> Vec<Source> {
    let mut sources = Vec::new();
    take(&mut sources, passages);
    sources
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
