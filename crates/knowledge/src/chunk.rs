//! From pages to chunks: pieces small enough to be found and cited, which never cut a row of a table.

use std::collections::BTreeMap;

use ibid_core::Location;
use ibid_core::evidence::BoundingBox;
use ibid_core::table::{BAR, CellKind, TableColumn, TableRow, TableRows, cells};
use ibid_reading::page::{Block, Line, Page, PageUnit, Rect, Row, Table, shortened};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use text_splitter::{ChunkConfig, TextSplitter};

use crate::document::location;

/// A longer name of a column or heading is cut where it is repeated.
const LONGEST_NAME: usize = 160;
/// So many columns are named over every chunk.
const MOST_NAMES: usize = 40;

/// How long chunks are.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct ChunkSize {
    /// The most characters of a chunk. A row of a table that is longer stays whole.
    pub characters: usize,
    /// How many characters two neighbouring chunks of prose share.
    pub overlap: usize,
}

impl Default for ChunkSize {
    fn default() -> Self {
        Self { characters: 1200, overlap: 200 }
    }
}

/// A piece of a document.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Chunk {
    /// The page that it stands on, from 1.
    pub page: u32,
    /// What that page is in the terms of its format; none for a page of a PDF.
    #[serde(default)]
    pub location: Option<Location>,
    /// The headings over it, and the rows that govern its first row.
    pub path: Vec<String>,
    /// What it says.
    pub text: String,
    /// The codes of its rows.
    pub codes: Vec<String>,
    /// Where its lines and cells stand on its page.
    pub places: Vec<BoundingBox>,
    /// The rows of a table in it.
    #[serde(default)]
    pub table: Option<TableRows>,
}

impl Chunk {
    /// What is embedded and searched: the path and the text.
    pub fn whole(&self) -> String {
        whole(&self.path, &self.text)
    }
}

/// A text under its path.
pub(crate) fn whole(path: &[String], text: &str) -> String {
    if path.is_empty() { text.to_owned() } else { format!("{}\n{text}", path.join(" > ")) }
}

/// The chunks of a document whose pages were completed together.
pub(crate) fn chunks(pages: &[Page], size: ChunkSize) -> Vec<Chunk> {
    let mut chunker = Chunker {
        size,
        location: None,
        headings: Vec::new(),
        chunks: Vec::new(),
        section: Section::default(),
        tables: 0,
    };
    for page in pages.iter().filter(|page| page.skipped.is_none()) {
        chunker.begin(page);
        for block in &page.blocks {
            match block {
                Block::Heading { level, lines } => chunker.heading(*level, lines, page.number),
                Block::Text { lines } => chunker.section.paragraph(lines),
                Block::Table(table) => {
                    chunker.close(page.number);
                    chunker.table(table, page.number);
                }
            }
        }
        chunker.close(page.number);
    }
    find_kinds(&mut chunker.chunks);
    chunker.chunks
}

/// Says of the columns of each table what they hold, by all of its rows.
fn find_kinds(chunks: &mut [Chunk]) {
    let mut cells: BTreeMap<(u32, usize), Vec<String>> = BTreeMap::new();
    for chunk in chunks.iter() {
        let Some(table) = &chunk.table else { continue };
        for record in table.records(&chunk.text) {
            for (column, cell) in record.cells.into_iter().enumerate().filter(|(_, cell)| !cell.is_inherited)
            {
                cells.entry((table.table, column)).or_default().push(cell.text.into_owned());
            }
        }
    }
    let kinds: BTreeMap<(u32, usize), CellKind> = cells
        .into_iter()
        .map(|(column, cells)| (column, CellKind::of(cells.iter().map(String::as_str))))
        .collect();
    for table in chunks.iter_mut().filter_map(|chunk| chunk.table.as_mut()) {
        for (number, column) in table.columns.iter_mut().enumerate() {
            column.kind = kinds.get(&(table.table, number)).copied().unwrap_or_default();
        }
    }
}

/// Paragraphs under one heading on one page.
#[derive(Default)]
struct Section {
    text: String,
    /// Where each line begins in the text, and its place.
    lines: Vec<(usize, Option<Rect>)>,
}

impl Section {
    fn paragraph(&mut self, lines: &[Line]) {
        for (index, line) in lines.iter().enumerate() {
            if !self.text.is_empty() {
                // Lines that have a place were broken by a page's width, others by their writer.
                self.text.push_str(match (index, line.place) {
                    (0, _) => "\n\n",
                    (_, Some(_)) if is_broken(&self.text, &line.text) => "",
                    (_, Some(_)) => " ",
                    (_, None) => "\n",
                });
            }
            self.lines.push((self.text.len(), line.place));
            self.text.push_str(&line.text);
        }
    }

