//! OpenDocument texts, sheets and presentations, as LibreOffice writes them. What was deleted, comments and what is hidden are
//! left out; footnotes follow their paragraph, notes of the speaker their slide.

use std::collections::{HashMap, HashSet};

use roxmltree::Node;

use super::grid::{Cell, Grid, MOST_COLUMNS};
use super::numbering::{Counters, Level, ListStyles};
use super::package::{Package, attribute, child, children, title_of, xml};
use super::sheet::{MOST_CELLS, Sheet, Shown, pages as sheet_pages};
use crate::formats::Parsed;
use crate::formats::blocks::{page, tidy};
use crate::formats::flow::Flow;
use crate::page::{Block, Page, PageLabel, PageUnit, Skip};
use crate::protocol::Failure;

/// Elements are followed this deep.
const DEEPEST: usize = 60;
/// A row or cell stands for at most so many alike ones; empty ones are repeated to the end of a sheet.
const MOST_REPEATED: u32 = 10_000;

/// The title and pages of a file.
pub(in crate::formats) fn read(bytes: &[u8]) -> Result<Parsed, Failure> {
    let mut package = Package::open(bytes)?;
    // A manifest that says how to decrypt the parts is that of a file with a password.
    if package.text("META-INF/manifest.xml")?.is_some_and(|manifest| manifest.contains("encryption-data")) {
        return Err(Failure::Password);
    }
    let text = package.needed("content.xml")?;
    let document = xml(&text)?;
    let root = document.root_element();
    let title = match package.text("meta.xml")? {
        Some(text) => xml(&text).ok().and_then(|document| title_of(document.root_element())),
        None => None,
    };
    let body = child(root, "body").ok_or(Failure::Damaged)?;
    let styles = child(root, "automatic-styles");
    if let Some(sheets) = child(body, "spreadsheet") {
        return Ok((title, sheet_pages(read_sheets(sheets, &hidden_styles(styles, "table-properties"))?)));
    }
    if let Some(slides) = child(body, "presentation") {
        let hidden = hidden_styles(styles, "drawing-page-properties");
        let slides =
            children(slides, "page").zip(1..).map(|(node, number)| read_slide(node, number, &hidden));
        return Ok((title, slides.collect()));
    }
    let mut lists = ListStyles::default();
    if let Some(text) = package.text("styles.xml")?
        && let Ok(document) = xml(&text)
    {
        document.root_element().children().for_each(|styles| lists.add(styles));
    }
    styles.into_iter().for_each(|styles| lists.add(styles));
    let mut text = Text { flow: Flow::new(false), lists, ..Text::default() };
    text.blocks(child(body, "text").ok_or(Failure::Damaged)?, 0);
    text.flow.remark(text.comments, "comment", "left out");
    let changes = root.descendants().filter(|node| node.tag_name().name() == "deletion").count();
    text.flow.remark(changes, "deletion that is still tracked", "left out");
    Ok((title, text.flow.finish()))
}

/// The names of styles that hide what has them.
fn hidden_styles(styles: Option<Node<'_, '_>>, properties: &str) -> HashSet<String> {
    let hidden = styles.into_iter().flat_map(|styles| children(styles, "style")).filter(|style| {
        child(*style, properties).is_some_and(|properties| {
            attribute(properties, "display") == Some("false")
                || attribute(properties, "visibility") == Some("hidden")
        })
    });
    hidden.filter_map(|style| attribute(style, "name").map(str::to_owned)).collect()
}

/// A walk through a text.
#[derive(Default)]
struct Text {
    flow: Flow,
    lists: ListStyles,
    /// How far lists were counted, by their style and by their name.
    counted: HashMap<String, Counters>,
    noted: Vec<String>,
    numbered: usize,
    comments: usize,
}

