//! Sheets of spreadsheets: from cells to tables under their names and texts between them. So many rows are a page.

use std::collections::{HashMap, HashSet};

use super::grid::{Cell, Grid, MOST_COLUMNS};
use crate::formats::blocks::{page, tidy};
use crate::page::{Block, Page, PageLabel, PageUnit, Rect, Skip};

/// So many rows are a page, as of other files with rows.
const ROWS: usize = 1000;
/// A file has at most so many cells that say something.
pub(super) const MOST_CELLS: usize = 5_000_000;
/// A cell takes at most so many columns and rows.
const MOST_SPANNED: (u32, u32) = (50, 500);
/// So many places of a sheet can be reached by other cells.
const MOST_MERGED: usize = 1_000_000;

/// What a cell shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shown {
    pub(super) text: String,
    /// Whether it is a number or date, and no word.
    pub(super) is_value: bool,
}

/// Places that other cells reach, by row and column: whether the one that reaches there is in a row above.
#[derive(Default)]
pub(super) struct Merged(HashMap<(u32, u32), bool>);

impl Merged {
    /// Notes a cell that takes the places from its first row and column to the last ones.
    pub(super) fn add(&mut self, (top, left): (u32, u32), (bottom, right): (u32, u32)) {
        for row in top..=bottom.min(top.saturating_add(MOST_SPANNED.1)) {
            for column in left..=right.min(left.saturating_add(MOST_SPANNED.0)) {
                if (row, column) != (top, left) && self.0.len() < MOST_MERGED {
                    self.0.insert((row, column), column == left);
                }
            }
        }
    }
}

/// A sheet as a person sees it.
#[derive(Default)]
pub(super) struct Sheet {
    pub(super) name: String,
    pub(super) is_hidden: bool,
    /// The cells that say something: number of the row, then of the column, both from 0, in this order.
    pub(super) rows: Vec<(u32, Vec<(u32, Shown)>)>,
    /// Places that another cell reaches.
    pub(super) merged: Merged,
    /// Rows that are left out, and part nothing.
    pub(super) hidden_rows: HashSet<u32>,
    pub(super) remarks: Vec<String>,
}

/// The pages of some sheets. A hidden sheet is a page that is left out.
pub(super) fn pages(sheets: Vec<Sheet>) -> Vec<Page> {
    let mut pages = Vec::new();
    for sheet in sheets {
        let first = pages.len();
        let (name, remarks, is_hidden) = (sheet.name.clone(), sheet.remarks.clone(), sheet.is_hidden);
        let parts = if is_hidden { vec![Part::default()] } else { parts(sheet) };
        for Part { blocks, continues, .. } in parts {
            let mut page = page(u32::try_from(pages.len() + 1).unwrap_or(u32::MAX), blocks);
            page.label = Some(PageLabel { unit: PageUnit::Sheet, name: name.clone() });
            page.skipped = is_hidden.then_some(Skip::Hidden);
            if let Some(Block::Table(table)) = page.blocks.first_mut() {
                table.continues = continues;
            }
            pages.push(page);
        }
        pages[first].remarks = remarks;
    }
    pages
}

/// What stands on a page of a sheet, and whether its first table goes on from the page before.
#[derive(Default)]
struct Part {
    blocks: Vec<Block>,
    continues: bool,
    rows: usize,
}

fn parts(sheet: Sheet) -> Vec<Part> {
    let mut parts = vec![Part::default()];
    for region in regions(sheet.rows, &sheet.hidden_rows) {
        let width = width(&region);
        let heads = header(&region, width);
        for (at, piece) in region.chunks(ROWS).enumerate() {
            let goes_on = at > 0;
            let rows = parts.last().map_or(0, |part| part.rows);
            if rows > 0 && rows + piece.len() > ROWS {
                parts.push(Part { continues: goes_on, ..Part::default() });
            }
            let Some(part) = parts.last_mut() else { continue };
            part.rows += piece.len();
            // A line alone says something of what follows it.
            if width.1 - width.0 == 1 {
                part.blocks.extend(piece.iter().filter_map(text));
                continue;
            }
            let mut grid = Grid::default();
            // What goes on has the names of the first page, which are taken away again once the columns have them.
            let names = if goes_on { &region[..heads] } else { &[] };
            for (row, cells) in names.iter().chain(piece) {
                let (cells, places) = laid_out(*row, cells, width, &sheet.merged);
                grid.push(cells, places);
            }
            let mut table = grid.finish(heads);
            if let Some(Block::Table(table)) = table.as_mut().filter(|_| goes_on) {
                table.rows.drain(..heads.min(table.rows.len()));
                table.heads = 0;
            }
            part.blocks.extend(table);
        }
    }
    parts
}

/// A row with one cell as a text.
fn text((row, cells): &(u32, Vec<(u32, Shown)>)) -> Option<Block> {
    let (column, shown) = cells.first()?;
    let mut lines = tidy(&shown.text);
    lines.first_mut()?.place = Some(place(*column, *row));
    Some(Block::Text { lines })
}

type Rows = Vec<(u32, Vec<(u32, Shown)>)>;

