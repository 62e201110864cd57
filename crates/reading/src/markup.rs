//! Markdown, HTML and plain text.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use scraper::{ElementRef, Html, Node};

use crate::Kind;
use crate::page::{Block, Line, Page, PageKind, Row, Table, shortened};

/// Elements are followed this deep.
const DEEPEST: usize = 200;
/// A table has at most so many columns.
const MOST_COLUMNS: usize = 500;
/// A cell takes at most so many columns and rows.
const MOST_SPANNED: usize = 50;
const MOST_ROWS: usize = 500;
/// What a cell says is repeated in the rows that it takes, up to this length.
const LONGEST_REPEATED: usize = 160;

/// The title and the pages of a text.
pub(crate) fn read(bytes: &[u8], kind: Kind) -> (Option<String>, Vec<Page>) {
    let text = decoded(bytes);
    match kind {
        Kind::Html => {
            let (title, blocks) = html(&text);
            (title, vec![page(1, blocks)])
        }
        Kind::Markdown => {
            let blocks = markdown(&text);
            let title = blocks.iter().find_map(|block| match block {
                Block::Heading { level: 1, .. } => Some(block.text()),
                _ => None,
            });
            (title, vec![page(1, blocks)])
        }
        Kind::Text | Kind::Pdf => {
            let pages =
                text.split('\u{c}').zip(1..).map(|(text, number)| page(number, paragraphs(text))).collect();
            (None, pages)
        }
    }
}

/// UTF-8 where it is, else what a byte order mark says, else the Western code page.
fn decoded(bytes: &[u8]) -> String {
    let (text, _, malformed) = encoding_rs::UTF_8.decode(bytes);
    if malformed { encoding_rs::WINDOWS_1252.decode(bytes).0.into_owned() } else { text.into_owned() }
}

fn page(number: u32, blocks: Vec<Block>) -> Page {
    let kind = if blocks.iter().any(|block| matches!(block, Block::Table(_))) {
        PageKind::Table
    } else if blocks.is_empty() {
        PageKind::Empty
    } else {
        PageKind::Text
    };
    Page { number, width: 0.0, height: 0.0, kind, skipped: None, remarks: Vec::new(), blocks }
}

fn line(text: &str) -> Line {
    Line { text: text.to_owned(), place: None }
}

/// Lines of a text with the spaces of each made single; empty ones left out.
fn tidy(text: &str) -> Vec<Line> {
    text.lines()
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|text| !text.is_empty())
        .map(|text| line(&text))
        .collect()
}

/// Paragraphs: what empty lines part.
fn paragraphs(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = Vec::new();
    for text in text.lines().chain([""]) {
        if text.trim().is_empty() {
            if !lines.is_empty() {
                blocks.push(Block::Text { lines: std::mem::take(&mut lines) });
            }
        } else {
            lines.push(line(text.trim_end()));
        }
    }
    blocks
}

fn markdown(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut current = String::new();
    let mut table: Option<Table> = None;
    let flush = |current: &mut String, blocks: &mut Vec<Block>, level: Option<u8>| {
        let lines = tidy(&std::mem::take(current));
        if !lines.is_empty() {
            blocks.push(
                level.map_or(Block::Text { lines: lines.clone() }, |level| Block::Heading { level, lines }),
            );
        }
    };
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES) {
        match event {
            Event::Text(text) | Event::Code(text) => current.push_str(&text),
            Event::Html(text) | Event::InlineHtml(text) => current.push_str(&plain(&text)),
            Event::SoftBreak => current.push(' '),
            Event::HardBreak => current.push('\n'),
            Event::Start(Tag::Item) => current.push_str("\n- "),
            Event::Start(Tag::Table(_)) => {
                flush(&mut current, &mut blocks, None);
                table = Some(Table { heads: 1, ..Table::default() });
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => {
                if let Some(table) = &mut table {
                    table.rows.push(Row::default());
                }
            }
            Event::End(TagEnd::TableCell) => {
                let cell = std::mem::take(&mut current).trim().to_owned();
                if let Some(row) = table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.cells.push(Some(cell));
                }
            }
            Event::End(TagEnd::Table) => blocks.extend(table.take().and_then(tabled)),
            Event::Start(Tag::Heading { .. }) => flush(&mut current, &mut blocks, None),
            Event::End(TagEnd::Heading(level)) => flush(&mut current, &mut blocks, Some(depth(level))),
            Event::End(TagEnd::Paragraph | TagEnd::CodeBlock | TagEnd::List(_) | TagEnd::BlockQuote(_))
                if table.is_none() =>
            {
                flush(&mut current, &mut blocks, None);
            }
            _ => {}
        }
    }
    flush(&mut current, &mut blocks, None);
    blocks
}

