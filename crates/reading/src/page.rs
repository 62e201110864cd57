//! What a page holds once it is read: blocks in reading order, each with its place on the page.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A place on a page, in points from its upper left corner as a reader sees it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Rect {
    /// Distance of the left side from the left of the page.
    pub left: f32,
    /// Distance of the upper side from the top of the page.
    pub top: f32,
    /// Distance of the right side from the left of the page.
    pub right: f32,
    /// Distance of the lower side from the top of the page.
    pub bottom: f32,
}

impl Rect {
    /// The smallest place that holds both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    /// The place between two corners, whichever they are.
    pub(crate) fn between(a: (f32, f32), b: (f32, f32)) -> Self {
        Self { left: a.0.min(b.0), top: a.1.min(b.1), right: a.0.max(b.0), bottom: a.1.max(b.1) }
    }

    /// Whether a point stands in it.
    pub(crate) fn holds(&self, (x, y): (f32, f32)) -> bool {
        (self.left..self.right).contains(&x) && (self.top..self.bottom).contains(&y)
    }

    /// To a tenth of a point, which is as exact as a highlight needs.
    pub(crate) fn rounded(self) -> Self {
        let round = |value: f32| (value * 10.0).round() / 10.0;
        let Self { left, top, right, bottom } = self;
        Self { left: round(left), top: round(top), right: round(right), bottom: round(bottom) }
    }

    /// The smallest place that holds them all; none holds nothing.
    pub fn around(places: impl IntoIterator<Item = Self>) -> Option<Self> {
        places.into_iter().reduce(Self::with)
    }
}

/// One page of a document.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Page {
    /// Its number in the file, from 1.
    pub number: u32,
    /// Width in points; 0 where a page has no size, as in a text file.
    pub width: f32,
    /// Height in points.
    pub height: f32,
    /// What kind of page it is.
    pub kind: PageKind,
    /// What it is in the terms of its format; none for a page as paper has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<PageLabel>,
    /// Why it counts as a page without content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skip>,
    /// What a reader of the ledger should know of this page, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Its content in reading order.
    pub blocks: Vec<Block>,
}

/// What a page is in the terms of its format: the sheet `Rates`, the slide on costs.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PageLabel {
    /// What its format has in the place of pages.
    pub unit: PageUnit,
    /// Its name there; empty if it has none.
    pub name: String,
}

/// What a format has in the place of pages, and what a place in it ([`Rect`]) counts.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageUnit {
    /// A page of a text whose places count the paragraphs under a heading.
    Page,
    /// A part of a text without pages; its places count the paragraphs under a heading.
    Section,
    /// A sheet; its places count columns and rows.
    Sheet,
    /// A slide.
    Slide,
    /// A chapter of a book.
    Chapter,
    /// An e-mail.
    Message,
    /// A page of what is attached to an e-mail.
    Attachment,
}

/// How a page was read.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// It has text.
    Text,
    /// It has text and at least one table.
    Table,
    /// It is an image; its text was recognised if there is any.
    Scanned,
    /// There is nothing on it.
    Empty,
    /// It has characters, and they make no sense.
    Garbled,
}

impl PageKind {
    /// Its name in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Table => "table",
            Self::Scanned => "scanned",
            Self::Empty => "empty",
            Self::Garbled => "garbled",
        }
    }
}

/// Why a page is left out of the search.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// It has less text than the configured least.
    Short,
    /// It is a table of contents.
    Contents,
    /// It says that it was left blank.
    Blank,
    /// It is an index of terms.
    Index,
    /// It has only what every page has: a running header or footer.
    HeaderOnly,
    /// Its author hid it.
    Hidden,
    /// It could not be read; the remarks say why.
    NotRead,
}

impl Skip {
    /// Its name in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Contents => "contents",
            Self::Blank => "blank",
            Self::Index => "index",
            Self::HeaderOnly => "header only",
            Self::Hidden => "hidden",
            Self::NotRead => "not read",
        }
    }
}

