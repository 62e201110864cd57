//! Tables of office files: every place of the grid has a cell, also where another one reaches.

use super::super::blocks::{name_columns, table};
use crate::page::{Block, Rect, Row, Table, shortened};

/// What a cell says is repeated in the rows that it takes, up to this length.
const LONGEST_REPEATED: usize = 160;
/// A table has at most so many columns.
pub(super) const MOST_COLUMNS: usize = 500;

/// What stands at a place of the grid.
pub(super) enum Cell {
    /// A cell of its own.
    Own(String),
    /// The cell to its left reaches here.
    Left,
    /// The cell above reaches here.
    Above,
}

/// A table in the making.
#[derive(Default)]
pub(super) struct Grid {
    rows: Vec<Row>,
    above: Vec<String>,
}

impl Grid {
    /// Adds a row; its places are empty where the format has none.
    pub(super) fn push(&mut self, cells: Vec<Cell>, places: Vec<Option<Rect>>) {
        self.above.resize(cells.len().max(self.above.len()), String::new());
        let cells =
            cells.into_iter().take(MOST_COLUMNS).zip(&mut self.above).map(|(cell, above)| match cell {
                Cell::Own(text) => {
                    *above = shortened(&text, LONGEST_REPEATED);
                    Some(text)
                }
                Cell::Left => {
                    above.clear();
                    None
                }
                Cell::Above => Some(above.clone()).filter(|above| !above.is_empty()),
            });
        let cells = cells.collect();
        let place = Rect::around(places.iter().copied().flatten());
        self.rows.push(Row { cells, places, place, ..Row::default() });
    }

    /// The table, whose first rows are its header; none if it says nothing.
    pub(super) fn finish(self, heads: usize) -> Option<Block> {
        let says = |row: &Row| row.cells.iter().flatten().any(|cell| !cell.is_empty());
        if !self.rows.iter().any(says) {
            return None;
        }
        let heads = heads.min(self.rows.len().saturating_sub(1));
        let mut columns = Vec::new();
        for row in &self.rows[..heads] {
            name_columns(&mut columns, &row.cells);
        }
        table(Table { heads, columns, rows: self.rows, ..Table::default() })
    }
}
