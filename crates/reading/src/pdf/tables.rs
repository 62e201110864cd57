//! Tables that rules draw: their cells, their header, and the entries of columns without row rules.

use pdfplumber_core::{Cell, Edge, EdgeSource, Orientation, Table as Found, TableFinder, TableSettings};

use super::aligned::aligned;
use super::entries::{Column, entries, join};
use super::glyphs::{Glyph, Rule};
use super::lines::{TextLine, lines};
use super::placed::{PlacedTable, inside};
use crate::page::{Rect, Row, Table};

/// Rules that meet, or lie on one line, may miss each other by so much.
const NEAR: f32 = 3.0;
/// So many rules on a page draw a picture, not tables.
const MOST_RULES: usize = 20_000;
/// So many crossings of rules are graph paper or a map: cells are looked for in time that grows with their square.
const MOST_CROSSINGS: usize = 10_000;
/// A row taller than this may hold entries without rules between them.
const TALL: f32 = 60.0;
/// So many rows at the top may be a header.
const MOST_HEADS: usize = 4;

/// The tables of a page.
pub(crate) fn tables(glyphs: &[Glyph], rules: &[Rule]) -> Vec<PlacedTable> {
    if rules.len() > MOST_RULES {
        return Vec::new();
    }
    let edges = edges(rules);
    let upright = edges.iter().filter(|edge| edge.orientation == Orientation::Vertical).count();
    if upright * (edges.len() - upright) > MOST_CROSSINGS {
        return Vec::new();
    }
    let found = TableFinder::new(edges, TableSettings::default()).find_tables();
    let mut tables: Vec<PlacedTable> = found.iter().filter_map(|found| table(found, glyphs)).collect();
    let horizontals = merged(rules.iter().filter(|rule| !rule.vertical));
    let taken = |glyph: &Glyph| tables.iter().any(|table| table.holds(glyph));
    let free: Vec<Glyph> = glyphs.iter().filter(|glyph| !taken(glyph)).copied().collect();
    let aligned = aligned(&free, &horizontals);
    tables.extend(aligned);
    tables
}

/// The rules that can bound a cell.
fn edges(rules: &[Rule]) -> Vec<Edge> {
    let verticals = merged(rules.iter().filter(|rule| rule.vertical));
    let mut horizontals = merged(rules.iter().filter(|rule| !rule.vertical));
    let meets = |rule: &Rule, vertical: &Rule| {
        (rule.from - NEAR..=rule.to + NEAR).contains(&vertical.at)
            && (vertical.from - NEAR..=vertical.to + NEAR).contains(&rule.at)
    };
    // An underlined word touches no rule at its ends; a rule of a table crosses at least two.
    horizontals.retain(|rule| verticals.iter().filter(|vertical| meets(rule, vertical)).count() >= 2);
    horizontals.extend(open_ends(&verticals, &horizontals));
    verticals.iter().chain(&horizontals).map(edge).collect()
}

/// Columns that run to the foot of the page without a rule under them end where their rules end.
fn open_ends(verticals: &[Rule], horizontals: &[Rule]) -> Vec<Rule> {
    let mut ends: Vec<Rule> = Vec::new();
    for vertical in verticals.iter().filter(|rule| rule.to - rule.from > TALL) {
        let together: Vec<&Rule> = verticals
            .iter()
            .filter(|other| (other.to - vertical.to).abs() <= NEAR && other.to - other.from > TALL)
            .collect();
        let closed = horizontals.iter().chain(&ends).any(|rule| {
            (rule.at - vertical.to).abs() <= NEAR
                && (rule.from - NEAR..=rule.to + NEAR).contains(&vertical.at)
        });
        if together.len() >= 3 && !closed {
            let from = together.iter().map(|rule| rule.at).fold(f32::MAX, f32::min);
            let to = together.iter().map(|rule| rule.at).fold(f32::MIN, f32::max);
            ends.push(Rule { at: vertical.to, from, to, vertical: false });
        }
    }
    ends
}