/// A piece of a page.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// A title over what follows.
    Heading {
        /// 1 is the highest.
        level: u8,
        /// The title, on as many lines as it takes.
        lines: Vec<Line>,
    },
    /// A paragraph.
    Text {
        /// Its lines.
        lines: Vec<Line>,
    },
    /// A table.
    Table(Table),
}

/// A line of text and its place.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Line {
    /// What it says.
    pub text: String,
    /// Where it stands; none where the source has no places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Rect>,
}

/// Rows under the names of their columns.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Table {
    /// The name of each column, empty where the header says nothing of it.
    pub columns: Vec<String>,
    /// How many of the first rows are the header.
    pub heads: usize,
    /// Whether it goes on with the last table of the page before.
    #[serde(default)]
    pub continues: bool,
    /// Its rows, from top to bottom.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Row {
    /// One text for each column; none where a cell is merged with the one to its left or above it.
    pub cells: Vec<Option<String>>,
    /// Where the text of each cell stands; empty where the source has no places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Option<Rect>>,
    /// How far the row is indented below those that govern it; none where indentation says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<f32>,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Rect>,
    /// The whole code of the row, where its parts stand in several columns or rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What the rows say that govern this one, from the highest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// What it has from the row that governs it where its own cells are empty, by column: its code goes on with that row's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inherited: BTreeMap<usize, String>,
    /// Whether it only repeats, on a new page, a row that still governs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

impl Row {
    /// Where the text of a column stands.
    pub fn cell_place(&self, column: usize) -> Option<Rect> {
        self.places.get(column).copied().flatten()
    }

    /// The text of a column, empty if there is none.
    pub fn cell(&self, column: usize) -> &str {
        self.cells.get(column).and_then(Option::as_deref).unwrap_or_default()
    }
}

impl Block {
    /// Everything it says, line by line, cells separated by tabs.
    pub fn text(&self) -> String {
        match self {
            Self::Heading { lines, .. } | Self::Text { lines } => {
                lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
            }
            Self::Table(table) => {
                let row =
                    |row: &Row| row.cells.iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\t");
                table.rows.iter().map(row).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl Page {
    /// A page of which nothing is known but why it could not be read.
    pub fn not_read(number: u32, why: &str) -> Self {
        Self {
            number,
            width: 0.0,
            height: 0.0,
            kind: PageKind::Empty,
            label: None,
            skipped: Some(Skip::NotRead),
            remarks: vec![format!("Not read: {why}.")],
            blocks: Vec::new(),
        }
    }

    /// Whether everything on it has a place that can be kept: JSON has no infinite numbers.
    pub(crate) fn is_finite(&self) -> bool {
        let finite =
            |place: &Rect| [place.left, place.top, place.right, place.bottom].into_iter().all(f32::is_finite);
        let row = |row: &Row| {
            row.place.iter().chain(row.places.iter().flatten()).all(finite)
                && row.depth.is_none_or(f32::is_finite)
        };
        let block = |block: &Block| match block {
            Block::Heading { lines, .. } | Block::Text { lines } => {
                lines.iter().filter_map(|line| line.place.as_ref()).all(finite)
            }
            Block::Table(table) => table.rows.iter().all(row),
        };
        self.width.is_finite() && self.height.is_finite() && self.blocks.iter().all(block)
    }

    /// Notes why its text was not recognised: as much of it as was read otherwise stays.
    pub(crate) fn not_recognised(&mut self, why: &str) {
        if self.blocks.is_empty() {
            self.skipped = Some(Skip::NotRead);
            self.remarks.push(format!("It is an image, and its text was not recognised: {why}."));
        } else {
            self.remarks.push(format!("Its text was not recognised: {why}."));
        }
    }

    /// Everything it says, block by block.
    pub fn text(&self) -> String {
        self.blocks.iter().map(Block::text).collect::<Vec<_>>().join("\n\n")
    }
}

/// A name of at most so many characters: what is longer is cut.
pub fn shortened(name: &str, most: usize) -> String {
    match name.char_indices().nth(most) {
        Some((end, _)) => format!("{}\u{2026}", name[..end].trim_end()),
        None => name.to_owned(),
    }
}