impl Text {
    fn blocks(&mut self, parent: Node<'_, '_>, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        for node in parent.children() {
            match node.tag_name().name() {
                "h" => {
                    let level = attribute(node, "outline-level").and_then(|level| level.parse().ok());
                    let text = self.words(node);
                    self.flow.heading(level.unwrap_or(1_u8).clamp(1, 9), &text);
                    self.notes_follow();
                }
                "p" => {
                    let text = self.words(node);
                    self.flow.paragraph(&text);
                    self.notes_follow();
                }
                "list" => self.whole_list(node, depth),
                "table" => {
                    let table = self.table(node);
                    self.flow.table(table);
                    self.notes_follow();
                }
                "section" if attribute(node, "display") == Some("none") => {}
                // It is made of the headings of the document itself.
                "table-of-content" | "tracked-changes" => {}
                "section" | "index-body" | "text-box" | "frame" | "list-header" | "alphabetical-index"
                | "illustration-index" => {
                    self.blocks(node, depth + 1);
                }
                _ => {}
            }
        }
    }

    /// A list that is in no other. It may go on with the numbers of an earlier one.
    fn whole_list(&mut self, list: Node<'_, '_>, depth: usize) {
        let style = attribute(list, "style-name");
        let levels = self.lists.of(style);
        let earlier = attribute(list, "continue-list")
            .or(style.filter(|_| attribute(list, "continue-numbering") == Some("true")));
        let mut counters = earlier.and_then(|earlier| self.counted.get(earlier)).cloned().unwrap_or_default();
        self.list(list, &levels, &mut counters, 0, depth);
        for name in [style, attribute(list, "id")].into_iter().flatten() {
            self.counted.insert(name.to_owned(), counters.clone());
        }
    }

    fn list(
        &mut self,
        list: Node<'_, '_>,
        levels: &[Level],
        counters: &mut Counters,
        level: usize,
        depth: usize,
    ) {
        if depth > DEEPEST {
            return;
        }
        for item in
            list.children().filter(|node| matches!(node.tag_name().name(), "list-item" | "list-header"))
        {
            // The first paragraph of an item has its number.
            let mut mark = (item.tag_name().name() == "list-item").then_some(());
            for node in item.children() {
                match node.tag_name().name() {
                    name @ ("p" | "h") => {
                        let text = self.words(node);
                        let mark = mark
                            .take()
                            .filter(|()| !text.trim().is_empty())
                            .map(|()| counters.next(levels, level));
                        let text = mark.map_or(text.clone(), |mark| format!("{mark} {}", text.trim_start()));
                        let outline =
                            attribute(node, "outline-level").and_then(|level| level.parse::<u8>().ok());
                        match outline.filter(|_| name == "h") {
                            Some(level) => {
                                self.flow.heading(level.clamp(1, 9), text.trim_start_matches("- "));
                            }
                            None => self.flow.paragraph(&text),
                        }
                        self.notes_follow();
                    }
                    "list" => {
                        let own = attribute(node, "style-name").map(|style| self.lists.of(Some(style)));
                        self.list(node, own.as_deref().unwrap_or(levels), counters, level + 1, depth + 1);
                        counters.restart(level + 1);
                    }
                    _ => {}
                }
            }
        }
    }

    fn words(&mut self, node: Node<'_, '_>) -> String {
        let mut text = String::new();
        self.inline(node, &mut text, 0);
        text
    }

    fn inline(&mut self, parent: Node<'_, '_>, text: &mut String, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        for node in parent.children() {
            if let Some(said) = node.text().filter(|_| node.is_text()) {
                text.push_str(&said.replace(['\n', '\t'], " "));
                continue;
            }
            match node.tag_name().name() {
                "s" => text.push(' '),
                "tab" => text.push('\t'),
                "line-break" => text.push('\n'),
                "note" => self.note(node, text),
                "annotation" => self.comments += 1,
                "annotation-end" | "title" | "desc" => {}
                "p" | "h" => {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    self.inline(node, text, depth + 1);
                }
                _ => self.inline(node, text, depth + 1),
            }
        }
    }

