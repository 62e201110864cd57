//! Rows of a table out of a text alone, where nothing else is known of it: what a tool gave back, and passages of a store that
//! keeps no tables. What governs a row is guessed by its code and by headings.

use std::sync::Arc;

use ibid_core::table::{TableCell, cells};

use super::{Cell, Columns, Record, is_row};

/// At least so many digits make a code.
const SHORTEST_CODE: usize = 4;

/// Whether a cell is a code.
pub(super) fn is_code(cell: &str) -> bool {
    cell.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
        && cell.chars().filter(char::is_ascii_digit).count() >= SHORTEST_CODE
}

/// The rows of all tables in a text.
pub(super) fn records(text: &str) -> Vec<Record> {
    let mut all = Vec::new();
    let mut table: Vec<(usize, &str)> = Vec::new();
    let mut begins = 0;
    for line in text.split_inclusive('\n').chain([""]) {
        let row = line.trim_end_matches(['\n', '\r']);
        if is_row(row) {
            table.push((begins, row));
        } else {
            all.extend(of_table(&std::mem::take(&mut table)));
        }
        begins += line.len();
    }
    all
}

/// The rows of one table. Its first line names the columns.
fn of_table(lines: &[(usize, &str)]) -> Vec<Record> {
    let Some(((_, header), rest)) = lines.split_first() else { return Vec::new() };
    // A table that goes on over pages names its columns again.
    let rows: Vec<Row<'_>> =
        rest.iter().filter(|(_, line)| line != header).map(|(at, line)| Row::of(line, *at)).collect();
    let names = cells(header, 0);
    let names: Vec<&str> = names.iter().map(|name| name.text.trim_matches(['|', ' '])).collect();
    let texts: Vec<Vec<&str>> =
        rows.iter().map(|row| row.cells.iter().map(|cell| cell.text.as_ref()).collect()).collect();
    let columns = Arc::new(Columns::new(&names, &texts));
    let told = (0..rows.len()).filter(|row| rows[*row].heading().is_none());
    told.map(|row| record(&rows, row, &columns)).collect()
}

struct Row<'a> {
    cells: Vec<TableCell<'a>>,
    /// The digits of its code.
    code: String,
    span: std::ops::Range<usize>,
}

impl<'a> Row<'a> {
    fn of(line: &'a str, at: usize) -> Self {
        let cells = cells(line, at);
        let first = cells.first().map(|cell| cell.text.as_ref()).filter(|first| is_code(first));
        let code = first.unwrap_or_default().chars().filter(char::is_ascii_digit).collect();
        Self { cells, code, span: at..at + line.len() }
    }

    fn cell(&self, column: usize) -> &str {
        self.cells.get(column).map_or("", |cell| cell.text.as_ref())
    }

    /// What it says, if that is a heading over the rows that follow.
    fn heading(&self) -> Option<&str> {
        let mut said = self.cells.iter().map(|cell| cell.text.as_ref()).filter(|cell| !cell.is_empty());
        let (only, more) = (said.next()?, said.next());
        (more.is_none() && only.ends_with(':')).then_some(only)
    }
}

fn record(rows: &[Row<'_>], row: usize, columns: &Arc<Columns>) -> Record {
    let own = &rows[row];
    let cells = own.cells.iter().enumerate().map(|(column, cell)| {
        let above = parents(rows, row).map(|parent| rows[parent].cell(column)).find(|cell| !cell.is_empty());
        match above.filter(|_| cell.text.is_empty()) {
            Some(above) => Cell { text: above.to_owned(), span: cell.span.clone(), is_inherited: true },
            None => Cell { text: cell.text.to_string(), span: cell.span.clone(), is_inherited: false },
        }
    });
    let cells = cells.collect();
    Record { columns: columns.clone(), cells, path: over(rows, row, columns), span: own.span.clone() }
}

/// The rows above whose codes this row's code goes on with, the nearest first.
fn parents<'a>(rows: &'a [Row<'a>], row: usize) -> impl Iterator<Item = usize> + 'a {
    let code = &rows[row].code;
    (0..row).rev().filter(move |above| {
        let other = &rows[*above].code;
        !other.is_empty() && other.len() < code.len() && code.starts_with(other.as_str())
    })
}

/// The headings over a row, from the highest: what governs it by its code, and the nearest heading above that it belongs to.
fn over(rows: &[Row<'_>], row: usize, columns: &Columns) -> Vec<String> {
    let described = columns.described.unwrap_or_default();
    let governing =
        parents(rows, row).map(|parent| rows[parent].cell(described)).filter(|cell| !cell.is_empty());
    let mut over: Vec<String> = governing.map(str::to_owned).collect();
    let heading = (0..row).rev().find(|above| rows[*above].heading().is_some());
    if let Some(heading) = heading.filter(|heading| governs(rows, *heading, row)) {
        over.extend(rows[heading].heading().map(str::to_owned));
    }
    over.reverse();
    over
}

/// Whether a heading is over a row: where there are codes, as long as they are of one group with the first one under the
/// heading, which they share all but the last digit that tells something with; else up to the next heading.
fn governs(rows: &[Row<'_>], heading: usize, row: usize) -> bool {
    let first =
        rows[heading..].iter().map(|row| row.code.trim_end_matches('0')).find(|code| !code.is_empty());
    let code = &rows[row].code;
    match first.filter(|_| !code.is_empty()) {
        Some(first) => code.starts_with(&first[..first.len() - 1]),
        None => true,
    }
}