fn depth(level: HeadingLevel) -> u8 {
    level as u8
}

/// A table with the names of its columns.
fn tabled(mut table: Table) -> Option<Block> {
    let width = table.rows.iter().map(|row| row.cells.len()).max()?;
    for row in &mut table.rows {
        row.cells.resize(width, Some(String::new()));
    }
    if let Some(first) = table.rows.first().filter(|_| table.columns.is_empty() && table.heads > 0) {
        table.columns = (0..width).map(|column| first.cell(column).to_owned()).collect();
    }
    table.columns.resize(width, String::new());
    Some(Block::Table(table))
}

fn plain(text: &str) -> String {
    Html::parse_fragment(text).root_element().text().collect()
}

fn html(text: &str) -> (Option<String>, Vec<Block>) {
    let document = Html::parse_document(text);
    let mut walk = Walk::default();
    walk.enter(document.root_element(), 0);
    walk.flush(None);
    (walk.title.filter(|title| !title.is_empty()), walk.blocks)
}

/// A walk through the elements of an HTML document.
#[derive(Default)]
struct Walk {
    title: Option<String>,
    current: String,
    blocks: Vec<Block>,
}

impl Walk {
    fn enter(&mut self, element: ElementRef<'_>, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        match element.value().name() {
            "title" => self.title = Some(words(element)),
            "script" | "style" | "noscript" | "template" | "svg" | "nav" => {}
            "table" => {
                self.flush(None);
                self.blocks.extend(table(element));
            }
            "br" => self.current.push('\n'),
            "pre" => {
                self.flush(None);
                self.current.push_str(&element.text().collect::<String>());
                self.flush(None);
            }
            name @ ("h1" | "h2" | "h3" | "h4" | "h5" | "h6") => {
                self.flush(None);
                self.current.push_str(&words(element));
                self.flush(name[1..].parse().ok());
            }
            name => {
                let block = matches!(
                    name,
                    "p" | "div"
                        | "section"
                        | "article"
                        | "main"
                        | "header"
                        | "footer"
                        | "ul"
                        | "ol"
                        | "dl"
                        | "dt"
                        | "dd"
                        | "blockquote"
                        | "body"
                        | "html"
                        | "head"
                        | "figure"
                        | "figcaption"
                        | "aside"
                        | "form"
                        | "fieldset"
                );
                if block {
                    self.flush(None);
                }
                if name == "li" {
                    self.current.push_str("\n- ");
                }
                for child in element.children() {
                    match child.value() {
                        Node::Text(text) => self.current.push_str(&text.replace(['\n', '\t'], " ")),
                        Node::Element(_) => {
                            if let Some(child) = ElementRef::wrap(child) {
                                self.enter(child, depth + 1);
                            }
                        }
                        _ => {}
                    }
                }
                if block {
                    self.flush(None);
                }
            }
        }
    }

    fn flush(&mut self, level: Option<u8>) {
        let lines = tidy(&std::mem::take(&mut self.current));
        if !lines.is_empty() {
            self.blocks.push(match level {
                Some(level) => Block::Heading { level, lines },
                None => Block::Text { lines },
            });
        }
    }
}