/// Rules on one line that touch become one.
fn merged<'a>(rules: impl Iterator<Item = &'a Rule>) -> Vec<Rule> {
    let mut rules: Vec<Rule> = rules.copied().collect();
    rules.sort_by(|a, b| a.at.total_cmp(&b.at).then(a.from.total_cmp(&b.from)));
    let mut lines: Vec<Vec<Rule>> = Vec::new();
    for rule in rules {
        match lines.last_mut() {
            Some(line) if rule.at - line[0].at <= NEAR => line.push(rule),
            _ => lines.push(vec![rule]),
        }
    }
    let mut merged = Vec::new();
    for mut line in lines {
        let at = line.iter().map(|rule| rule.at).sum::<f32>() / line.len() as f32;
        line.sort_by(|a, b| a.from.total_cmp(&b.from));
        let mut current: Option<Rule> = None;
        for rule in line {
            match &mut current {
                Some(current) if rule.from <= current.to + NEAR => current.to = current.to.max(rule.to),
                _ => merged.extend(current.replace(Rule { at, ..rule })),
            }
        }
        merged.extend(current);
    }
    merged
}

fn edge(rule: &Rule) -> Edge {
    let (at, from, to) = (f64::from(rule.at), f64::from(rule.from), f64::from(rule.to));
    let source = EdgeSource::Line;
    if rule.vertical {
        Edge { x0: at, x1: at, top: from, bottom: to, orientation: Orientation::Vertical, source }
    } else {
        Edge { x0: from, x1: to, top: at, bottom: at, orientation: Orientation::Horizontal, source }
    }
}

/// The cells of a table on a grid.
struct Grid {
    xs: Vec<f32>,
    ys: Vec<f32>,
    /// By row, then column: the cell that begins there, or none if another one reaches over it.
    cells: Vec<Vec<Option<Rect>>>,
}

impl Grid {
    fn of(cells: &[Cell]) -> Self {
        let rects: Vec<Rect> = cells
            .iter()
            .map(|cell| Rect {
                left: cell.bbox.x0 as f32,
                top: cell.bbox.top as f32,
                right: cell.bbox.x1 as f32,
                bottom: cell.bbox.bottom as f32,
            })
            .collect();
        let xs = stops(rects.iter().flat_map(|rect| [rect.left, rect.right]));
        let ys = stops(rects.iter().flat_map(|rect| [rect.top, rect.bottom]));
        let mut cells = vec![vec![None; xs.len().saturating_sub(1)]; ys.len().saturating_sub(1)];
        for rect in rects {
            let (row, column) = (stop(&ys, rect.top), stop(&xs, rect.left));
            if let Some(cell) = cells.get_mut(row).and_then(|row| row.get_mut(column)) {
                *cell = Some(rect);
            }
        }
        Self { xs, ys, cells }
    }

    /// Columns that a cell reaches over.
    fn span(&self, cell: Rect) -> std::ops::Range<usize> {
        stop(&self.xs, cell.left)..stop(&self.xs, cell.right)
    }
}

/// Values without those that nearly repeat.
fn stops(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut values: Vec<f32> = values.collect();
    values.sort_by(f32::total_cmp);
    values.dedup_by(|a, b| *a - *b < 1.0);
    values
}

fn stop(stops: &[f32], value: f32) -> usize {
    stops.partition_point(|stop| *stop < value - 1.0)
}

