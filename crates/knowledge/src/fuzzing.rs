//! What a fuzzer tries of this crate: pages become chunks.

use ibid_core::table::BAR;
use ibid_reading::page::{Block, Page};
use ibid_reading::whole::complete;

use crate::chunk::{Chunk, ChunkSize, chunks};

/// Cuts the pages of a text ([`ibid_reading::fuzzing::pages`]). Its first two bytes say how long chunks are. Prose is as long as
/// that, rows are whole, and places and rows stand where they are said to.
///
/// # Panics
/// Panics where one of these does not hold.
pub fn chunking(input: &[u8]) {
    let [characters, overlap, text @ ..] = input else { return };
    let size = ChunkSize { characters: usize::from(*characters) * 4, overlap: usize::from(*overlap) };
    let mut pages = ibid_reading::fuzzing::pages(text);
    complete(&mut pages, 20);
    let chunks = chunks(&pages, size);
    for chunk in &chunks {
        assert!(pages.iter().any(|page| page.number == chunk.page && page.skipped.is_none()));
        assert!(!chunk.text.is_empty());
        assert!(chunk.places.iter().all(|place| place.at as usize <= chunk.text.len()), "{chunk:?}");
        match &chunk.table {
            None => assert!(chunk.text.chars().count() <= size.characters.max(1), "{chunk:?}"),
            Some(table) => {
                let starts_a_line = |at: usize| at == 0 || chunk.text.as_bytes().get(at - 1) == Some(&b'\n');
                assert!(table.rows.iter().all(|row| starts_a_line(row.at as usize)), "{chunk:?}");
                assert_eq!(table.records(&chunk.text).count(), table.rows.len(), "{chunk:?}");
            }
        }
    }
    for page in pages.iter().filter(|page| page.skipped.is_none()) {
        assert_cells_are_whole(page, &chunks);
    }
}

/// Every cell stands in a chunk of its page, but for what is repeated, in the header, or part of a code.
fn assert_cells_are_whole(page: &Page, chunks: &[Chunk]) {
    for block in &page.blocks {
        let Block::Table(table) = block else { continue };
        for row in table.rows.iter().skip(table.heads).filter(|row| !row.repeated) {
            for cell in row.cells.iter().skip(usize::from(row.code.is_some())).flatten() {
                let cell = cell.replace(['\n', '|'], " ");
                let is_there = chunks.iter().filter(|chunk| chunk.page == page.number).any(|chunk| {
                    chunk
                        .text
                        .split('\n')
                        .flat_map(|line| line.split(BAR))
                        .any(|known| known.trim() == cell.trim())
                });
                assert!(is_there || cell.trim().is_empty(), "{cell:?} is in no chunk");
            }
        }
    }
}