fn words(element: ElementRef<'_>) -> String {
    let text: String = element.text().collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rows of a table; what stands in a table inside one of its cells is text of that cell.
fn table(element: ElementRef<'_>) -> Option<Block> {
    let mut rows = Vec::new();
    let mut heads = 0;
    let row = |element: &ElementRef<'_>| element.value().name() == "tr";
    let own = |found: &ElementRef<'_>| {
        found
            .ancestors()
            .filter_map(ElementRef::wrap)
            .find(|above| above.value().name() == "table")
            .is_some_and(|above| above.id() == element.id())
    };
    let mut reaching = Reaching::default();
    let mut columns: Vec<String> = Vec::new();
    let mut section = None;
    for found in element.descendants().filter_map(ElementRef::wrap).filter(row).filter(own) {
        let parent = found.parent().and_then(ElementRef::wrap);
        // No cell reaches out of its part of the table.
        if section.replace(parent.map(|parent| parent.id())) != Some(parent.map(|parent| parent.id())) {
            reaching = Reaching::default();
        }
        let mut cells = Vec::new();
        let mut named = true;
        for cell in found.children().filter_map(ElementRef::wrap) {
            let name = cell.value().name();
            if !matches!(name, "td" | "th") || cells.len() >= MOST_COLUMNS {
                continue;
            }
            named &= name == "th";
            reaching.fill_next(&mut cells);
            let span = |name: &str, most: usize| {
                let span = cell.value().attr(name).and_then(|span| span.parse::<usize>().ok());
                span.unwrap_or(1).clamp(1, most)
            };
            reaching.take(&mut cells, words(cell), span("colspan", MOST_SPANNED), span("rowspan", MOST_ROWS));
        }
        let is_empty = cells.is_empty();
        reaching.fill_rest(&mut cells);
        if is_empty {
            continue;
        }
        let in_head = parent.is_some_and(|parent| parent.value().name() == "thead");
        if heads == rows.len() && (in_head || named) {
            heads += 1;
            name_columns(&mut columns, &cells);
        }
        rows.push(Row { cells, ..Row::default() });
    }
    if rows.iter().all(|row: &Row| row.cells.iter().flatten().all(String::is_empty)) {
        return None;
    }
    tabled(Table { heads: heads.min(rows.len().saturating_sub(1)), columns, rows, ..Table::default() })
}

/// What cells of rows above reach down into: for each column, into how many more rows, and with which text.
#[derive(Default)]
struct Reaching(Vec<(usize, String)>);

impl Reaching {
    /// Fills the next columns of a row as far as something reaches down into them.
    fn fill_next(&mut self, cells: &mut Vec<Option<String>>) {
        while let Some((left, text)) = self.0.get_mut(cells.len()).filter(|(left, _)| *left > 0) {
            *left -= 1;
            cells.push((!text.is_empty()).then(|| text.clone()));
        }
    }

    /// Fills the rest of a row, which has no more cells of its own.
    fn fill_rest(&mut self, cells: &mut Vec<Option<String>>) {
        let last = self.0.iter().rposition(|(left, _)| *left > 0);
        while last.is_some_and(|last| cells.len() <= last) {
            let before = cells.len();
            self.fill_next(cells);
            if cells.len() == before {
                cells.push(Some(String::new()));
            }
        }
    }

    /// Adds a cell that takes some columns and rows.
    fn take(&mut self, cells: &mut Vec<Option<String>>, text: String, columns: usize, rows: usize) {
        let first = cells.len();
        let repeated = shortened(&text, LONGEST_REPEATED);
        cells.push(Some(text));
        cells.extend(std::iter::repeat_n(None, columns - 1));
        self.0.resize(cells.len().max(self.0.len()), (0, String::new()));
        self.0[first..cells.len()].fill((rows - 1, String::new()));
        self.0[first].1 = repeated;
    }
}

/// Adds a row of the header to the names of the columns: one that goes over several names each of them.
fn name_columns(columns: &mut Vec<String>, cells: &[Option<String>]) {
    columns.resize(cells.len().max(columns.len()), String::new());
    let mut over = "";
    for (name, cell) in columns.iter_mut().zip(cells) {
        over = cell.as_deref().unwrap_or(over);
        if !name.ends_with(over) {
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(over);
        }
    }
}
