//! HTML, with tables whose cells take several rows and columns.

use scraper::{ElementRef, Html, Node};

use super::Parsed;
use super::blocks::{name_columns, page, table, tidy};
use crate::page::{Block, Row, Table, shortened};

/// Elements are followed this deep.
const DEEPEST: usize = 200;
/// A table has at most so many columns.
const MOST_COLUMNS: usize = 500;
/// A cell takes at most so many columns and rows.
const MOST_SPANNED: usize = 50;
const MOST_ROWS: usize = 500;
/// What a cell says is repeated in the rows that it takes, up to this length.
const LONGEST_REPEATED: usize = 160;

/// The title and the one page of a text in HTML.
pub(super) fn parse(text: &str) -> Parsed {
    let document = Html::parse_document(text);
    let mut walk = Walk::default();
    walk.enter(document.root_element(), 0);
    walk.flush(None);
    (walk.title.filter(|title| !title.is_empty()), vec![page(1, walk.blocks)])
}

/// The words of a piece of HTML.
pub(super) fn plain(text: &str) -> String {
    Html::parse_fragment(text).root_element().text().collect()
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
                self.blocks.extend(read_table(element));
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
fn read_table(element: ElementRef<'_>) -> Option<Block> {
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
    table(Table { heads: heads.min(rows.len().saturating_sub(1)), columns, rows, ..Table::default() })
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