    fn places(&self, from: usize, to: usize) -> Vec<BoundingBox> {
        let ends = self.lines.iter().skip(1).map(|(start, _)| *start).chain([usize::MAX]);
        let lines = self.lines.iter().zip(ends).filter(|((start, _), end)| *start < to && *end > from);
        lines
            .filter_map(|((start, place), _)| Some(placed(place.as_ref()?, start.saturating_sub(from))))
            .collect()
    }
}

/// Whether a word was broken between two lines. Its hyphen stays: it may be its own.
fn is_broken(before: &str, line: &str) -> bool {
    let mut ending = before.chars().rev();
    ending.next() == Some('-')
        && ending.next().is_some_and(char::is_alphabetic)
        && line.starts_with(char::is_lowercase)
}

struct Chunker {
    size: ChunkSize,
    location: Option<Location>,
    headings: Vec<(u8, String)>,
    chunks: Vec<Chunk>,
    section: Section,
    /// How many tables there were so far; one that goes on over pages is one.
    tables: u32,
}

impl Chunker {
    /// Begins a page. What stands on a sheet, slide or the like is under no heading of the one before; the name of a sheet and
    /// of an attachment is a heading of its own.
    fn begin(&mut self, page: &Page) {
        self.location = page.label.as_ref().map(location);
        let Some(label) = &page.label else { return };
        if !matches!(label.unit, PageUnit::Page | PageUnit::Section) {
            self.headings.clear();
        }
        if matches!(label.unit, PageUnit::Sheet | PageUnit::Attachment) && !label.name.is_empty() {
            self.headings.push((0, shortened(&label.name, LONGEST_NAME)));
        }
    }

    fn heading(&mut self, level: u8, lines: &[Line], page: u32) {
        self.close(page);
        let text = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ");
        while self.headings.last().is_some_and(|(last, _)| *last >= level) {
            self.headings.pop();
        }
        self.headings.push((level, shortened(&text, LONGEST_NAME)));
        // A heading is also text: it can be found and shown where it stands.
        self.section.paragraph(lines);
    }

    fn path(&self) -> Vec<String> {
        self.headings.iter().map(|(_, heading)| heading.clone()).collect()
    }

    /// Cuts the section into chunks.
    fn close(&mut self, page: u32) {
        let section = std::mem::take(&mut self.section);
        if section.text.trim().is_empty() {
            return;
        }
        let most = self.size.characters.max(1);
        let overlap = self.size.overlap.min(most - 1);
        let config = ChunkConfig::new(most).with_overlap(overlap).unwrap_or_else(|_| ChunkConfig::new(most));
        for (start, text) in TextSplitter::new(config).chunk_indices(&section.text) {
            let places = section.places(start, start + text.len());
            self.chunks.push(Chunk {
                page,
                location: self.location.clone(),
                path: self.path(),
                text: text.to_owned(),
                places,
                ..Chunk::default()
            });
        }
    }

    fn table(&mut self, table: &Table, page: u32) {
        if !table.continues {
            self.tables += 1;
        }
        let heads = table.heads.min(table.rows.len());
        let names = header(table, self.size);
        let mut rows: Vec<&Row> = Vec::new();
        let header = names.chars().count();
        let mut length = header;
        let outermost = table.rows[heads..].iter().filter_map(|row| row.depth).fold(f32::MAX, f32::min);
        for row in table.rows[heads..].iter().filter(|row| !row.repeated) {
            let rendered = render(row).chars().count() + 1;
            let full = length + rendered > self.size.characters;
            let fresh =
                row.depth.is_some_and(|depth| depth <= outermost + 2.0) && length * 2 > self.size.characters;
            if !rows.is_empty() && (full || fresh) {
                self.rows(table, &names, &rows, page);
                rows.clear();
                length = header;
            }
            length += rendered;
            rows.push(row);
        }
        self.rows(table, &names, &rows, page);
    }

