//! The rows of a catalogue as its file has them: which are left out and why, and the cells of the others by column.

use std::collections::{BTreeMap, HashMap, HashSet};

use ibid_reading::page::{Block, Page, shortened};
use sha2::{Digest, Sha256};

use crate::document::{PageRecord, count};

/// A catalogue has at most so many columns; others are left out.
const MOST_COLUMNS: usize = 60;
/// A longer name of a column is cut.
const LONGEST_NAME: usize = 60;
/// A longer cell is cut.
const LONGEST_CELL: usize = 2000;

/// The cells of a column, each text once.
#[derive(Default)]
pub(super) struct Column {
    /// As the file writes it.
    pub(super) name: String,
    /// The texts; the first one is none.
    pub(super) texts: Vec<String>,
    places: HashMap<String, u32>,
    /// The place of the text of each row.
    pub(super) cells: Vec<u32>,
}

impl Column {
    fn new(name: String) -> Self {
        Self { name, texts: vec![String::new()], ..Self::default() }
    }

    fn push(&mut self, cell: &str) {
        let cell = cell.trim();
        let place = match self.places.get(cell) {
            _ if cell.is_empty() => 0,
            Some(place) => *place,
            None => {
                let place = u32::try_from(self.texts.len()).unwrap_or_default();
                self.places.insert(cell.to_owned(), place);
                self.texts.push(shortened(cell, LONGEST_CELL));
                place
            }
        };
        self.cells.push(place);
    }

    /// How many rows have each of the texts.
    pub(super) fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.texts.len()];
        for cell in &self.cells {
            counts[*cell as usize] += 1;
        }
        counts
    }
}

/// Why a row is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LeftOut {
    /// It has nothing in it.
    Empty,
    /// It has more or fewer cells than there are columns.
    Uneven,
    /// It is the same as one before it.
    Doubled,
}

impl LeftOut {
    fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Uneven => "with more or fewer values than there are columns",
            Self::Doubled => "the same as a row before",
        }
    }
}

/// Rows as far as they were taken.
#[derive(Default)]
pub(super) struct RawRows {
    pub(super) columns: Vec<Column>,
    /// The number of each row in the file.
    pub(super) numbers: Vec<u64>,
    /// What is known of each page, for the ledger.
    pub(super) pages: Vec<PageRecord>,
    seen: HashSet<u128>,
    /// How many rows were read.
    read: u64,
    left_out: BTreeMap<LeftOut, u32>,
}

impl RawRows {
    /// Takes the rows of a page.
    pub(super) fn take(&mut self, page: &Page) {
        let mut record = PageRecord::of(page, 0);
        let mut left_out: BTreeMap<LeftOut, u32> = BTreeMap::new();
        for table in page.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        }) {
            if self.columns.is_empty() {
                self.columns = names(&table.columns).into_iter().map(Column::new).collect();
            }
            for row in &table.rows {
                self.read += 1;
                let cells: Vec<&str> =
                    row.cells.iter().map(|cell| cell.as_deref().unwrap_or_default()).collect();
                match self.fault(&cells, table.columns.len()) {
                    Some(fault) => *left_out.entry(fault).or_default() += 1,
                    None => {
                        self.numbers.push(self.read);
                        for (column, cell) in self.columns.iter_mut().zip(cells) {
                            column.push(cell);
                        }
                    }
                }
            }
        }
        if let Some(text) = left_out_text(&left_out) {
            record.remarks.push(text);
        }
        for (fault, rows) in left_out {
            *self.left_out.entry(fault).or_default() += rows;
        }
        self.pages.push(record);
    }

    fn fault(&mut self, cells: &[&str], columns: usize) -> Option<LeftOut> {
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            return Some(LeftOut::Empty);
        }
        if cells.len() != columns {
            return Some(LeftOut::Uneven);
        }
        let digest = Sha256::digest(cells.join("\u{1f}").as_bytes());
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        (!self.seen.insert(u128::from_be_bytes(key))).then_some(LeftOut::Doubled)
    }

    /// How many rows were read, and how many of them were left out.
    pub(super) fn summary(&self) -> String {
        let left_out = left_out_text(&self.left_out).map(|text| format!(" {text}")).unwrap_or_default();
        format!("{} of {} rows were taken.{left_out}", self.numbers.len(), self.read)
    }
}

fn left_out_text(left_out: &BTreeMap<LeftOut, u32>) -> Option<String> {
    let each: Vec<String> = left_out.iter().map(|(fault, rows)| format!("{rows} {}", fault.name())).collect();
    (!each.is_empty()).then(|| format!("Rows left out: {}.", each.join(", ")))
}

/// The names of columns, each of them once, and none without a name.
fn names(written: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (place, name) in written.iter().take(MOST_COLUMNS).enumerate() {
        let name = shortened(name.split_whitespace().collect::<Vec<_>>().join(" ").as_str(), LONGEST_NAME);
        let name = if name.is_empty() { format!("column {}", place + 1) } else { name };
        let again = (2..).map(|number| format!("{name} ({number})"));
        let free = std::iter::once(name.clone()).chain(again).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// How many rows a page of the ledger has.
pub(super) fn rows_of(pages: &[PageRecord]) -> u32 {
    count(pages.iter().map(|page| page.rows as usize).sum())
}
