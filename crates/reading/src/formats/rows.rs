//! Rows of values with separators between them, under a row of names. So many rows are a page.

use std::ops::Range;

use crate::child::decoded;
use crate::page::{Block, Page, PageKind, Row, Table};
use crate::protocol::{Failure, Output};

/// So many rows are a page.
const ROWS: usize = 1000;
/// What may stand between values; the one that the first line has most often does.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Reads some of the pages.
pub(super) fn read(bytes: Vec<u8>, wanted: Range<u32>, output: &mut Output<'_>) -> Result<(), Failure> {
    let text = decoded(&bytes);
    drop(bytes);
    let first = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default();
    let often = |separator: &u8| first.bytes().filter(|byte| byte == separator).count();
    let separator = SEPARATORS.into_iter().rev().max_by_key(often).unwrap_or(b',');
    let mut records = csv::ReaderBuilder::new()
        .delimiter(separator)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let names = records.headers().map_err(|_| Failure::Damaged)?.iter().map(str::to_owned).collect();
    let rows = records.records().map(|record| {
        record.map(|record| record.iter().map(str::to_owned).collect()).map_err(|_| Failure::Damaged)
    });
    tell(names, rows, wanted, output)
}

/// Tells the pages that are wanted of rows under their names, once it is known how many there are.
pub(super) fn tell(
    names: Vec<String>,
    rows: impl Iterator<Item = Result<Vec<String>, Failure>>,
    wanted: Range<u32>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let mut pages: Vec<Page> = Vec::new();
    let mut count = 0_usize;
    for row in rows {
        let row = row?;
        let at = u32::try_from(count / ROWS).map_err(|_| Failure::TooManyPages(u32::MAX))?;
        if wanted.contains(&at) {
            if pages.last().is_none_or(|page| page.number != at + 1) {
                pages.push(page(at + 1, names.clone()));
            }
            if let Some(Block::Table(table)) = pages.last_mut().and_then(|page| page.blocks.first_mut()) {
                let cells = row.into_iter().map(|cell| Some(cell).filter(|cell| !cell.is_empty())).collect();
                table.rows.push(Row { cells, ..Row::default() });
            }
        }
        count += 1;
    }
    let all = u32::try_from(count.div_ceil(ROWS).max(1)).map_err(|_| Failure::TooManyPages(u32::MAX))?;
    output.opened(all, None);
    if count == 0 && wanted.contains(&0) {
        pages.push(page(1, names));
    }
    for page in pages {
        output.page(page);
        if output.is_closed() {
            break;
        }
    }
    Ok(())
}

/// A page of a table that goes on over all pages.
fn page(number: u32, columns: Vec<String>) -> Page {
    let table = Table { columns, heads: 0, continues: number > 1, rows: Vec::new() };
    Page {
        number,
        width: 0.0,
        height: 0.0,
        kind: PageKind::Table,
        label: None,
        skipped: None,
        remarks: Vec::new(),
        blocks: vec![Block::Table(table)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ReaderMessage;

    fn pages(text: &str, wanted: Range<u32>) -> (u32, Vec<Page>) {
        let mut said = Vec::new();
        read(text.as_bytes().to_vec(), wanted, &mut Output::new(&mut said)).unwrap();
        let mut found = (0, Vec::new());
        for line in String::from_utf8(said).unwrap().lines() {
            match serde_json::from_str(line).unwrap() {
                ReaderMessage::Opened { pages, .. } => found.0 = pages,
                ReaderMessage::Page(page) => found.1.push(page),
                _ => {}
            }
        }
        found
    }

    fn table(page: &Page) -> &Table {
        let Some(Block::Table(table)) = page.blocks.first() else { panic!("{page:?}") };
        table
    }

    #[test]
    fn the_first_line_tells_what_separates() {
        for text in ["a,b\n1,2\n", "\u{feff}a;b\r\n1;2\r\n", "a\tb\n1\t2", "a|b\n 1 |2"] {
            let (count, pages) = pages(text, 0..9);
            assert_eq!((count, table(&pages[0]).columns.clone()), (1, vec!["a".to_owned(), "b".to_owned()]));
            assert_eq!(table(&pages[0]).rows[0].cell(1), "2", "{text}");
        }
    }

    #[test]
    fn a_row_may_have_another_number_of_cells_and_lines_in_them() {
        let (_, pages) = pages("a,b\n\"1\n2\",3\n4\n", 0..1);
        let table = table(&pages[0]);
        assert_eq!((table.rows[0].cell(0), table.rows[1].cells.len()), ("1\n2", 1));
    }

    #[test]
    fn a_thousand_rows_are_a_page() {
        let text = format!("a\n{}", "7\n".repeat(2001));
        let (count, pages) = pages(&text, 1..3);
        assert_eq!((count, pages.len()), (3, 2));
        assert_eq!((table(&pages[0]).rows.len(), table(&pages[1]).rows.len()), (1000, 1));
        assert!(table(&pages[0]).continues);
    }
}