fn table(found: &Found, glyphs: &[Glyph]) -> Option<PlacedTable> {
    let grid = Grid::of(&found.cells);
    let (Some(&left), Some(&right)) = (grid.xs.first(), grid.xs.last()) else { return None };
    let (Some(&top), Some(&bottom)) = (grid.ys.first(), grid.ys.last()) else { return None };
    let place = Rect { left, top, right, bottom };
    let columns: Vec<Column> = grid.xs.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let inside = inside(glyphs, place);
    if columns.len() < 2 || inside.is_empty() {
        return None;
    }
    // A first row that is one cell over all columns stands over the table, not in it.
    let over = |cells: &[Option<Rect>]| matches!(cells, [Some(only), rest @ ..] if !rest.is_empty() && rest.iter().all(Option::is_none) && grid.span(*only).len() == cells.len());
    let first = grid.cells.iter().position(|cells| !over(cells)).unwrap_or_default();
    let place = Rect { top: grid.ys[first], ..place };
    let mut rows: Vec<Row> = Vec::new();
    let mut heads = None;
    for (index, cells) in grid.cells.iter().enumerate().skip(first) {
        let band = Rect { top: grid.ys[index], bottom: grid.ys[index + 1], ..place };
        let in_band = self::inside(&inside, band);
        if without_row_rules(cells, band, &columns, &in_band) {
            heads.get_or_insert(rows.len());
            rows.extend(entries(&columns, &in_band));
        } else {
            let texts = cells.iter().map(|cell| cell.map(|cell| text_in(&inside, cell)));
            let (cells, places) =
                texts.map(|cell| cell.map_or((None, None), |(text, place)| (Some(text), place))).unzip();
            rows.push(Row { cells, places, place: Some(band), ..Row::default() });
        }
    }
    let filled = |row: &Row| row.cells.iter().flatten().any(|cell| !cell.is_empty());
    if rows.iter().filter(|row| filled(row)).count() < 2 {
        return None;
    }
    let heads = heads.unwrap_or_else(|| heads_of(&rows)).min(MOST_HEADS);
    let columns = names(&grid, first, &rows[..heads.min(rows.len())]);
    Some(PlacedTable { table: Table { columns, heads, rows, continues: false }, place })
}

/// Whether a band of the table holds entries that no rules part.
fn without_row_rules(cells: &[Option<Rect>], band: Rect, columns: &[Column], glyphs: &[Glyph]) -> bool {
    if band.bottom - band.top < TALL || columns.len() < 3 || cells.iter().flatten().count() < 3 {
        return false;
    }
    let of = |column: &Column| {
        lines(&inside(glyphs, Rect { left: column.0, right: column.1, ..band }))
            .into_iter()
            .filter(|line| !line.text.is_empty())
            .collect()
    };
    let in_columns: Vec<Vec<TextLine>> = columns.iter().map(of).collect();
    let coded =
        in_columns[0].iter().filter(|line| line.text.starts_with(|char: char| char.is_ascii_digit())).count();
    let leading = in_columns.iter().flatten().filter(|line| line.leads).count();
    coded >= 3 || leading >= 3
}

/// How many rows at the top name the columns.
fn heads_of(rows: &[Row]) -> usize {
    let numeric = |text: &str| {
        let digits = text.chars().filter(char::is_ascii_digit).count();
        digits > 0 && digits * 2 >= text.chars().filter(|char| char.is_alphanumeric()).count()
    };
    let names = |row: &Row| {
        let filled = row.cells.iter().flatten().filter(|cell| !cell.is_empty());
        filled.clone().count() * 2 > row.cells.iter().flatten().count()
            && !filled.clone().any(|cell| numeric(cell))
    };
    let spans = |row: &Row| row.cells.iter().any(Option::is_none);
    match rows {
        [first, _, ..] if names(first) => {
            1 + rows[1..rows.len() - 1]
                .iter()
                .zip(rows)
                .take_while(|(row, above)| spans(above) && names(row))
                .count()
        }
        _ => 0,
    }
}

/// The name of each column: what the header says over it, from top to bottom. Over several columns a
/// name often stands in the middle one, so that an empty cell takes the nearest name beside it.
fn names(grid: &Grid, first: usize, heads: &[Row]) -> Vec<String> {
    let mut names = vec![String::new(); grid.xs.len().saturating_sub(1)];
    for (index, (row, cells)) in heads.iter().zip(&grid.cells[first..]).enumerate() {
        let filled = |column: usize| !row.cell(column).is_empty();
        for (column, cell) in cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let last = index + 1 == heads.len();
            let near = (0..cells.len())
                .filter(|&near| filled(near) && !last)
                .min_by_key(|&near| near.abs_diff(column) * 2 + usize::from(near < column));
            let from = if filled(column) { column } else { near.unwrap_or(column) };
            for column in grid.span(*cell) {
                if let Some(name) = names.get_mut(column) {
                    join(name, row.cell(from));
                }
            }
        }
    }
    names
}

/// What a cell says, and where that stands.
fn text_in(glyphs: &[Glyph], cell: Rect) -> (String, Option<Rect>) {
    let mut text = String::new();
    let lines = lines(&inside(glyphs, cell));
    for line in &lines {
        join(&mut text, &line.text);
    }
    (text, Rect::around(lines.iter().map(|line| line.place)))
}
