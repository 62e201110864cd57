//! Tables as data. The cells of a row stand in the text of its passage, on one line and parted by bars; what the text does not
//! tell is kept beside it: which table a row belongs to, what its columns hold, and what governs it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::{Worth, values};

/// What parts two cells of a row.
pub const BAR: &str = " | ";

/// Of the cells of a column that say something, this share decides what it holds.
const MOST: f64 = 0.7;

/// A heading over several columns has at least so many words.
const SHORTEST_HEADING: usize = 2;

/// The rows of one table in a passage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableRows {
    /// Which table of the document, from 1. One that goes on over several pages is one.
    pub table: u32,
    /// Its columns.
    pub columns: Vec<TableColumn>,
    /// What stands over its rows, from the highest; a row says which of them.
    pub paths: Vec<Vec<String>>,
    /// Its rows.
    pub rows: Vec<TableRow>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableColumn {
    /// Its name; empty if the table gives none.
    pub name: String,
    /// What it holds.
    pub kind: CellKind,
}

/// What the cells of a column hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellKind {
    /// Codes, such as 8539.52.00.
    Code,
    /// Rates, such as 2.5% or Free.
    Rate,
    /// Amounts and other numbers.
    Amount,
    /// Dates.
    Date,
    /// Anything else.
    #[default]
    Text,
}

/// A row of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableRow {
    /// Where its line begins in the text of the passage, in bytes.
    pub at: u32,
    /// Which of the paths stands over it.
    pub path: u32,
    /// What it has from the row that governs it where its own cells are empty, by column.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inherited: BTreeMap<u32, String>,
}

/// A row with its cells.
#[derive(Debug, Clone)]
pub struct TableRecord<'a> {
    /// The table that it belongs to.
    pub table: &'a TableRows,
    /// What stands over it, from the highest.
    pub path: &'a [String],
    /// Its cells, one for each column.
    pub cells: Vec<TableCell<'a>>,
    /// Where its line stands in the text.
    pub span: Range<usize>,
}

/// A cell of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct TableCell<'a> {
    /// What it says, without the marks of notes.
    pub text: Cow<'a, str>,
    /// Where it stands in the text; the cell itself is empty where it has what governs the row.
    pub span: Range<usize>,
    /// Whether it has this from the row that governs its row.
    pub is_inherited: bool,
}

impl TableRecord<'_> {
    /// Whether it only stands over others: one cell alone says something.
    pub fn is_heading(&self) -> bool {
        self.cells.iter().filter(|cell| !cell.text.is_empty() && !cell.is_inherited).count() < 2
    }
}

impl TableRows {
    /// Its rows with their cells, out of the text of their passage.
    pub fn records<'a>(&'a self, text: &'a str) -> impl Iterator<Item = TableRecord<'a>> {
        self.rows.iter().filter_map(move |row| {
            let begins = usize::try_from(row.at).ok()?;
            let line = text.get(begins..)?.lines().next()?;
            let path = self.paths.get(row.path as usize).map_or(&[][..], Vec::as_slice);
            let mut cells = cells(line, begins);
            for (column, cell) in cells.iter_mut().enumerate().filter(|(_, cell)| cell.text.is_empty()) {
                let column = u32::try_from(column).unwrap_or(u32::MAX);
                if let Some(above) = row.inherited.get(&column) {
                    (cell.text, cell.is_inherited) = (without_notes(above), true);
                }
            }
            Some(TableRecord { table: self, path, cells, span: begins..begins + line.len() })
        })
    }

    /// The same rows in a text that has them so many bytes further on, without those before.
    pub fn moved(&self, from: usize, to: usize) -> Self {
        let rows = self.rows.iter().filter(|row| row.at as usize >= from).map(|row| {
            let at = u32::try_from(row.at as usize - from + to).unwrap_or(u32::MAX);
            TableRow { at, ..row.clone() }
        });
        Self { rows: rows.collect(), ..self.clone() }
    }
}

/// The cells of a line that begins so many bytes into a text. A bar at its very beginning or end parts nothing but itself.
pub fn cells(line: &str, begins: usize) -> Vec<TableCell<'_>> {
    let mut at = begins;
    let mut cells = Vec::new();
    let mut rest = line;
    if let Some(after) = line.strip_prefix("| ") {
        cells.push(TableCell { text: Cow::Borrowed(""), span: at..at, is_inherited: false });
        (rest, at) = (after, at + 2);
    }
    for cell in rest.split(BAR) {
        let inner = cell.trim_matches(['|', ' ']);
        let start = at + cell.find(inner).unwrap_or_default();
        at += cell.len() + BAR.len();
        cells.push(TableCell {
            text: without_notes(inner),
            span: start..start + inner.len(),
            is_inherited: false,
        });
    }
    cells
}

/// The mark of a note behind what a cell says, such as 5/ in brackets.
static NOTE: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the pattern is written here and tested")]
    Regex::new(r"\s*\[(?:\d{1,3}/|[*\u{2020}\u{2021}]{1,3})\]").expect("a pattern that can be read")
});

/// What a cell says, without the marks of notes.
pub fn without_notes(cell: &str) -> Cow<'_, str> {
    NOTE.replace_all(cell, "")
}

