//! A catalogue made of its rows: what each column holds, and the rows as numbers, which is what is stored and asked.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use ibid_core::catalogue::{CatalogueColumn, CatalogueColumnKind, CatalogueInfo};
use ibid_core::value::Decimal;
use ibid_reading::page::Page;
use serde::{Deserialize, Serialize};

use super::names::{Companions, Names};
use super::numbers::number;
use super::rows::{Column, RawRows, rows_of};
use crate::Error;
use crate::document::{Document, PageRecord};

/// The column of a row's number in the file.
pub(super) const ROW: &str = "row";
/// Of a hundred values of a column of numbers, so many are numbers.
const NUMERIC: u64 = 90;
/// Names are at most so many, or one for so many rows.
const FEW_NAMES: usize = 50;
const ROWS_OF_A_NAME: usize = 5;
const MOST_NAMES: usize = 20_000;
/// And on average at most so long.
const LONGEST_NAMES: usize = 40;
/// Numbers are kept with at most so many decimals.
const MOST_PLACES: u32 = 4;
/// So many rows are written at once.
const BATCH: usize = 100_000;
/// So many names of a column are told in its description.
const TOLD: usize = 40;

/// A catalogue as it is kept: what is known of it, and how many decimals the numbers of each column have.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct StoredCatalogue {
    pub(crate) info: Arc<CatalogueInfo>,
    pub(crate) places: Vec<u32>,
}

/// A catalogue that was made of its rows.
pub(crate) struct MadeCatalogue {
    pub(crate) stored: StoredCatalogue,
    pub(crate) batches: Vec<RecordBatch>,
    /// What the ledger says of each page.
    pub(crate) pages: Vec<PageRecord>,
    /// What it is, in words.
    pub(crate) description: String,
}

/// The name of a column in the stored rows. What the file calls it stands nowhere in a query.
pub(super) fn column_name(place: usize) -> String {
    format!("c{place}")
}

/// Takes the pages of a catalogue in, one after the other.
#[derive(Default)]
pub(crate) struct CatalogueReader(RawRows);

impl CatalogueReader {
    pub(crate) fn take(&mut self, page: &Page) {
        self.0.take(page);
    }

    /// The catalogue of a document.
    pub(crate) fn finish(self, document: &Document) -> Result<MadeCatalogue, Error> {
        let mut rows = self.0;
        if rows.numbers.is_empty() {
            return Err(Error::Document(format!("it has no rows that can be read. {}", rows.summary())));
        }
        let kinds: Vec<CatalogueColumnKind> = rows.columns.iter().map(kind).collect();
        let mut notes = Vec::new();
        let named = named(&rows.columns, &kinds, &mut notes);
        let mut columns = Vec::new();
        let (mut arrays, mut fields, mut places) =
            (Vec::new(), vec![Field::new(ROW, DataType::UInt64, false)], Vec::new());
        arrays.push(Arc::new(UInt64Array::from(std::mem::take(&mut rows.numbers))) as ArrayRef);
        for (at, (column, names)) in rows.columns.iter().zip(named).enumerate() {
            let (kind, mut decimals) = (kinds[at], 0);
            let (array, names): (ArrayRef, _) = match names {
                Some((names, ranks)) => (Arc::new(UInt32Array::from(ranks)), names),
                None if kind == CatalogueColumnKind::Number => {
                    let (numbers, of) = numbers(column, &mut notes);
                    decimals = of;
                    (Arc::new(Int64Array::from(numbers)), Vec::new())
                }
                None => (Arc::new(texts(column)), Vec::new()),
            };
            fields.push(Field::new(column_name(at), array.data_type().clone(), true));
            arrays.push(array);
            places.push(decimals);
            columns.push(CatalogueColumn { name: column.name.clone(), kind, names });
        }
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let whole = RecordBatch::try_new(schema, arrays)
            .map_err(|error| Error::Damaged(format!("the rows do not fit: {error}")))?;
        let taken = whole.num_rows();
        let batches = (0..taken).step_by(BATCH).map(|at| whole.slice(at, BATCH.min(taken - at))).collect();
        let info = CatalogueInfo {
            document: document.id.clone(),
            version: document.content.to_string(),
            title: document.title.clone(),
            rows: u64::try_from(taken).unwrap_or(u64::MAX),
            columns,
        };
        let mut pages = std::mem::take(&mut rows.pages);
        notes.insert(0, format!("{taken} of {} rows are in the catalogue.", rows_of(&pages)));
        if let Some(first) = pages.first_mut() {
            first.remarks.splice(0..0, notes);
            first.chunks = 1;
        }
        let description = description(&info);
        Ok(MadeCatalogue {
            stored: StoredCatalogue { info: Arc::new(info), places },
            batches,
            pages,
            description,
        })
    }
}