/// Rows that empty rows part, and titles apart from the table below them.
fn regions(rows: Rows, hidden: &HashSet<u32>) -> Vec<Rows> {
    let mut regions: Vec<Rows> = Vec::new();
    for (row, cells) in rows {
        if cells.iter().all(|(_, shown)| shown.text.trim().is_empty()) {
            continue;
        }
        let is_title = cells.len() == 1 && !cells[0].1.is_value;
        let goes_on = regions.last().is_some_and(|region: &Rows| {
            let (last, before) = &region[region.len() - 1];
            let titles_only = region.iter().all(|(_, cells)| cells.len() == 1);
            (last + 1..row).all(|between| hidden.contains(&between))
                && !(titles_only && !is_title && before.len() == 1 && cells.len() > 1)
        });
        match regions.last_mut().filter(|_| goes_on) {
            Some(region) => region.push((row, cells)),
            None => regions.push(vec![(row, cells)]),
        }
    }
    regions
}

/// The first column that a region has, and the one behind its last.
fn width(region: &Rows) -> (u32, u32) {
    let columns = || region.iter().flat_map(|(_, cells)| cells.iter().map(|(column, _)| *column));
    let first = columns().min().unwrap_or_default();
    let last = columns().max().unwrap_or_default();
    (first, (last + 1).min(first + MOST_COLUMNS as u32))
}

/// How many of the first rows name the columns: one, if it has words only and fills most of the width.
fn header(region: &Rows, (first, end): (u32, u32)) -> usize {
    let Some((_, cells)) = region.first().filter(|_| region.len() > 1) else { return 0 };
    let names = cells.iter().filter(|(_, shown)| !shown.is_value && !shown.text.trim().is_empty()).count();
    usize::from(names == cells.len() && names * 2 > (end - first) as usize)
}

/// A row with a cell for each column, and where each stands.
fn laid_out(
    row: u32,
    cells: &[(u32, Shown)],
    (first, end): (u32, u32),
    merged: &Merged,
) -> (Vec<Cell>, Vec<Option<Rect>>) {
    let mut laid = Vec::new();
    let mut places = Vec::new();
    let mut own = cells.iter().peekable();
    for column in first..end {
        while own.next_if(|(at, _)| *at < column).is_some() {}
        let shown = own.next_if(|(at, _)| *at == column).map(|(_, shown)| shown.text.as_str());
        let text: Vec<&str> = shown.unwrap_or_default().split_whitespace().collect();
        laid.push(match merged.0.get(&(row, column)).filter(|_| text.is_empty()) {
            Some(true) => Cell::Above,
            Some(false) => Cell::Left,
            None => Cell::Own(text.join(" ")),
        });
        places.push(shown.map(|_| place(column, row)));
    }
    (laid, places)
}

/// The place of a cell, counted in columns and rows.
fn place(column: u32, row: u32) -> Rect {
    Rect { left: column as f32, top: row as f32, right: column as f32 + 1.0, bottom: row as f32 + 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(texts: &[&str]) -> Vec<(u32, Shown)> {
        let shown = |text: &&str| Shown { text: (*text).to_owned(), is_value: text.parse::<f64>().is_ok() };
        (0..)
            .zip(texts)
            .filter(|(_, text)| !text.is_empty())
            .map(|(column, text)| (column, shown(text)))
            .collect()
    }

    fn read(rows: &[(u32, &[&str])]) -> Vec<Page> {
        let rows = rows.iter().map(|(row, texts)| (*row, cells(texts))).collect();
        pages(vec![Sheet { name: "Rates".to_owned(), rows, ..Sheet::default() }])
    }

    #[test]
    fn a_title_stands_over_its_table() {
        let pages = read(&[
            (0, &["Rates of 2025"]),
            (2, &["Code", "Rate"]),
            (3, &["8539", "2"]),
            (4, &["8540", "3"]),
        ]);
        assert_eq!(pages[0].blocks[0].text(), "Rates of 2025");
        let Block::Table(table) = &pages[0].blocks[1] else { panic!("{pages:?}") };
        assert_eq!(
            (&*table.columns, table.heads, table.rows.len()),
            (&["Code".to_owned(), "Rate".to_owned()][..], 1, 3)
        );
        assert_eq!(table.rows[1].places[1], Some(Rect { left: 1.0, top: 3.0, right: 2.0, bottom: 4.0 }));
        assert_eq!(pages[0].label.as_ref().unwrap().name, "Rates");
    }

    #[test]
    fn rows_of_values_have_no_header() {
        let pages = read(&[(0, &["1", "2"]), (1, &["3", "4"])]);
        let Block::Table(table) = &pages[0].blocks[0] else { panic!("{pages:?}") };
        assert_eq!((table.heads, table.rows.len()), (0, 2));
    }

    #[test]
    fn a_long_table_goes_on_over_pages_under_its_names() {
        let numbers: Vec<String> = (0..2500).map(|number| number.to_string()).collect();
        let mut rows = vec![(0, cells(&["Number", "Again"]))];
        rows.extend(numbers.iter().zip(1..).map(|(number, row)| (row, cells(&[number, number]))));
        let pages = pages(vec![Sheet { rows, ..Sheet::default() }]);
        assert_eq!(pages.len(), 3);
        let all: usize = pages
            .iter()
            .map(|page| {
                let Block::Table(table) = &page.blocks[0] else { panic!() };
                assert_eq!(table.columns, ["Number", "Again"]);
                assert_eq!(table.continues, page.number > 1);
                table.rows.len() - table.heads
            })
            .sum();
        assert_eq!(all, 2500);
    }
}
