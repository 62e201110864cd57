//! Asks tables: finds the one that a query is about, and gives back the rows that fit, with their pages and places.

mod columns;
mod excerpt;
mod query;
mod typed;

use std::sync::Arc;

use ibid_core::Scope;
use ibid_core::evidence::{DocumentId, Passage, Question};
use ibid_core::table::{TableColumn, TableRows};
use ibid_core::table_query::{AskedTable, TableAnswer, TableQuery};
use lance::dataset::Dataset;
use tokio::task::spawn_blocking;

use crate::Error;
use crate::search::Search;
use crate::store::{Store, chunk_id, of_tables, question_filter};
use columns::ColumnNames;
use query::{Plan, Selected};
use typed::TypedTable;
pub(crate) use typed::folded;

/// So many chunks tell which tables a query may be about.
const CHUNKS: usize = 40;
/// Of so many tables at most, the first one is taken that has the columns and a row that fits.
const MOST_TABLES: usize = 6;
/// So many rows come along at most.
const MOST_ROWS: usize = 200;

/// A part of a table.
pub(crate) struct TableChunk {
    pub(crate) chunk: u32,
    pub(crate) page: u32,
    pub(crate) text: String,
    pub(crate) rows: TableRows,
}

/// A table that a query may be about.
struct Candidate {
    document: DocumentId,
    title: String,
    language: String,
    table: u32,
}

impl Search {
    /// What the table says that a query is about.
    pub(crate) async fn ask_tables(&self, scope: &Scope, query: &TableQuery) -> Result<TableAnswer, Error> {
        let mut question = Question::new(searched(query));
        question.kinds.clone_from(&query.kinds);
        question.documents.clone_from(&query.documents);
        (question.top, question.reranked) = (CHUNKS, 0);
        let answer = |chunks| self.ask_tables_in(chunks, scope, &question, query);
        Ok(self.store().read_chunks(answer).await?.unwrap_or_default())
    }

    async fn ask_tables_in(
        &self,
        chunks: Arc<Dataset>,
        scope: &Scope,
        question: &Question,
        query: &TableQuery,
    ) -> Result<TableAnswer, Error> {
        let filter = question_filter(scope, question).and_then(|filter| of_tables(&chunks, &filter));
        let Some(filter) = filter else { return Ok(TableAnswer::default()) };
        let hits = self.ranked(&chunks, &filter, scope, question).await?;
        let mut best: Option<TableAnswer> = None;
        for candidate in candidates(hits.into_iter().map(|hit| hit.passage)) {
            let answer = ask(&chunks, &filter, &candidate, query).await?;
            if answer.rows > 0 {
                return Ok(answer);
            }
            // One that has the columns says more than one that has not.
            let is_better = |best: &TableAnswer| best.problem.is_some() && answer.problem.is_none();
            if best.as_ref().is_none_or(is_better) {
                best = Some(answer);
            }
        }
        Ok(best.unwrap_or_default())
    }

    /// A table of a document, if it has no more chunks than these.
    pub(crate) async fn whole_table(
        &self,
        scope: &Scope,
        document: &DocumentId,
        table: u32,
        most: usize,
    ) -> Result<Vec<Passage>, Error> {
        let Some(filter) = &question_filter(scope, &Question::new("")) else { return Ok(Vec::new()) };
        let of_table = |chunks: Arc<Dataset>| async move {
            let Some(filter) = of_tables(&chunks, filter) else { return Ok(Vec::new()) };
            Store::of_table(&chunks, &filter, &document.0, table, most + 1).await
        };
        let mut passages = self.store().read_chunks(of_table).await?.unwrap_or_default();
        if passages.len() > most {
            return Ok(Vec::new());
        }
        passages.sort_by_key(|passage| passage.chunks);
        Ok(passages)
    }
}

fn unreadable(error: impl std::fmt::Display) -> Error {
    Error::Damaged(format!("a table cannot be read: {error}"))
}

/// What is searched for: what the table is about, and what its cells hold.
fn searched(query: &TableQuery) -> String {
    let values = query.conditions.iter().map(|condition| condition.value.as_str());
    let words: Vec<&str> = [query.about.as_str()].into_iter().chain(values).collect();
    words.join(" ")
}

/// The tables that some passages belong to, those of the best first.
fn candidates(passages: impl Iterator<Item = Passage>) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    for passage in passages {
        for rows in &passage.tables {
            let is_known =
                |known: &Candidate| (&known.document, known.table) == (&passage.document, rows.table);
            if all.len() < MOST_TABLES && !all.iter().any(is_known) {
                all.push(Candidate {
                    document: passage.document.clone(),
                    title: passage.title.clone(),
                    language: passage.language.clone(),
                    table: rows.table,
                });
            }
        }
    }
    all
}

async fn ask(
    dataset: &Arc<Dataset>,
    filter: &str,
    candidate: &Candidate,
    query: &TableQuery,
) -> Result<TableAnswer, Error> {
    let chunks = Store::table_chunks(dataset, filter, &candidate.document.0, candidate.table).await?;
    let Some(first) = chunks.first() else { return Ok(TableAnswer::default()) };
    let names = ColumnNames::new(&first.rows.columns, &query.names);
    let columns = first.rows.columns.iter().zip(names.shown());
    let columns = columns.map(|(column, name)| TableColumn { name, kind: column.kind }).collect();
    let pages = chunks.iter().map(|chunk| chunk.page);
    let pages = (pages.clone().min().unwrap_or_default(), pages.max().unwrap_or_default());
    let title = candidate.title.clone();
    let mut table = AskedTable { title, pages, columns, rows: 0 };
    let plan = match Plan::of(query, &names, &table.columns) {
        Ok(plan) => plan,
        Err(problem) => {
            table.rows = typed::count(&chunks);
            return Ok(TableAnswer { table: Some(table), problem: Some(problem), ..TableAnswer::default() });
        }
    };
    let (used, language) = (plan.used().clone(), candidate.language.clone());
    let typed = spawn_blocking(move || TypedTable::of(chunks, &used, &language)).await;
    let typed = typed.map_err(unreadable)??;
    table.rows = typed.rows.len();
    let Selected { rows, count, value, left_out } =
        query::select(&typed, &plan, query.top.min(MOST_ROWS)).await?;
    let ids: Vec<String> =
        typed.chunks_of(&rows).into_iter().map(|chunk| chunk_id(&candidate.document.0, chunk)).collect();
    let whole = Store::by_names(dataset, filter, &ids).await?;
    let whole: Vec<Passage> = whole.into_iter().map(|hit| hit.passage).collect();
    let passages = excerpt::passages(&whole, &typed, &rows, &plan.shown());
    Ok(TableAnswer { table: Some(table), problem: None, rows: count, value, left_out, passages })
}
