//! Rows of a table that has rules between its columns and none between its rows.
//!
//! What starts an entry: a code or a suffix in a column left of the description, the end of the entry
//! before (its dots, its amounts), another indent, or a gap. Codes stand on the first line of an
//! entry, amounts on its last, and long amounts run on below it.

use super::glyphs::Glyph;
use super::lines::{TextLine, lines};
use crate::page::{Rect, Row};

/// An indent differs by more than this share of the font's size.
const INDENT: f32 = 0.45;
/// A gap is so many times the usual distance of two lines.
const GAP: f32 = 1.55;

/// A column of the page, from its left rule to its right one.
pub(crate) type Column = (f32, f32);

/// The entries of the part of a table where its rows have no rules. `glyphs` are those of that part.
pub(crate) fn entries(columns: &[Column], glyphs: &[Glyph]) -> Vec<Row> {
    let in_columns: Vec<Vec<TextLine>> =
        columns.iter().map(|column| lines(&within(*column, glyphs))).collect();
    let width = |column: usize| {
        if in_columns[column].is_empty() { 0.0 } else { columns[column].1 - columns[column].0 }
    };
    let widest = (0..columns.len()).max_by(|&a, &b| width(a).total_cmp(&width(b)));
    let Some(main) = widest else { return Vec::new() };
    let starts = starts(main, &in_columns);
    if starts.is_empty() {
        return Vec::new();
    }
    let mut rows: Vec<Row> = starts
        .iter()
        .map(|_| Row {
            cells: vec![None; columns.len()],
            places: vec![None; columns.len()],
            ..Row::default()
        })
        .collect();
    for (column, lines) in in_columns.iter().enumerate() {
        let mut last: Option<usize> = None;
        for line in lines {
            let open = |row: usize| column > main && unclosed(rows[row].cell(column));
            let row = match last {
                Some(last) if open(last) => last,
                _ => row_of(line, &starts),
            };
            add(&mut rows[row], column, line);
            if column == main && rows[row].depth.is_none() {
                rows[row].depth = Some((line.place.left - columns[main].0).max(0.0));
            }
            last = Some(row);
        }
    }
    rows.retain(|row| row.cells.iter().flatten().any(|cell| !cell.is_empty()));
    rows
}

/// Where an entry begins.
struct Start {
    baseline: f32,
    size: f32,
}

fn starts(main: usize, columns: &[Vec<TextLine>]) -> Vec<Start> {
    let lines = &columns[main];
    let level = |line: &TextLine, other: &TextLine| (line.baseline - other.baseline).abs() <= 0.5 * line.size;
    let pitch = usual_pitch(lines);
    let mut starts: Vec<Start> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let coded = columns[..main].iter().flatten().any(|code| level(line, code));
        let begins = match index.checked_sub(1).map(|before| &lines[before]) {
            None => true,
            Some(before) => {
                coded
                    || before.leads
                    || (line.place.left - before.place.left).abs() > INDENT * line.size
                    || line.baseline - before.baseline > GAP * pitch
                    || columns[main + 1..].iter().flatten().any(|amount| level(before, amount))
            }
        };
        if begins {
            starts.push(Start { baseline: line.baseline, size: line.size });
        }
    }
    // A code that stands beside no line of the description begins an entry too.
    for code in columns[..main].iter().flatten() {
        if !lines.iter().any(|line| level(line, code)) {
            let at = starts.partition_point(|start| start.baseline < code.baseline);
            if !starts.get(at).is_some_and(|next| next.baseline - code.baseline < pitch) {
                starts.insert(at, Start { baseline: code.baseline, size: code.size });
            }
        }
    }
    starts
}

/// The distance between lines that is most common.
fn usual_pitch(lines: &[TextLine]) -> f32 {
    let mut pitches: Vec<f32> = lines.windows(2).map(|pair| pair[1].baseline - pair[0].baseline).collect();
    pitches.sort_by(f32::total_cmp);
    pitches.get(pitches.len() / 4).copied().unwrap_or(12.0).max(4.0)
}

/// The entry that a line belongs to: the last one that began at it or above it.
fn row_of(line: &TextLine, starts: &[Start]) -> usize {
    starts.partition_point(|start| start.baseline <= line.baseline + 0.5 * start.size).saturating_sub(1)
}

fn within(column: Column, glyphs: &[Glyph]) -> Vec<Glyph> {
    glyphs.iter().filter(|glyph| (column.0..column.1).contains(&glyph.centre().0)).copied().collect()
}

fn unclosed(text: &str) -> bool {
    text.matches('(').count() > text.matches(')').count()
}

fn add(row: &mut Row, column: usize, line: &TextLine) {
    let cell = row.cells[column].get_or_insert_default();
    join(cell, &line.text);
    let around = |place: Option<Rect>| Some(place.map_or(line.place, |place| place.with(line.place)));
    row.places[column] = around(row.places[column]);
    row.place = around(row.place);
}

/// Continues a text on its next line.
pub(crate) fn join(text: &mut String, next: &str) {
    let hyphen = text.ends_with('-') && next.chars().next().is_some_and(char::is_alphanumeric);
    if !text.is_empty() && !next.is_empty() && !hyphen {
        text.push(' ');
    }
    text.push_str(next);
}