    fn rows(&mut self, table: &Table, names: &str, rows: &[&Row], page: u32) {
        let Some(first) = rows.first() else { return };
        let (mut text, mut places) = (names.to_owned(), Vec::new());
        let column =
            |name: &String| TableColumn { name: shortened(name, LONGEST_NAME), kind: CellKind::Text };
        let columns = table.columns.iter().map(column).collect();
        let mut data = TableRows { table: self.tables, columns, ..TableRows::default() };
        for (row, line) in rows.iter().map(|row| (row, render(row))).filter(|(_, line)| !line.is_empty()) {
            if !text.is_empty() {
                text.push('\n');
            }
            row_data(&mut data, row, text.len());
            places.extend(row_places(row, &line, text.len()));
            text.push_str(&line);
        }
        if text.len() == names.len() {
            return;
        }
        let path = self.path().into_iter().chain(first.path.iter().cloned()).collect();
        self.chunks.push(Chunk {
            page,
            location: self.location.clone(),
            path,
            text,
            codes: rows.iter().filter_map(|row| row.code.clone()).collect(),
            places,
            table: Some(data),
        });
    }
}

/// What a table tells of a row, whose line begins so many bytes into a text.
fn row_data(table: &mut TableRows, row: &Row, at: usize) {
    let path = table.paths.iter().position(|path| *path == row.path).unwrap_or_else(|| {
        table.paths.push(row.path.clone());
        table.paths.len() - 1
    });
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let inherited = row.inherited.iter().map(|(column, cell)| (number(*column), cell.clone()));
    table.rows.push(TableRow { at: number(at), path: number(path), inherited: inherited.collect() });
}

/// Where the cells of a row stand, whose line begins so many bytes into a text; else where the row does.
fn row_places(row: &Row, line: &str, begins: usize) -> Vec<BoundingBox> {
    let cells = cells(line, begins).into_iter().enumerate();
    let placed_cells: Vec<BoundingBox> =
        cells.filter_map(|(column, cell)| Some(placed(&row.cell_place(column)?, cell.span.start))).collect();
    match (placed_cells.is_empty(), &row.place) {
        (true, Some(place)) => vec![placed(place, begins)],
        _ => placed_cells,
    }
}

/// A place on the page of what begins so many bytes into a text.
fn placed(place: &Rect, at: usize) -> BoundingBox {
    let sides = [place.left, place.top, place.right, place.bottom];
    BoundingBox { sides, at: u32::try_from(at).unwrap_or(u32::MAX) }
}

/// The names of the columns on one line. They take at most half of a chunk.
fn header(table: &Table, size: ChunkSize) -> String {
    let named = table.columns.iter().filter(|name| !name.is_empty()).count();
    if named == 0 {
        return String::new();
    }
    let each = size.characters / 2 / named.min(MOST_NAMES);
    let most = LONGEST_NAME.min(each.saturating_sub(" | …".chars().count()).max(4));
    let names: Vec<String> =
        table.columns.iter().take(MOST_NAMES).map(|name| shortened(name, most)).collect();
    names.join(BAR)
}

/// A row on one line. Its whole code stands in place of the part that its first cell has.
fn render(row: &Row) -> String {
    let mut cells: Vec<String> =
        row.cells.iter().map(|cell| cell.as_deref().unwrap_or_default().replace(['\n', '|'], " ")).collect();
    if let (Some(code), Some(first)) = (&row.code, cells.first_mut()) {
        first.clone_from(code);
    }
    if cells.iter().all(String::is_empty) { String::new() } else { cells.join(BAR) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[&str]) -> Block {
        let place = Some(Rect::default());
        Block::Text { lines: lines.iter().map(|text| Line { text: (*text).to_owned(), place }).collect() }
    }

    fn page(blocks: Vec<Block>) -> Page {
        Page { blocks, remarks: Vec::new(), ..Page::not_read(1, "") }
    }

    #[test]
    fn a_word_that_a_line_broke_is_one_word() {
        let mut page = page(vec![text(&["The regula-", "tion of the well-", "known sub-", "Section"])]);
        page.skipped = None;
        let chunks = chunks(&[page], ChunkSize::default());
        assert_eq!(chunks[0].text, "The regula-tion of the well-known sub- Section");
    }

    #[test]
    fn a_wide_header_leaves_room_for_rows() {
        let columns = vec!["a very long name of a column that says everything".to_owned(); 20];
        let row = Row { cells: vec![Some("7".to_owned()); 20], ..Row::default() };
        let table = Table { columns, rows: vec![row; 30], ..Table::default() };
        let mut page = page(vec![Block::Table(table)]);
        page.skipped = None;
        for chunk in chunks(&[page], ChunkSize { characters: 400, overlap: 0 }) {
            assert!(chunk.text.lines().count() > 1 && chunk.text.len() < 600, "{}", chunk.text);
        }
    }
}
