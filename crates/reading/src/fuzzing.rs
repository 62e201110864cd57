//! What a fuzzer tries of this crate: what a reading process says, and pages that are put together.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::page::{Block, Line, Page, PageKind, Rect, Row, Table};
use crate::protocol::ReaderMessage;
use crate::reader::{Reader, ReaderLimits};
use crate::whole::complete;

/// How high a line is, in points.
const LINE: f32 = 12.0;

/// Listens to a process that says this, and puts the pages that it speaks of together.
///
/// # Panics
/// Panics if more is read than there is, or a page cannot be kept and read again.
pub fn reader_lines(input: &[u8]) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else { return };
    let limits = ReaderLimits { said: 1 << 16, silence: Duration::from_secs(5), ..ReaderLimits::default() };
    let reader = Reader::new("none", [""; 0]).within(limits);
    let (mut rest, mut said, mut pages) = (input, 0, Vec::new());
    while let Ok(Some(message)) = runtime.block_on(reader.word(&mut rest, &mut said)) {
        match message {
            ReaderMessage::Page(page) => pages.push(page),
            ReaderMessage::Image { page, size } => {
                let Some(pixels) = size.bytes().and_then(|bytes| rest.get(usize::try_from(bytes).ok()?..))
                else {
                    break;
                };
                rest = pixels;
                pages.push(page);
            }
            ReaderMessage::Confined(_) | ReaderMessage::Opened { .. } => {}
            ReaderMessage::Failed(_) | ReaderMessage::Done => break,
        }
    }
    assert!(said <= input.len() as u64);
    complete(&mut pages, 100);
    let kept = serde_json::to_vec(&pages).unwrap_or_default();
    assert_eq!(
        serde_json::from_slice::<Vec<Page>>(&kept).ok(),
        Some(pages),
        "pages must be read as they are kept"
    );
}

/// Puts the pages of a text together ([`pages`]). No line is made up, no row is lost, and doing it twice is doing it once.
///
/// # Panics
/// Panics where one of these does not hold.
pub fn page_assembly(input: &[u8]) {
    let mut pages = pages(input);
    let before = pages.clone();
    complete(&mut pages, 100);
    assert_eq!(pages.len(), before.len());
    for (page, before) in pages.iter().zip(&before) {
        let known: BTreeSet<&str> = lines(before).collect();
        assert!(lines(page).all(|line| known.contains(line)), "a line was made up");
        assert_eq!(rows(page).count(), rows(before).count(), "a row was lost");
        for (row, before) in rows(page).zip(rows(before)) {
            assert_eq!(row.cells.len(), before.cells.len(), "a cell was lost");
        }
    }
}

/// Pages from a text: a form feed begins a page, `#` a heading and `|` a cell; an empty line ends a block. A line that begins
/// with `~` has no place; how far the others are indented says where they stand.
pub fn pages(input: &[u8]) -> Vec<Page> {
    let text = String::from_utf8_lossy(input);
    let numbered = (1..).zip(text.split('\u{c}').take(20));
    numbered.map(|(number, text)| page(number, text)).collect()
}

fn page(number: u32, text: &str) -> Page {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut top, mut begins) = (0.0, true);
    for text in text.lines().take(200) {
        top += LINE;
        let bare = text.trim_start_matches(['~', ' ']);
        if bare.is_empty() {
            begins = true;
            continue;
        }
        let left = text.chars().take_while(|letter| *letter == ' ').fold(0.0, |left, _| left + 4.0);
        let right = bare.chars().fold(left, |right, _| right + 5.0);
        let place = (!text.starts_with('~')).then_some(Rect { left, top, right, bottom: top + LINE });
        let line = Line { text: bare.to_owned(), place };
        let level = bare.bytes().take_while(|letter| *letter == b'#').fold(0_u8, u8::saturating_add);
        match blocks.last_mut().filter(|_| !begins) {
            Some(Block::Table(table)) if bare.contains('|') => table.rows.push(row(bare, left, place)),
            Some(Block::Text { lines }) if !bare.contains('|') && level == 0 => lines.push(line),
            _ if level > 0 => blocks.push(Block::Heading { level, lines: vec![line] }),
            _ if bare.contains('|') => blocks.push(table(bare, left, place)),
            _ => blocks.push(Block::Text { lines: vec![line] }),
        }
        begins = false;
    }
    let is_table = blocks.iter().any(|block| matches!(block, Block::Table(_)));
    let kind = if is_table { PageKind::Table } else { PageKind::Text };
    let height = 60.0 * LINE;
    Page { number, width: 600.0, height, kind, label: None, skipped: None, remarks: Vec::new(), blocks }
}

fn table(line: &str, left: f32, place: Option<Rect>) -> Block {
    let columns = line.split('|').map(|name| name.trim().to_owned()).collect();
    let heads = usize::from(!line.ends_with('|'));
    Block::Table(Table { columns, heads, continues: false, rows: vec![row(line, left, place)] })
}

fn row(line: &str, left: f32, place: Option<Rect>) -> Row {
    let cell = |cell: &str| Some(cell.trim().to_owned()).filter(|cell| cell != "^");
    Row { cells: line.split('|').map(cell).collect(), depth: place.map(|_| left), place, ..Row::default() }
}

fn lines(page: &Page) -> impl Iterator<Item = &str> {
    let lines = page.blocks.iter().filter_map(|block| match block {
        Block::Heading { lines, .. } | Block::Text { lines } => Some(lines),
        Block::Table(_) => None,
    });
    lines.flatten().map(|line| line.text.as_str())
}

fn rows(page: &Page) -> impl Iterator<Item = &Row> {
    let tables = page.blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(&table.rows),
        _ => None,
    });
    tables.flatten()
}
