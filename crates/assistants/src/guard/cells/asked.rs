//! Which cells of tables a question asks for.

use std::collections::BTreeSet;

use ibid_core::value::codes;

use super::subject::{Named, Subjects, telling};
use super::{Row, rows_of};
use crate::records::Record;
use crate::source::Source;

/// A question that asks for cells says at most so many words that are neither in their row nor in names of columns.
const MOST_BESIDE: usize = 2;
/// A long one says at most one of so many.
const LITTLE: usize = 3;

/// Which cells of tables a question asks for.
pub(crate) struct AskedCells<'a> {
    question: &'a str,
    rows: Vec<Row<'a>>,
    subjects: Subjects,
    named: Named,
}

impl<'a> AskedCells<'a> {
    /// Those that a question names, of the tables in some sources.
    pub(crate) fn of(question: &'a str, sources: &[&'a Source]) -> Self {
        let rows = rows_of(sources);
        let subjects = Subjects::of(&rows);
        let named = subjects.named(question, &[]);
        Self { question, rows, subjects, named }
    }

    /// Whether a column of some table is asked for.
    pub(crate) fn has_column(&self) -> bool {
        self.rows.iter().any(|row| !self.in_row(&row.record).is_empty())
    }

    /// The columns of a row that are asked for; none if that is not clear.
    pub(crate) fn in_row(&self, record: &Record) -> Vec<usize> {
        let columns = self.subjects.columns(record, &self.named);
        // Words that most columns share tell none of them.
        if columns.len() * 2 > record.columns.names.len() { Vec::new() } else { columns }
    }

    /// The rows that are asked for, by code or else by description, if the question asks for nothing but cells of them: by the
    /// numbers of their sources and where they begin.
    pub(crate) fn rows(&self) -> Vec<(u32, usize)> {
        let has_cell = |row: usize| {
            let record = &self.rows[row].record;
            self.in_row(record).iter().any(|column| record.cell(*column).is_some())
        };
        let has_code = !codes(self.question).is_empty();
        let by_code = self.named.rows.iter().copied().filter(|row| has_code && has_cell(*row));
        let by_code = self.placed(by_code);
        if !by_code.is_empty() {
            return by_code;
        }
        self.placed(self.subjects.described(self.question, has_cell).0.into_iter())
    }

    /// Where rows stand, of those that say nearly all that the question does.
    fn placed(&self, rows: impl Iterator<Item = usize>) -> Vec<(u32, usize)> {
        let said = telling(self.question);
        let words: BTreeSet<&String> =
            said.iter().filter(|word| word.starts_with(char::is_alphabetic)).collect();
        let is_all = |row: &&Row<'_>| {
            let own = row.record.cells.iter().map(|cell| &cell.text).chain(&row.record.columns.names);
            let own: Vec<&str> = own.chain(&row.record.path).map(String::as_str).collect();
            let own = telling(&own.join(" "));
            let beside = words.iter().filter(|word| !own.contains(**word)).count();
            beside <= MOST_BESIDE.max(words.len() / LITTLE)
        };
        let rows = rows.filter_map(|row| self.rows.get(row)).filter(is_all);
        rows.map(|row| (row.source.number, row.record.span.start)).collect()
    }
}
