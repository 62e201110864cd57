//! The tool that asks tables: rows by what their cells hold, and what comes of their values.

use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::Scope;
use ibid_core::evidence::{Index, Passage};
use ibid_core::model::ToolSpec;
use ibid_core::table_query::{
    Aggregate, AggregateFunction, AskedTable, Comparison, Condition, Order, TableAnswer, TableQuery,
};
use ibid_core::tool::{Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ToolContext, arguments, failure, spec};
use crate::definition::Retrieval;

/// So many rows come along unless said.
const ROWS: usize = 10;
/// And so many at most.
const MOST_ROWS: usize = 50;
/// The longest text that is searched with, in characters.
const LONGEST: usize = 500;
/// The most conditions of a query.
const MOST_CONDITIONS: usize = 10;

struct TableTool {
    spec: ToolSpec,
    index: Arc<dyn Index>,
    retrieval: Retrieval,
}

/// `query_tables`.
pub(super) fn query_tables(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    let spec = spec::<QueryTables>(
        "query_tables",
        "Finds a table by what it is about, and gives its rows that fulfil conditions, or the count, sum, minimum, \
         maximum or mean of a column.",
    );
    Ok(Arc::new(TableTool {
        spec,
        index: context.index.clone(),
        retrieval: context.definition.retrieval.clone(),
    }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QueryTables {
    /// What the table is about, in a few words.
    about: String,
    /// What rows have to fulfil, all of it.
    #[serde(default)]
    conditions: Option<Vec<Condition>>,
    /// The columns that are wanted; all if left out.
    #[serde(default)]
    columns: Option<Vec<String>>,
    /// What to compute, if not the rows themselves are wanted.
    #[serde(default)]
    aggregate: Option<AggregateFunction>,
    /// Of which column.
    #[serde(default)]
    aggregate_column: Option<String>,
    /// By which column to put rows in order.
    #[serde(default)]
    order_by: Option<String>,
    /// Whether the greatest comes first.
    #[serde(default)]
    descending: Option<bool>,
    /// How many rows; 10 unless said.
    #[serde(default)]
    max_rows: Option<usize>,
}

impl QueryTables {
    fn query(self, retrieval: &Retrieval) -> TableQuery {
        let is_descending = self.descending.unwrap_or_default();
        TableQuery {
            about: self.about.chars().take(LONGEST).collect(),
            conditions: self.conditions.unwrap_or_default().into_iter().take(MOST_CONDITIONS).collect(),
            columns: self.columns.unwrap_or_default(),
            aggregate: self
                .aggregate
                .map(|function| Aggregate { function, column: given(self.aggregate_column) }),
            order: given(self.order_by).map(|column| Order { column, is_descending }),
            top: self.max_rows.unwrap_or(ROWS).clamp(1, MOST_ROWS),
            kinds: retrieval.types.clone(),
            ..TableQuery::default()
        }
    }
}

/// A text that is more than nothing.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

#[async_trait]
impl Tool for TableTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn question_argument(&self) -> Option<&str> {
        Some("about")
    }

    async fn call(&self, scope: &Scope, given: Value) -> Result<ToolOutput, ToolError> {
        let query = arguments::<QueryTables>(given)?.query(&self.retrieval);
        if query.about.trim().is_empty() && query.conditions.is_empty() {
            return Err(ToolError::Arguments("say what the table is about".to_owned()));
        }
        if query.conditions.is_empty() && query.aggregate.is_none() && query.order.is_none() {
            return self.find(scope, query).await;
        }
        let answer = ask(&self.index, scope, &query).await?;
        let Some(table) = &answer.table else {
            return Ok(nothing("there is no table on this in the documents"));
        };
        if let Some(problem) = &answer.problem {
            return Err(ToolError::Arguments(format!("in the table of {}, {problem}", place(table))));
        }
        match (&query.aggregate, &answer.value) {
            (Some(aggregate), Some(value)) => Ok(computed(aggregate, value, table, &answer)),
            (Some(_), None) => {
                Ok(nothing(&format!("no row in the table of {} has a value for this", place(table))))
            }
            (None, _) if answer.rows == 0 => {
                Ok(nothing(&format!("no row in the table of {} fits", place(table))))
            }
            (None, _) => {
                let shown = answer.passages.iter().flat_map(Passage::records).count();
                let first = if shown < answer.rows {
                    format!("; the first {shown} are given")
                } else {
                    String::new()
                };
                let note = format!("{} of {} rows of {} fit{first}", answer.rows, table.rows, place(table));
                Ok(ToolOutput::Found { passages: answer.passages, note: Some(note) })
            }
        }
    }
}

impl TableTool {
    /// The parts of tables that are about something: whoever has no conditions wants to see what there is.
    async fn find(&self, scope: &Scope, query: TableQuery) -> Result<ToolOutput, ToolError> {
        let question = self.retrieval.question(vec![query.about.clone()]);
        let found = self.index.retrieve(scope, &question).await.map_err(not_asked)?;
        let mut passages = found.passages;
        passages.retain(|passage| !passage.tables.is_empty());
        let note = "these are parts of tables on the subject; give conditions to choose rows".to_owned();
        Ok(ToolOutput::Found { passages, note: Some(note) })
    }
}

fn not_asked(error: impl std::fmt::Display) -> ToolError {
    failure("the search in the tables", error)
}

async fn ask(index: &Arc<dyn Index>, scope: &Scope, query: &TableQuery) -> Result<TableAnswer, ToolError> {
    index.query_tables(scope, query).await.map_err(not_asked)
}

fn nothing(note: &str) -> ToolOutput {
    ToolOutput::Found { passages: Vec::new(), note: Some(note.to_owned()) }
}

/// Where a table stands.
fn place(table: &AskedTable) -> String {
    match table.pages {
        (first, last) if first == last => format!("{}, page {first}", table.title),
        (first, last) => format!("{}, pages {first} to {last}", table.title),
    }
}

fn computed(aggregate: &Aggregate, value: &str, table: &AskedTable, answer: &TableAnswer) -> ToolOutput {
    let of = aggregate.column.as_ref().map(|column| format!(" of {column}")).unwrap_or_default();
    let what = match aggregate.function {
        AggregateFunction::Count => "number of rows".to_owned(),
        AggregateFunction::Sum => format!("sum{of}"),
        AggregateFunction::Min => format!("minimum{of}"),
        AggregateFunction::Max => format!("maximum{of}"),
        AggregateFunction::Mean => format!("mean{of}"),
    };
    let left_out = match answer.left_out {
        0 => String::new(),
        rows => format!("; {rows} rows that fit have no number there and were left out"),
    };
    let text = format!(
        "The {what} is {value}. It was computed from {} of {} rows of {}{left_out}.",
        answer.rows,
        table.rows,
        place(table)
    );
    let data =
        json!({ "value": value, "rows": answer.rows, "left_out": answer.left_out, "title": table.title });
    ToolOutput::Computed { text, data, passages: answer.passages.clone() }
}

/// The row of a code in documents of some types, else the rows under it.
pub(super) async fn rows_of_code(
    index: &Arc<dyn Index>,
    scope: &Scope,
    code: &str,
    kinds: Vec<String>,
) -> Result<Vec<Passage>, ToolError> {
    for is in [Comparison::Equal, Comparison::StartsWith] {
        let condition = Condition { column: "code".to_owned(), is, value: code.to_owned() };
        let query = TableQuery {
            about: code.to_owned(),
            conditions: vec![condition],
            top: ROWS,
            kinds: kinds.clone(),
            ..TableQuery::default()
        };
        let answer = ask(index, scope, &query).await?;
        if answer.rows > 0 {
            return Ok(answer.passages);
        }
    }
    Ok(Vec::new())
}
