//! Reading PDFs: PDFium's glyphs and rules become lines, paragraphs and tables.

mod aligned;
mod entries;
mod glyphs;
mod image;
mod lines;
mod placed;
mod prose;
mod tables;
mod turn;

use std::ops::Range;
use std::path::Path;

use pdfium_render::prelude::{PdfDocument, PdfPage, Pdfium, PdfiumError, PdfiumInternalError};

use self::glyphs::{Canvas, Glyph};
use self::image::Image;
use crate::page::{Block, Page, PageKind, Rect, Row};
use crate::protocol::{Failure, Output};

/// With fewer glyphs than this, a page that shows a picture was scanned.
const FEWEST_GLYPHS: usize = 24;
/// With fewer than this, a page that a picture covers was scanned, and has only a stamp, a number or a mark over its picture.
const FEW_GLYPHS: usize = 200;
/// With more than this share of glyphs that stand for nothing, a page is garbled.
const MOST_UNKNOWN: f32 = 0.2;

/// Reads pages of a PDF and hands out each as soon as it is read, those that are images with their pixels if these are
/// wanted. `pages` counts from 0.
pub(crate) fn read(
    bytes: Vec<u8>,
    library: &Path,
    images: bool,
    pages: Range<u32>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let bindings = Pdfium::bind_to_library(library).map_err(|error| Failure::Library(error.to_string()))?;
    let pdfium = Pdfium::new(bindings);
    let document = pdfium.load_pdf_from_byte_vec(bytes, None).map_err(|error| match error {
        PdfiumError::PdfiumLibraryInternalError(PdfiumInternalError::PasswordError) => Failure::Password,
        _ => Failure::Damaged,
    })?;
    let count = u32::try_from(document.pages().len()).unwrap_or_default();
    output.opened(count, title(&document));
    for index in pages.start..pages.end.min(count) {
        if output.is_closed() {
            break;
        }
        match page(&document, index, images) {
            (page, Some(image)) => output.image(page, image.size, &image.pixels),
            (page, None) => output.page(page),
        }
    }
    Ok(())
}

fn title(document: &PdfDocument<'_>) -> Option<String> {
    let tag = document.metadata().get(pdfium_render::prelude::PdfDocumentMetadataTagType::Title)?;
    given(tag.value())
}

/// How programs begin a title that nobody gave.
const NO_TITLES: [&str; 5] =
    ["untitled", "microsoft word -", "microsoft powerpoint -", "powerpoint presentation", "sin título"];
/// What the names of files end with, which programs take for titles.
const FILES: [&str; 10] = [".pdf", ".doc", ".docx", ".rtf", ".indd", ".qxd", ".fm", ".tex", ".xls", ".xlsx"];

/// A title, if somebody gave it.
fn given(title: &str) -> Option<String> {
    let title = title.trim();
    let small = title.to_lowercase();
    let by_a_program = NO_TITLES.iter().any(|start| small.starts_with(start))
        || FILES.iter().any(|end| small.ends_with(end))
        || small.strip_prefix("document").is_some_and(|rest| rest.chars().all(|sign| sign.is_ascii_digit()));
    (!by_a_program && title.chars().any(char::is_alphabetic)).then(|| title.to_owned())
}

fn page(document: &PdfDocument<'_>, index: u32, images: bool) -> (Page, Option<Image>) {
    let number = index + 1;
    let found = i32::try_from(index).map_err(|_| PdfiumError::PageIndexOutOfBounds);
    match found.and_then(|index| document.pages().get(index)) {
        Ok(page) => match Canvas::of(&page) {
            Ok(canvas) => on_canvas(number, &page, &canvas, images),
            Err(_) => (Page::not_read(number, "its content is damaged"), None),
        },
        Err(_) => (Page::not_read(number, "the page is damaged"), None),
    }
}