/// What a column holds.
fn kind(column: &Column) -> CatalogueColumnKind {
    let counts = column.counts();
    let filled: u64 = counts.iter().skip(1).sum();
    let each = || column.texts.iter().zip(&counts).skip(1);
    let numeric: u64 = each().filter(|(text, _)| number(text).is_some()).map(|(_, rows)| rows).sum();
    if filled > 0 && numeric * 100 >= filled * NUMERIC {
        return CatalogueColumnKind::Number;
    }
    let distinct = column.texts.len() - 1;
    let length: usize = column.texts.iter().map(|text| text.chars().count()).sum();
    let few = distinct <= FEW_NAMES.max(column.cells.len() / ROWS_OF_A_NAME).min(MOST_NAMES);
    if distinct > 0 && few && length <= distinct * LONGEST_NAMES {
        return CatalogueColumnKind::Name;
    }
    CatalogueColumnKind::Text
}

/// The names of each column that holds names, and the place of the name of each row.
type Named = Option<(Vec<ibid_core::catalogue::CatalogueName>, Vec<Option<u32>>)>;

fn named(columns: &[Column], kinds: &[CatalogueColumnKind], notes: &mut Vec<String>) -> Vec<Named> {
    let is_name = |at: usize| kinds[at] == CatalogueColumnKind::Name;
    let mut names: Vec<Option<Names>> =
        columns.iter().enumerate().map(|(at, column)| is_name(at).then(|| Names::of(column))).collect();
    let of_rows = |names: &[Option<Names>], at: usize| -> Vec<Option<u32>> {
        let own = names[at].as_ref();
        columns[at].cells.iter().map(|cell| own.and_then(|names| names.name_of(*cell))).collect()
    };
    let companions = |names: &[Option<Names>], at: usize| -> Vec<(usize, Companions)> {
        let Some(own) = &names[at] else { return Vec::new() };
        let rows = of_rows(names, at);
        // What is within another name is one of many.
        let others = (0..names.len()).filter_map(|other| Some((other, names[other].as_ref()?.len())));
        let others = others.filter(|(other, count)| *other != at && *count * 2 <= own.len());
        others
            .map(|(other, count)| (other, Companions::count(&rows, &of_rows(names, other), own.len(), count)))
            .collect()
    };
    for at in 0..columns.len() {
        let beside: Vec<Companions> = companions(&names, at).into_iter().map(|(_, beside)| beside).collect();
        let Some(own) = names[at].as_mut() else { continue };
        let misspelt = own.misspelt(&beside);
        if !misspelt.is_empty() {
            let told = misspelt.iter().take(TOLD).map(|(wrong, right)| {
                format!("{} as {}", own.names[*wrong as usize], own.names[*right as usize])
            });
            notes.push(format!(
                "In {}, read as misspelt: {}.",
                columns[at].name,
                told.collect::<Vec<_>>().join(", ")
            ));
            own.correct(&misspelt);
        }
    }
    let ranked: Vec<_> = names.iter().map(|names| names.as_ref().map(Names::ranked)).collect();
    let mut found = Vec::new();
    for (at, ranks) in ranked.iter().enumerate() {
        let Some((listed, ranks)) = ranks else {
            found.push(None);
            continue;
        };
        let mut listed = listed.clone();
        for (other, beside) in companions(&names, at) {
            let Some((_, other_ranks)) = &ranked[other] else { continue };
            for (name, rank) in ranks.iter().enumerate() {
                let within = beside.within(name).and_then(|within| other_ranks[within as usize]);
                if let (Some(rank), Some(within)) = (rank, within) {
                    listed[*rank as usize].within.push((other, within as usize));
                }
            }
        }
        let rows = of_rows(&names, at).into_iter().map(|name| ranks[name? as usize]).collect();
        found.push(Some((listed, rows)));
    }
    found
}

/// The numbers of a column without their points, and how many decimals they have.
fn numbers(column: &Column, notes: &mut Vec<String>) -> (Vec<Option<i64>>, u32) {
    let read: Vec<Option<Decimal>> = column.texts.iter().map(|text| number(text)).collect();
    let places =
        read.iter().flatten().map(|number| number.places()).max().unwrap_or_default().min(MOST_PLACES);
    let whole: Vec<Option<i64>> = read
        .iter()
        .map(|number| number.and_then(|number| i64::try_from(number.rounded(places).scaled(places)?).ok()))
        .collect();
    let numbers: Vec<Option<i64>> = column.cells.iter().map(|cell| whole[*cell as usize]).collect();
    let unread =
        column.cells.iter().zip(&numbers).filter(|(cell, number)| **cell > 0 && number.is_none()).count();
    let missing = column.cells.iter().filter(|cell| **cell == 0).count();
    if unread > 0 {
        notes.push(format!("In {}, {unread} values are no numbers and were left out.", column.name));
    }
    if missing > 0 {
        notes.push(format!("In {}, {missing} rows have no value.", column.name));
    }
    (numbers, places)
}

fn texts(column: &Column) -> StringArray {
    column.cells.iter().map(|cell| (*cell > 0).then(|| column.texts[*cell as usize].as_str())).collect()
}

/// A catalogue in words, by which it is found.
fn description(info: &CatalogueInfo) -> String {
    let mut lines = vec![format!("{}: a catalogue of {} rows.", info.title, info.rows)];
    for column in &info.columns {
        let names: Vec<&str> = column.names.iter().take(TOLD).map(|name| name.name.as_str()).collect();
        let of = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        lines.push(format!("{}{of}", column.name));
    }
    lines.join("\n")
}
