//! Tables whose columns are only aligned, between horizontal rules of one width.
//!
//! Each line of text is a row. Where lines leave white space at the same place, columns are parted; a
//! heading over several columns may cross it.

use super::glyphs::{Glyph, Rule};
use super::lines::{TextLine, line, on_baselines};
use super::placed::{PlacedTable, inside};
use crate::page::{Rect, Row, Table};

/// Rules that bound one table begin and end this near to each other.
const SAME_EXTENT: f32 = 8.0;
/// A narrower rule underlines something.
const NARROWEST: f32 = 120.0;
/// A gap wider than this share of the font's size parts two cells.
const CELL_GAP: f32 = 0.6;
/// Of the lines with several cells, this share may cross the white space between two columns.
const CROSSING: f32 = 0.17;
/// So many lines at least, each of them so long on average, are prose in columns.
const FEWEST_LINES: usize = 8;
const LONG_LINE: usize = 28;
/// A header has at most so many lines.
const LONGEST_HEAD: usize = 5;

/// A line, cut into the pieces that white space parts.
struct Pieces {
    pieces: Vec<TextLine>,
    place: Rect,
}

/// The tables between the horizontal rules of a page.
pub(crate) fn aligned(glyphs: &[Glyph], horizontals: &[Rule]) -> Vec<PlacedTable> {
    let mut groups: Vec<Vec<Rule>> = Vec::new();
    for rule in horizontals.iter().filter(|rule| rule.to - rule.from >= NARROWEST) {
        let fits = |group: &&mut Vec<Rule>| {
            (group[0].from - rule.from).abs() <= SAME_EXTENT && (group[0].to - rule.to).abs() <= SAME_EXTENT
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(*rule),
            None => groups.push(vec![*rule]),
        }
    }
    groups.iter().flat_map(|group| in_group(glyphs, group)).collect()
}

/// The tables between rules that begin and end alike, from top to bottom.
fn in_group(glyphs: &[Glyph], rules: &[Rule]) -> Vec<PlacedTable> {
    let mut tables = Vec::new();
    let mut bands: Vec<Vec<Pieces>> = Vec::new();
    let mut close = |bands: &mut Vec<Vec<Pieces>>| tables.extend(table(std::mem::take(bands)));
    for pair in rules.windows(2) {
        let place = Rect {
            left: pair[0].from - SAME_EXTENT,
            right: pair[0].to + SAME_EXTENT,
            top: pair[0].at - 1.0,
            bottom: pair[1].at,
        };
        let lines: Vec<Pieces> =
            on_baselines(&inside(glyphs, place)).into_iter().filter_map(pieces).collect();
        if lines.len() <= LONGEST_HEAD || is_tabular(&lines) {
            bands.push(lines);
        } else {
            close(&mut bands);
        }
    }
    close(&mut bands);
    tables
}

fn pieces(mut glyphs: Vec<Glyph>) -> Option<Pieces> {
    glyphs.sort_by(|a, b| a.place.left.total_cmp(&b.place.left));
    let place = Rect::around(glyphs.iter().map(|glyph| glyph.place))?;
    let mut pieces = Vec::new();
    let mut piece: Vec<Glyph> = Vec::new();
    for glyph in glyphs {
        let parted = piece
            .last()
            .is_some_and(|last| glyph.place.left - last.place.right > CELL_GAP * glyph.size.max(last.size));
        if parted {
            pieces.push(line(std::mem::take(&mut piece)));
        }
        piece.push(glyph);
    }
    pieces.push(line(piece));
    pieces.retain(|piece| !piece.text.is_empty());
    (!pieces.is_empty()).then_some(Pieces { pieces, place })
}

fn is_tabular(lines: &[Pieces]) -> bool {
    let parted = lines.iter().filter(|line| line.pieces.len() > 1).count();
    parted >= 2 && parted * 2 >= lines.len()
}

fn table(bands: Vec<Vec<Pieces>>) -> Option<PlacedTable> {
    let heads = if bands.len() > 1 && bands[0].len() <= LONGEST_HEAD { bands[0].len() } else { 0 };
    let lines: Vec<Pieces> = bands.into_iter().flatten().collect();
    if lines.len() < 2 || !is_tabular(&lines) {
        return None;
    }
    let gutters = gutters(&lines);
    if gutters.is_empty() {
        return None;
    }
    let place = Rect::around(lines.iter().map(|line| line.place))?;
    let rows: Vec<Row> = lines.iter().map(|line| row(line, &gutters)).collect();
    if is_prose(&rows, gutters.len() + 1) {
        return None;
    }
    let mut columns = vec![String::new(); gutters.len() + 1];
    for row in &rows[..heads] {
        let mut last = 0;
        for (column, name) in columns.iter_mut().enumerate() {
            if row.cells[column].is_some() {
                last = column;
            }
            super::entries::join(name, row.cell(last));
        }
    }
    Some(PlacedTable { table: Table { columns, heads, rows, continues: false }, place })
}

/// Whether every column is full of long lines, as where prose is set in columns.
fn is_prose(rows: &[Row], columns: usize) -> bool {
    let is_full = |column: usize| {
        let cells: Vec<usize> = rows.iter().map(|row| row.cell(column).chars().count()).collect();
        let said = cells.iter().filter(|length| **length > 0).count();
        said * 3 > cells.len() * 2 && cells.iter().sum::<usize>() > said * LONG_LINE
    };
    rows.len() >= FEWEST_LINES && (0..columns).all(is_full)
}

/// Where columns are parted: the middle of each white band.
fn gutters(lines: &[Pieces]) -> Vec<f32> {
    let parted: Vec<&Pieces> = lines.iter().filter(|line| line.pieces.len() > 1).collect();
    let Some(whole) = Rect::around(parted.iter().map(|line| line.place)) else { return Vec::new() };
    let width = (whole.right - whole.left).max(0.0) as usize + 1;
    let mut covered = vec![0_usize; width + 1];
    for piece in parted.iter().flat_map(|line| &line.pieces) {
        let at = |x: f32| ((x - whole.left).max(0.0) as usize).min(width);
        for count in &mut covered[at(piece.place.left)..=at(piece.place.right)] {
            *count += 1;
        }
    }
    let most = (parted.len() as f32 * CROSSING) as usize;
    let mut gutters = Vec::new();
    let mut from: Option<usize> = None;
    for (x, count) in covered.iter().enumerate().take(width) {
        if *count <= most {
            from.get_or_insert(x);
        } else if let Some(start) = from.take()
            && start > 0
        {
            gutters.push(whole.left + (start + x) as f32 / 2.0);
        }
    }
    gutters
}

/// A line as a row. A piece over several columns fills the first and is merged with the rest.
fn row(line: &Pieces, gutters: &[f32]) -> Row {
    let mut cells: Vec<Option<String>> = vec![Some(String::new()); gutters.len() + 1];
    let mut places: Vec<Option<Rect>> = vec![None; gutters.len() + 1];
    for piece in &line.pieces {
        let inset = 0.1 * piece.size;
        let first = gutters.partition_point(|gutter| *gutter < piece.place.left + inset);
        let last = gutters.partition_point(|gutter| *gutter < piece.place.right - inset).max(first);
        places[first] = Some(places[first].map_or(piece.place, |place| place.with(piece.place)));
        let taken = cells[first..=last].iter().all(|cell| cell.as_deref() == Some(""));
        if !taken {
            super::entries::join(cells[first].get_or_insert_default(), &piece.text);
            continue;
        }
        cells[first] = Some(piece.text.clone());
        cells[first + 1..=last].fill(None);
    }
    Row { cells, places, place: Some(line.place), ..Row::default() }
}