fn on_canvas(number: u32, source: &PdfPage<'_>, canvas: &Canvas, images: bool) -> (Page, Option<Image>) {
    let (width, height) = canvas.turn.seen_size();
    let mut page = Page {
        number,
        width,
        height,
        kind: PageKind::Text,
        label: None,
        skipped: None,
        remarks: Vec::new(),
        blocks: Vec::new(),
    };
    if canvas.cut {
        page.remarks.push("It holds more than is read from one page; the rest was left out.".to_owned());
    }
    let all = canvas.glyphs.len() + canvas.unknown;
    let is_scan = canvas.pictured && all < FEWEST_GLYPHS || canvas.covered && all < FEW_GLYPHS;
    if is_scan {
        page.kind = PageKind::Scanned;
    } else if all == 0 {
        page.kind = PageKind::Empty;
        return (page, None);
    } else if canvas.unknown as f32 > MOST_UNKNOWN * all as f32 {
        page.kind = PageKind::Garbled;
        page.remarks.push(format!("{} of its {all} characters stand for no letter.", canvas.unknown));
    }
    // A few glyphs on a scan are no text.
    if all >= FEWEST_GLYPHS || !is_scan {
        page.blocks = blocks(canvas, &mut page.remarks);
    }
    for place in page.blocks.iter_mut().flat_map(places) {
        *place = place.map(|place| canvas.turn.as_seen(place).rounded());
    }
    if is_scan || page.kind == PageKind::Garbled {
        if !images {
            page.not_recognised("no text recognition is installed");
            return (page, None);
        }
        return match Image::of(source, (width, height)) {
            Ok(image) => (page, Some(image)),
            Err(why) => {
                page.not_recognised(&why);
                (page, None)
            }
        };
    }
    if page.kind == PageKind::Text && page.blocks.iter().any(|block| matches!(block, Block::Table(_))) {
        page.kind = PageKind::Table;
    }
    (page, None)
}

/// Tables where rules draw them, prose everywhere else, in reading order.
fn blocks(canvas: &Canvas, remarks: &mut Vec<String>) -> Vec<Block> {
    let tables = tables::tables(&canvas.glyphs, &canvas.rules);
    let outside: Vec<Glyph> = canvas
        .glyphs
        .iter()
        .filter(|glyph| !tables.iter().any(|table| table.holds(glyph)))
        .copied()
        .collect();
    for table in &tables {
        let inside: Vec<Glyph> = canvas.glyphs.iter().filter(|glyph| table.holds(glyph)).copied().collect();
        remarks.extend(lost_codes(&inside, &table.table.rows));
    }
    let mut placed: Vec<(Block, Rect)> =
        prose::prose(&outside).into_iter().map(|placed| (placed.block, placed.place)).collect();
    for table in tables {
        // Before the first paragraph that stands below its top and shares its columns.
        let at = placed
            .iter()
            .position(|(_, place)| {
                place.top >= table.place.top
                    && place.left < table.place.right
                    && place.right > table.place.left
            })
            .unwrap_or(placed.len());
        placed.insert(at, (Block::Table(table.table), table.place));
    }
    placed.into_iter().map(|(block, _)| block).collect()
}

/// Codes such as 8539.52.00 that the characters of a table hold and its rows do not.
fn lost_codes(glyphs: &[Glyph], rows: &[Row]) -> Option<String> {
    let raw = lines::on_baselines(glyphs)
        .into_iter()
        .map(|line| lines::line(line).text)
        .collect::<Vec<_>>()
        .join("\n");
    let read: String = rows
        .iter()
        .flat_map(|row| row.cells.iter().flatten())
        .flat_map(|cell| cell.chars())
        .filter(|char| !char.is_whitespace())
        .collect();
    let lost: Vec<String> =
        crate::codes::dotted(&raw).into_iter().filter(|code| !read.contains(code.as_str())).collect();
    (!lost.is_empty()).then(|| format!("These codes are on the page and in no row: {}.", lost.join(", ")))
}

/// The places of a block, to be changed.
fn places(block: &mut Block) -> Vec<&mut Option<Rect>> {
    match block {
        Block::Heading { lines, .. } | Block::Text { lines } => {
            lines.iter_mut().map(|line| &mut line.place).collect()
        }
        Block::Table(table) => {
            table.rows.iter_mut().flat_map(|row| row.places.iter_mut().chain([&mut row.place])).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_that_nobody_gave_is_none() {
        for title in [
            "",
            " ",
            "Untitled",
            "untitled-2",
            "Document1",
            "Microsoft Word - rules.doc",
            "CH85.fm",
            "85 - 2",
        ] {
            assert_eq!(given(title), None, "{title:?}");
        }
        for title in ["Chapter 85", "Documents of 2018", "Ley 10/2010"] {
            assert_eq!(given(title).as_deref(), Some(title));
        }
    }
}
