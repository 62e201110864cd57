//! Rows of tables as people understand them: every cell with the name of its column, under what governs the row.

mod text;

use std::ops::Range;
use std::sync::Arc;

use ibid_core::evidence::Passage;
use ibid_core::table::{BAR, CellKind, readable_names};

use crate::source::{Origin, Source};

/// Cells count for no more letters where the column is looked for that says what rows are about.
const LONG_CELL: usize = 60;

/// A row of a table.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// The columns of its table.
    pub(crate) columns: Arc<Columns>,
    /// Its cells, one for each column.
    pub(crate) cells: Vec<Cell>,
    /// What stands over it, from the highest.
    pub(crate) path: Vec<String>,
    /// Where its line stands in the text of its source.
    pub(crate) span: Range<usize>,
}

/// The columns of a table.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// Their names as a person would say them.
    pub(crate) names: Vec<String>,
    /// Their names as the table has them.
    pub(crate) written: Vec<String>,
    /// Which of them says what a row is about.
    described: Option<usize>,
}

/// A cell of a row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    /// What it says.
    pub(crate) text: String,
    /// Where it stands in the text of its source.
    pub(crate) span: Range<usize>,
    /// Whether it has this from the row that governs its row.
    pub(crate) is_inherited: bool,
}

/// Whether a line is a row of a table.
pub(crate) fn is_row(line: &str) -> bool {
    line.contains(BAR)
}

/// The rows of a source that say something, in their order: headings over rows are in the paths of these.
pub(crate) fn of(source: &Source) -> Vec<Record> {
    match &source.origin {
        Origin::Passage(passage) if !passage.tables.is_empty() => of_passage(passage),
        _ => text::records(source.text()),
    }
}

fn of_passage(passage: &Passage) -> Vec<Record> {
    let mut all = Vec::new();
    for table in &passage.tables {
        let records: Vec<_> = table.records(&passage.text).collect();
        let cells = records.iter().map(|record| record.cells.iter().map(|cell| cell.text.as_ref()).collect());
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let columns = Arc::new(Columns::new(&names, &cells.collect::<Vec<Vec<&str>>>()));
        all.extend(records.into_iter().filter(|record| !record.is_heading()).map(|record| {
            let cells = record.cells.into_iter().map(|cell| Cell {
                text: cell.text.into_owned(),
                span: cell.span,
                is_inherited: cell.is_inherited,
            });
            let (columns, path) = (columns.clone(), record.path.to_vec());
            Record { columns, cells: cells.collect(), path, span: record.span }
        }));
    }
    all
}

impl Columns {
    fn new(names: &[&str], rows: &[Vec<&str>]) -> Self {
        let count = rows.iter().map(Vec::len).max().unwrap_or_default();
        let length = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let letters = cells.map(|cell| cell.chars().filter(|letter| letter.is_alphabetic()).count());
            letters.map(|letters| letters.min(LONG_CELL)).sum::<usize>()
        };
        // The longest text that is no code, rate or amount.
        let is_text = |column: usize| {
            CellKind::of(rows.iter().filter_map(|row| row.get(column)).copied()) == CellKind::Text
        };
        let described =
            (0..count).max_by_key(|column| (is_text(*column), length(*column), std::cmp::Reverse(*column)));
        let written = names.iter().map(|name| (*name).to_owned()).collect();
        Self { names: readable_names(names), written, described }
    }

    /// The name of a column, if it has one.
    pub(crate) fn name(&self, column: usize) -> Option<&str> {
        self.names.get(column).map(String::as_str).filter(|name| !name.is_empty())
    }
}

impl Record {
    /// The code of the row, if its first cell is one.
    pub(crate) fn code(&self) -> Option<&str> {
        let first = self.cells.first().map(|cell| cell.text.as_str())?;
        text::is_code(first).then_some(first)
    }

    /// What the row is about: the cell that describes it.
    pub(crate) fn description(&self) -> &str {
        let column = self.columns.described.unwrap_or_default();
        self.cells.get(column).map_or("", |cell| cell.text.as_str())
    }

    /// A cell that says something.
    pub(crate) fn cell(&self, column: usize) -> Option<&Cell> {
        self.cells.get(column).filter(|cell| !cell.text.is_empty())
    }

    /// What stands over it, without what `said` has already and without codes that its own goes on with.
    fn over(&self, said: &[String]) -> Vec<&str> {
        let code = self.code().unwrap_or("\0");
        let unsaid = self.path.iter().filter(|heading| !said.contains(heading));
        let plain = unsaid.map(|heading| match heading.split_once(' ') {
            Some((first, rest)) if code.starts_with(first) => rest,
            _ => heading.as_str(),
        });
        plain.map(|heading| heading.trim_end_matches(':')).collect()
    }

    /// As a model is shown it: a line for each cell that says something, with the name of its column. `said` are headings
    /// that it is shown already; of `wanted` columns, no others are shown beside what the row is called by.
    pub(crate) fn shown(&self, said: &[String], wanted: &[usize]) -> String {
        let (over, code) = (self.over(said), self.code().unwrap_or_default());
        let mut lines = Vec::new();
        for (column, cell) in self.cells.iter().enumerate() {
            // A suffix stands in the code already.
            let is_suffix = column > 0
                && cell.text.chars().all(|digit| digit.is_ascii_digit())
                && code.ends_with(cell.text.as_str());
            let is_wanted = wanted.is_empty()
                || wanted.contains(&column)
                || column == 0
                || Some(column) == self.columns.described;
            if cell.text.is_empty() || is_suffix || !is_wanted {
                continue;
            }
            let over = if Some(column) == self.columns.described && !over.is_empty() {
                format!("{}: ", over.join(" > "))
            } else {
                String::new()
            };
            let name = self.columns.name(column).map(|name| format!("{name}: ")).unwrap_or_default();
            lines.push(format!("{name}{over}{}", cell.text));
        }
        lines.join("\n")
    }
}
