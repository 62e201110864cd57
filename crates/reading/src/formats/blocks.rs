//! What parsers of texts share: pages, lines and tables.

use crate::page::{Block, Line, Page, PageKind, Table};

/// A page with its kind, which its blocks tell.
pub(super) fn page(number: u32, blocks: Vec<Block>) -> Page {
    let kind = if blocks.iter().any(|block| matches!(block, Block::Table(_))) {
        PageKind::Table
    } else if blocks.is_empty() {
        PageKind::Empty
    } else {
        PageKind::Text
    };
    Page { number, width: 0.0, height: 0.0, kind, label: None, skipped: None, remarks: Vec::new(), blocks }
}

/// A line that stands nowhere in particular.
pub(super) fn line(text: &str) -> Line {
    Line { text: text.to_owned(), place: None }
}

/// Lines of a text with the spaces of each made single; empty ones left out.
pub(super) fn tidy(text: &str) -> Vec<Line> {
    text.lines()
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|text| !text.is_empty())
        .map(|text| line(&text))
        .collect()
}

/// A table with the names of its columns.
pub(super) fn table(mut table: Table) -> Option<Block> {
    let width = table.rows.iter().map(|row| row.cells.len()).max()?;
    for row in &mut table.rows {
        row.cells.resize(width, Some(String::new()));
    }
    if let Some(first) = table.rows.first().filter(|_| table.columns.is_empty() && table.heads > 0) {
        table.columns = (0..width).map(|column| first.cell(column).to_owned()).collect();
    }
    table.columns.resize(width, String::new());
    Some(Block::Table(table))
}

/// Adds a row of the header to the names of the columns: one that goes over several names each of them.
pub(super) fn name_columns(columns: &mut Vec<String>, cells: &[Option<String>]) {
    columns.resize(cells.len().max(columns.len()), String::new());
    let mut over = "";
    for (name, cell) in columns.iter_mut().zip(cells) {
        over = cell.as_deref().unwrap_or(over);
        if !name.ends_with(over) {
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(over);
        }
    }
}
