//! Which cells of tables a question asks for.

use std::collections::BTreeSet;

use ibid_core::value::{Worth, values};

use super::subject::{Named, Subjects, telling};
use super::{Row, rows_of};
use crate::records::Record;
use crate::source::Source;

/// A question that asks for cells says at most so many words that are neither in their row nor in names of columns.
/// A long question says one more for each so many words.
const MOST_BESIDE: usize = 2;
const LITTLE: usize = 3;

/// Which cells of tables a question asks for.
pub(crate) struct AskedCells {
    subjects: Subjects,
    named: Named,
    /// The rows that it names, by the numbers of their sources and where they begin, if it asks for nothing but cells of them.
    rows: Vec<(u32, usize)>,
    has_column: bool,
}

impl AskedCells {
    /// Those that a question names, of the tables in some sources.
    pub(crate) fn of(question: &str, sources: &[&Source]) -> Self {
        let rows = rows_of(sources);
        let subjects = Subjects::of(&rows);
        let named = subjects.named(question, &[]);
        let mut asked = Self { subjects, named, rows: Vec::new(), has_column: false };
        let said = telling(question);
        let has_cell = |row: usize| {
            let record = &rows[row].record;
            asked.in_row(record).iter().any(|column| record.cell(*column).is_some())
        };
        let words: BTreeSet<&String> =
            said.iter().filter(|word| word.starts_with(char::is_alphabetic)).collect();
        let is_all = |row: &Row<'_>| {
            let own = row.record.cells.iter().map(|cell| &cell.text).chain(&row.record.columns.names);
            let own: Vec<&str> = own.chain(&row.record.path).map(String::as_str).collect();
            let own = telling(&own.join(" "));
            let beside = words.iter().filter(|word| !own.contains(**word)).count();
            beside <= MOST_BESIDE.max(words.len() / LITTLE)
        };
        let placed = |named: Vec<usize>| -> Vec<(u32, usize)> {
            let named = named.into_iter().filter_map(|row| rows.get(row)).filter(|row| is_all(row));
            named.map(|row| (row.source.number, row.record.span.start)).collect()
        };
        let has_code = values(question).iter().any(|value| matches!(value.worth, Worth::Code(_)));
        let by_code = asked.named.rows.iter().copied().filter(|row| has_code && has_cell(*row));
        let by_code = placed(by_code.collect());
        let found =
            if by_code.is_empty() { placed(asked.subjects.described(question, has_cell).0) } else { by_code };
        asked.has_column = rows.iter().any(|row| !asked.in_row(&row.record).is_empty());
        asked.rows = found;
        asked
    }

    /// The rows that a question names, by the numbers of their sources and where they begin, if it asks for nothing but cells
    /// of them.
    pub(crate) fn rows(&self) -> &[(u32, usize)] {
        &self.rows
    }

    /// Whether a column of some table is asked for.
    pub(crate) fn has_column(&self) -> bool {
        self.has_column
    }

    /// The columns of a row that are asked for; none if that is not clear.
    pub(crate) fn in_row(&self, record: &Record) -> Vec<usize> {
        let columns = self.subjects.columns(record, &self.named);
        // Words that most columns share tell none of them.
        if columns.len() * 2 > record.columns.names.len() { Vec::new() } else { columns }
    }
}