    fn note(&mut self, node: Node<'_, '_>, text: &mut String) {
        let said = child(node, "note-body").map(|body| self.words(body)).unwrap_or_default();
        let said: Vec<&str> = said.split_whitespace().collect();
        if said.is_empty() {
            return;
        }
        self.numbered += 1;
        text.push_str(&format!(" [{}/]", self.numbered));
        self.noted.push(format!("[{}/] {}", self.numbered, said.join(" ")));
    }

    fn notes_follow(&mut self) {
        for note in std::mem::take(&mut self.noted) {
            self.flow.paragraph(&note);
        }
    }

    fn table(&mut self, node: Node<'_, '_>) -> Option<Block> {
        let mut grid = Grid::default();
        let mut heads = 0;
        for (row, is_head) in rows(node, false) {
            heads += usize::from(is_head);
            let mut cells = Vec::new();
            let mut reached = 0;
            for cell in row.children().filter(Node::is_element) {
                let many = repeated(cell, "number-columns-repeated");
                for _ in 0..many.min((MOST_COLUMNS + 1).saturating_sub(cells.len()) as u32) {
                    cells.push(match cell.tag_name().name() {
                        // Behind a cell that reaches to the right, else below one that reaches down.
                        "covered-table-cell" if reached > 0 => {
                            reached -= 1;
                            Cell::Left
                        }
                        "covered-table-cell" => Cell::Above,
                        _ => {
                            reached = repeated(cell, "number-columns-spanned") - 1;
                            let text = self.words(cell);
                            Cell::Own(text.split_whitespace().collect::<Vec<_>>().join(" "))
                        }
                    });
                }
            }
            grid.push(cells, Vec::new());
        }
        grid.finish(heads)
    }
}

/// The rows of a table, and whether each is of its header.
fn rows<'a, 'input>(parent: Node<'a, 'input>, is_head: bool) -> Vec<(Node<'a, 'input>, bool)> {
    let mut found = Vec::new();
    for node in parent.children() {
        match node.tag_name().name() {
            "table-row" => found.push((node, is_head)),
            "table-header-rows" => found.extend(rows(node, true)),
            "table-rows" | "table-row-group" => found.extend(rows(node, is_head)),
            _ => {}
        }
    }
    found
}

fn repeated(node: Node<'_, '_>, name: &str) -> u32 {
    attribute(node, name).and_then(|many| many.parse().ok()).unwrap_or(1).max(1)
}

