//! Quotations from tables: pieces in later and later cells of a row, with what governs the row before them.

use std::collections::HashSet;
use std::ops::Range;

use super::bare::Bare;

/// A row of a table: its cells, and where they begin in the text.
pub(super) struct Row(Vec<(Bare, usize)>);

impl Row {
    /// The rows in a text.
    pub(super) fn all(text: &str) -> Vec<Self> {
        let mut rows = Vec::new();
        let mut begins = 0;
        for line in text.split_inclusive('\n') {
            if line.contains(" | ") {
                let mut at = begins;
                let cells = line.split('|').map(|cell| {
                    let placed = (Bare::of(cell), at);
                    at += cell.len() + 1;
                    placed
                });
                rows.push(Self(cells.collect()));
            }
            begins += line.len();
        }
        rows
    }
}

/// Where the parts of a quotation stand. They may leave out cells of a row, and rows; but a row that they go on with
/// begins with its first cell, which says what the row is about.
pub(super) fn in_rows(parts: &[Bare], path: &[Bare], rows: &[Row]) -> Option<Vec<Range<usize>>> {
    rows.iter().enumerate().find_map(|(first, row)| {
        let mut place = Place { row: first, cell: 0 };
        let mut spans = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let here = Cells { path, row, part };
            let found = if number == 0 {
                here.pieces(0)
            } else {
                Cells { path: &[], row: &rows[place.row], part }.pieces(place.cell)
            };
            let found = found.or_else(|| {
                let later = rows.iter().enumerate().skip(place.row + 1).filter(|_| number > 0);
                later.into_iter().find_map(|(index, row)| {
                    let found = Cells { path: &[], row, part }.whole_row()?;
                    place.row = index;
                    Some(found)
                })
            });
            let (pieces, next) = found?;
            spans.extend(pieces);
            place.cell = next;
        }
        Some(spans)
    })
}

/// How far the parts have come.
struct Place {
    row: usize,
    cell: usize,
}

/// One part in one row.
struct Cells<'a> {
    path: &'a [Bare],
    row: &'a Row,
    part: &'a Bare,
}

/// Where the pieces stand, and the cell after the last.
type Pieces = (Vec<Range<usize>>, usize);

impl Cells<'_> {
    /// Pieces of the part in what governs the row and in its cells from one on.
    fn pieces(&self, cell: usize) -> Option<Pieces> {
        let governs = self.path.iter().map(|heading| (heading, None));
        let stands = self.row.0.iter().enumerate().skip(cell);
        let stands = stands.map(|(number, (bare, at))| (bare, Some((number, *at))));
        let all: Vec<_> = governs.chain(stands).collect();
        let mut failed = HashSet::new();
        self.rest(&all, 0, 0, &mut failed)
    }

    /// The same, beginning with the first cell that says something.
    fn whole_row(&self) -> Option<Pieces> {
        let first = self.row.0.iter().position(|(bare, _)| !bare.is_empty())?;
        let (_, found) = self.row.0[first].0.longest(self.part, 0)?;
        if found.start == 0 { self.pieces(first) } else { None }
    }

    fn rest(
        &self,
        cells: &[(&Bare, Option<(usize, usize)>)],
        from: usize,
        cell: usize,
        failed: &mut HashSet<(usize, usize)>,
    ) -> Option<Pieces> {
        let from = self.part.after_gap(from);
        if from == self.part.len() {
            return Some((Vec::new(), 0));
        }
        if failed.contains(&(from, cell)) {
            return None;
        }
        for (index, (bare, stands)) in cells.iter().enumerate().skip(cell) {
            let Some((end, found)) = bare.longest(self.part, from) else { continue };
            let Some((mut spans, next)) = self.rest(cells, end, index + 1, failed) else { continue };
            let mut after = next;
            if let Some((number, at)) = stands {
                let span = bare.in_text(&found);
                spans.insert(0, at + span.start..at + span.end);
                after = after.max(number + 1);
            }
            return Some((spans, after));
        }
        failed.insert((from, cell));
        None
    }
}