impl CellKind {
    /// What cells hold, the empty ones left out.
    pub fn of<'a>(cells: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = 0_usize;
        let mut counts = [(Self::Code, 0_usize), (Self::Rate, 0), (Self::Amount, 0), (Self::Date, 0)];
        for cell in cells {
            let cell = without_notes(cell);
            let cell = cell.trim();
            if cell.is_empty() {
                continue;
            }
            all += 1;
            let kind = kind_of(cell);
            if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == kind) {
                *count += 1;
            }
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        match most {
            Some((kind, count)) if count > 0 && count as f64 >= MOST * all as f64 => kind,
            _ => Self::Text,
        }
    }
}

/// What one cell holds.
fn kind_of(cell: &str) -> CellKind {
    let is_free = ["free", "libre", "exento"].iter().any(|word| {
        let begins = cell.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
        begins && !cell[word.len()..].starts_with(char::is_alphanumeric)
    });
    let is_share = cell.contains(['%', '\u{a2}']) && cell.starts_with(|first: char| first.is_ascii_digit());
    if is_free || is_share {
        return CellKind::Rate;
    }
    let found = values(cell);
    let [value] = found.as_slice() else { return CellKind::Text };
    let beside = cell.chars().count() - value.written.chars().count();
    match value.worth {
        Worth::Code(_) if beside == 0 => CellKind::Code,
        Worth::Date(_) if beside <= 2 => CellKind::Date,
        Worth::Percent(_) => CellKind::Rate,
        Worth::Number(_) if beside <= 6 => CellKind::Amount,
        _ => CellKind::Text,
    }
}

/// The names of columns as a person would say them. Of several under one heading, such as "Rates of Duty 1 General" and
/// "Rates of Duty 2", what tells them apart comes first: "Column 1 General Rates of Duty".
pub fn readable_names(columns: &[&str]) -> Vec<String> {
    let words: Vec<Vec<&str>> = columns.iter().map(|name| name.split_whitespace().collect()).collect();
    let shared = |column: usize| {
        let others = words.iter().enumerate().filter(|(other, _)| *other != column);
        let alike =
            others.map(|(_, other)| words[column].iter().zip(other).take_while(|(a, b)| a == b).count());
        // Those under the heading share all of it, and perhaps more.
        alike.filter(|alike| *alike >= SHORTEST_HEADING).min().unwrap_or(0)
    };
    let named = (0..columns.len()).map(|column| {
        let (heading, own) = words[column].split_at(shared(column).min(words[column].len()));
        let is_number = |word: &&str| word.chars().all(|letter| letter.is_ascii_digit());
        // "Column 1 general rate" is how a person says it.
        if heading.is_empty() || own.is_empty() || heading.last().is_some_and(is_number) {
            return columns[column].to_owned();
        }
        let is_number = is_number(&own[0]);
        let column = if is_number { "Column " } else { "" };
        format!("{column}{} {}", own.join(" "), heading.join(" "))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_with_their_cells_and_what_governs_them() {
        let text = "Code | Article | General\n8539.31.00 | Lamps: | 2.4% [5/]\n8539.31.00.40 | Tubes | ";
        let table = TableRows {
            table: 1,
            columns: Vec::new(),
            paths: vec![Vec::new(), vec!["8539.31.00 Lamps".to_owned()]],
            rows: vec![
                TableRow { at: 25, ..TableRow::default() },
                TableRow { at: 59, path: 1, inherited: BTreeMap::from([(2, "2.4% [5/]".to_owned())]) },
            ],
        };
        let records: Vec<TableRecord<'_>> = table.records(text).collect();
        let said: Vec<&str> = records[0].cells.iter().map(|cell| cell.text.as_ref()).collect();
        assert_eq!(said, ["8539.31.00", "Lamps:", "2.4%"]);
        assert_eq!(&text[records[0].cells[2].span.clone()], "2.4% [5/]");
        let last = &records[1].cells[2];
        assert_eq!((last.text.as_ref(), last.is_inherited), ("2.4%", true));
        assert_eq!(records[1].path, ["8539.31.00 Lamps"]);
        let moved = table.moved(59, 0);
        assert_eq!(moved.records(&text[59..]).next().unwrap().cells[1].text, "Tubes");
    }

    #[test]
    fn columns_hold_what_most_of_their_cells_are() {
        for (cells, kind) in [
            (&["8539.52.00", "", "8539.51.00.40"][..], CellKind::Code),
            (&["2%", "Free [5/]", "", "Free (A, AU)", "3.5\u{a2}/kg + 2%"], CellKind::Rate),
            (&["1,234", "$ 5.20", "(17)", "9 kg"], CellKind::Amount),
            (&["July 6, 2018", "2018-07-06"], CellKind::Date),
            (&["LED lamps", "Tubes of 29 cm", "5"], CellKind::Text),
            (&["", ""], CellKind::Text),
        ] {
            assert_eq!(CellKind::of(cells.iter().copied()), kind, "{cells:?}");
        }
    }

    #[test]
    fn columns_under_one_heading_are_told_apart_first() {
        let columns =
            ["Code", "Rates of Duty 1 General", "Rates of Duty 1 Special", "Rates of Duty 2", "Unit of Sale"];
        let expected = [
            "Code",
            "Column 1 General Rates of Duty",
            "Column 1 Special Rates of Duty",
            "Column 2 Rates of Duty",
            "Unit of Sale",
        ];
        assert_eq!(readable_names(&columns), expected);
        assert_eq!(readable_names(&["Price in euros", "Price in euros"]), ["Price in euros"; 2]);
        let said = ["Column 1 general rate", "Column 1 special rate", "Column 2 rate"];
        assert_eq!(readable_names(&said), said);
    }
}