fn read_slide(node: Node<'_, '_>, number: u32, hidden: &HashSet<String>) -> Page {
    let (mut title, mut blocks, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for frame in node.descendants().filter(|node| matches!(node.tag_name().name(), "frame" | "custom-shape"))
    {
        let class = attribute(frame, "class").unwrap_or_default();
        // The picture of the slide, and what every slide has.
        if matches!(class, "page" | "footer" | "date-time" | "page-number" | "header") {
            continue;
        }
        let in_notes = frame.ancestors().any(|above| above.tag_name().name() == "notes");
        let mut text = Text { flow: Flow::new(true), ..Text::default() };
        for within in frame.children() {
            match within.tag_name().name() {
                "text-box" => text.blocks(within, 0),
                "table" => {
                    let table = text.table(within);
                    text.flow.table(table);
                }
                _ if frame.tag_name().name() == "custom-shape" => text.blocks(frame, 0),
                _ => continue,
            }
            if frame.tag_name().name() == "custom-shape" {
                break;
            }
        }
        let mut said: Vec<Block> = text.flow.finish().into_iter().flat_map(|page| page.blocks).collect();
        // Where a paragraph stands counts in the whole slide, of which a shape is only a part.
        for block in &mut said {
            if let Block::Text { lines } = block {
                lines.iter_mut().for_each(|line| line.place = None);
            }
        }
        if class == "title" && title.is_empty() {
            title = tidy(&said.iter().map(Block::text).collect::<Vec<_>>().join(" "));
        } else if in_notes {
            notes.extend(said);
        } else {
            blocks.extend(said);
        }
    }
    let name = title.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ");
    if !title.is_empty() {
        blocks.insert(0, Block::Heading { level: 1, lines: title });
    }
    if !notes.is_empty() {
        blocks.push(Block::Heading { level: 2, lines: tidy("Notes") });
        blocks.extend(notes);
    }
    let mut page = page(number, blocks);
    page.label = Some(PageLabel { unit: PageUnit::Slide, name });
    if attribute(node, "style-name").is_some_and(|style| hidden.contains(style)) {
        page.skipped = Some(Skip::Hidden);
    }
    page
}

fn read_sheets(parent: Node<'_, '_>, hidden: &HashSet<String>) -> Result<Vec<Sheet>, Failure> {
    let mut left = MOST_CELLS;
    let mut sheets = Vec::new();
    for table in children(parent, "table") {
        let mut sheet = Sheet {
            name: attribute(table, "name").unwrap_or_default().to_owned(),
            is_hidden: attribute(table, "style-name").is_some_and(|style| hidden.contains(style)),
            ..Sheet::default()
        };
        if !sheet.is_hidden {
            read_cells(table, &mut sheet, &mut left)?;
        }
        sheets.push(sheet);
    }
    Ok(sheets)
}

fn read_cells(table: Node<'_, '_>, sheet: &mut Sheet, left: &mut usize) -> Result<(), Failure> {
    let mut hidden_columns = HashSet::new();
    let mut column = 0_u32;
    for node in table.descendants().filter(|node| node.tag_name().name() == "table-column") {
        let many = repeated(node, "number-columns-repeated");
        if is_hidden(node) {
            hidden_columns.extend(column..column.saturating_add(many.min(MOST_REPEATED)));
        }
        column = column.saturating_add(many);
    }
    let mut words = Text::default();
    let mut at = 0_u32;
    for (node, _) in rows(table, false) {
        let many = repeated(node, "number-rows-repeated");
        if is_hidden(node) {
            sheet.hidden_rows.extend(at..at.saturating_add(many.min(MOST_REPEATED)));
            at = at.saturating_add(many);
            continue;
        }
        let mut cells = Vec::new();
        let mut column = 0_u32;
        for cell in node.children().filter(Node::is_element) {
            let repeats = repeated(cell, "number-columns-repeated");
            let text = children(cell, "p").map(|line| words.words(line)).collect::<Vec<_>>().join("\n");
            let is_value = attribute(cell, "value-type").is_some_and(|kind| kind != "string");
            let spans = [repeated(cell, "number-rows-spanned"), repeated(cell, "number-columns-spanned")];
            if spans != [1, 1] {
                let last = (at.saturating_add(spans[0] - 1), column.saturating_add(spans[1] - 1));
                sheet.merged.add((at, column), last);
            }
            if !text.trim().is_empty() {
                for column in (column..column.saturating_add(repeats.min(MOST_REPEATED)))
                    .filter(|column| !hidden_columns.contains(column))
                {
                    *left = left.checked_sub(1).ok_or(Failure::TooManyCells(MOST_CELLS))?;
                    cells.push((column, Shown { text: text.clone(), is_value }));
                }
            }
            column = column.saturating_add(repeats);
        }
        if !cells.is_empty() {
            for row in at..at.saturating_add(many.min(MOST_REPEATED)) {
                *left = left.checked_sub(cells.len()).ok_or(Failure::TooManyCells(MOST_CELLS))?;
                sheet.rows.push((row, cells.clone()));
            }
        }
        at = at.saturating_add(many);
    }
    for (count, what) in [(sheet.hidden_rows.len(), "rows"), (hidden_columns.len(), "columns")] {
        if count > 0 {
            sheet.remarks.push(format!("{count} hidden {what} are left out."));
        }
    }
    if words.comments > 0 {
        sheet.remarks.push("The comments on its cells are left out.".to_owned());
    }
    Ok(())
}

fn is_hidden(node: Node<'_, '_>) -> bool {
    matches!(attribute(node, "visibility"), Some("collapse" | "filter"))
}
