//! Texts that flow: paragraphs under headings, which become pages where the file says so, else parts that are as long as pages.

use super::blocks::tidy;
use crate::page::{Block, Page, PageLabel, PageUnit, Rect, shortened};

/// A part ends before a heading once it has so many characters,
const LONG_ENOUGH: usize = 2500;
/// and anywhere once it has so many.
const TOO_LONG: usize = 6000;
/// Headings of this level and higher begin a part.
const PARTING: u8 = 2;
/// A longer heading is cut in the name of its part.
const LONGEST_NAME: usize = 120;

/// Pages in the making.
pub(super) struct Flow {
    /// Whether the file says where pages begin.
    has_pages: bool,
    pages: Vec<Page>,
    blocks: Vec<Block>,
    characters: usize,
    /// How many paragraphs there were since the last heading.
    paragraphs: u32,
    /// The last heading, which names the part that begins with it or goes on under it.
    heading: String,
    name: String,
    remarks: Vec<String>,
}

impl Default for Flow {
    fn default() -> Self {
        Self::new(false)
    }
}

impl Flow {
    pub(super) fn new(has_pages: bool) -> Self {
        Self {
            has_pages,
            pages: Vec::new(),
            blocks: Vec::new(),
            characters: 0,
            paragraphs: 0,
            heading: String::new(),
            name: String::new(),
            remarks: Vec::new(),
        }
    }

    /// Ends the page at hand, if the file has pages and there is something on it.
    pub(super) fn page(&mut self) {
        if self.has_pages {
            self.close();
        }
    }

    pub(super) fn heading(&mut self, level: u8, text: &str) {
        let lines = tidy(text);
        if lines.is_empty() {
            return;
        }
        if !self.has_pages && level <= PARTING && self.characters >= LONG_ENOUGH {
            self.close();
        }
        let words: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        self.heading = shortened(&words.join(" "), LONGEST_NAME);
        if self.blocks.is_empty() {
            self.name.clone_from(&self.heading);
        }
        self.paragraphs = 0;
        self.push(Block::Heading { level, lines });
    }

    /// A paragraph. What follows a line break in it is a line of its own.
    pub(super) fn paragraph(&mut self, text: &str) {
        let mut lines = tidy(text);
        if lines.is_empty() || lines.iter().all(|line| line.text == "-") {
            return;
        }
        lines[0].place = Some(self.next_paragraph());
        self.push(Block::Text { lines });
    }

    /// A table, which counts as a paragraph.
    pub(super) fn table(&mut self, table: Option<Block>) {
        let Some(Block::Table(mut table)) = table else { return };
        let place = self.next_paragraph();
        for row in &mut table.rows {
            (row.place, row.places) = (Some(place), vec![Some(place); row.cells.len()]);
        }
        self.push(Block::Table(table));
    }

    /// The place of the next paragraph or table under its heading.
    fn next_paragraph(&mut self) -> Rect {
        self.paragraphs += 1;
        let number = self.paragraphs as f32;
        Rect { left: 0.0, top: number - 1.0, right: 1.0, bottom: number }
    }

    /// Says on the first page how often something was met, and what was done about it.
    pub(super) fn remark(&mut self, count: usize, what: &str, done: &str) {
        match count {
            0 => {}
            1 => self.remarks.push(format!("1 {what} is {done}.")),
            count => self.remarks.push(format!("{count} times a {what} is {done}.")),
        }
    }

    pub(super) fn finish(mut self) -> Vec<Page> {
        self.close();
        if self.pages.is_empty() {
            let page = self.made();
            self.pages.push(page);
        }
        self.pages[0].remarks = self.remarks;
        self.pages
    }

    fn push(&mut self, block: Block) {
        if !self.has_pages && self.characters >= TOO_LONG {
            self.close();
        }
        self.characters += block.text().len();
        self.blocks.push(block);
    }

    fn close(&mut self) {
        if !self.blocks.is_empty() {
            let page = self.made();
            self.pages.push(page);
            self.name.clone_from(&self.heading);
        }
    }

    fn made(&mut self) -> Page {
        self.characters = 0;
        let number = u32::try_from(self.pages.len() + 1).unwrap_or(u32::MAX);
        let page = super::blocks::page(number, std::mem::take(&mut self.blocks));
        let unit = if self.has_pages { PageUnit::Page } else { PageUnit::Section };
        Page { label: Some(PageLabel { unit, name: self.name.clone() }), ..page }
    }
}
