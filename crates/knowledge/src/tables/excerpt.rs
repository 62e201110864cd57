//! The chosen rows and columns of a table as passages: a text of their own, in which every cell keeps its place on the page.

use std::collections::BTreeMap;
use std::ops::Range;

use ibid_core::evidence::{BoundingBox, Passage};
use ibid_core::table::{BAR, TableColumn, TableRecord, TableRow, TableRows};

use super::typed::TypedTable;

/// Rows as passages, one for each page, in the order of the rows. `whole` are the chunks that they are in.
pub(super) fn passages(
    whole: &[Passage],
    table: &TypedTable,
    rows: &[usize],
    columns: &[usize],
) -> Vec<Passage> {
    let mut excerpts: Vec<Excerpt<'_>> = Vec::new();
    for (chunk, place) in rows.iter().filter_map(|row| table.rows.get(*row)) {
        let number = table.chunks[*chunk].chunk;
        let Some(passage) = whole.iter().find(|passage| passage.chunks.0 == number) else { continue };
        let found = passage.tables.iter().find_map(|rows| {
            let record = rows.records(&passage.text).nth(*place)?;
            Some((rows, record))
        });
        let Some((rows, record)) = found else { continue };
        let at = match excerpts.iter().position(|excerpt| excerpt.passage.page == passage.page) {
            Some(at) => at,
            None => {
                excerpts.push(Excerpt::begin(passage, rows, columns));
                excerpts.len() - 1
            }
        };
        excerpts[at].add(passage, &record);
    }
    excerpts.into_iter().map(|excerpt| excerpt.passage).collect()
}

/// A passage that is being written.
struct Excerpt<'a> {
    passage: Passage,
    columns: &'a [usize],
}

impl<'a> Excerpt<'a> {
    fn begin(whole: &Passage, rows: &TableRows, columns: &'a [usize]) -> Self {
        let kept: Vec<TableColumn> =
            columns.iter().filter_map(|column| rows.columns.get(*column).cloned()).collect();
        let names: Vec<&str> = kept.iter().map(|column| column.name.as_str()).collect();
        let table = TableRows { table: rows.table, columns: kept.clone(), ..TableRows::default() };
        let passage =
            Passage { text: names.join(BAR), places: Vec::new(), tables: vec![table], ..whole.clone() };
        Self { passage, columns }
    }

    fn add(&mut self, whole: &Passage, record: &TableRecord<'_>) {
        let Self { passage, columns } = self;
        passage.chunks = (passage.chunks.0.min(whole.chunks.0), passage.chunks.1.max(whole.chunks.1));
        passage.text.push('\n');
        let begins = small(passage.text.len());
        let mut inherited = BTreeMap::new();
        for (column, cell) in columns.iter().enumerate().map(|(at, column)| (at, record.cells.get(*column))) {
            if column > 0 {
                passage.text.push_str(BAR);
            }
            let Some(cell) = cell else { continue };
            let at = small(passage.text.len());
            if cell.is_inherited {
                inherited.insert(small(column), cell.text.to_string());
                continue;
            }
            passage.places.extend(sides(&whole.places, &cell.span).map(|sides| BoundingBox { sides, at }));
            passage.text.push_str(&whole.text[cell.span.clone()]);
        }
        let Some(table) = passage.tables.first_mut() else { return };
        let path = record.path.to_vec();
        let known = table.paths.iter().position(|known| *known == path);
        let path = known.unwrap_or_else(|| {
            table.paths.push(path);
            table.paths.len() - 1
        });
        table.rows.push(TableRow { at: begins, path: small(path), inherited });
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Where a part of a text stands on the page.
fn sides(places: &[BoundingBox], span: &Range<usize>) -> impl Iterator<Item = [f32; 4]> {
    let ends = places.iter().skip(1).map(|next| next.at as usize).chain([usize::MAX]);
    let of_span =
        places.iter().zip(ends).filter(|(place, end)| (place.at as usize) < span.end && *end > span.start);
    of_span.map(|(place, _)| place.sides).collect::<Vec<_>>().into_iter()
}
