//! Word documents. What was inserted counts as said and what was deleted does not; comments and hidden text are left out, and
//! footnotes follow their paragraph.

use std::collections::HashMap;

use roxmltree::Node;

use super::grid::{Cell, Grid};
use super::numbering::WordNumbering;
use super::package::{Package, attribute, child, children, is_on, xml};
use crate::formats::Parsed;
use crate::formats::flow::Flow;
use crate::page::Block;
use crate::protocol::Failure;

/// Elements are followed this deep: a table in a table in a text box.
const DEEPEST: usize = 60;

/// The title and pages of a document: those of Word, if it noted where they begin, else parts that are as long as pages.
pub(in crate::formats) fn read(bytes: &[u8]) -> Result<Parsed, Failure> {
    let mut package = Package::open(bytes)?;
    let main = package.main("word/document.xml")?;
    let text = package.needed(&main)?;
    let document = xml(&text)?;
    let body = child(document.root_element(), "body").ok_or(Failure::Damaged)?;
    let related = package.relationships(&main)?;
    let mut part = |kind: &str| -> Result<Option<String>, Failure> {
        let target = related.values().find(|one| one.kind == kind).map(|one| one.target.clone());
        target.map_or(Ok(None), |target| package.text(&target))
    };
    let styles = part("styles")?.map(|text| styles(&text)).transpose()?.unwrap_or_default();
    let mut notes = HashMap::new();
    for kind in ["footnotes", "endnotes"] {
        if let Some(text) = part(kind)? {
            notes.extend(notes_of(&text, kind)?);
        }
    }
    let comments = part("comments")?.map(|text| count(&text, "comment")).transpose()?.unwrap_or_default();
    let has_pages = body.descendants().any(|node| node.tag_name().name() == "lastRenderedPageBreak");
    let numbering =
        part("numbering")?.map(|text| WordNumbering::read(&text)).transpose()?.unwrap_or_default();
    let mut word = Word { styles, notes, numbering, flow: Flow::new(has_pages), ..Word::default() };
    word.blocks(body, 0);
    word.flow.remark(comments, "comment", "left out");
    word.flow.remark(word.removed, "deletion that is still tracked", "left out");
    word.flow.remark(word.hidden, "hidden piece of text", "left out");
    let title = package.title()?.or(word.title);
    Ok((title, word.flow.finish()))
}

/// What a style makes of a paragraph.
#[derive(Clone, Default)]
struct Style {
    based_on: Option<String>,
    /// Its level as a heading, from 1.
    level: Option<u8>,
    is_title: bool,
    /// The list that it makes an item of, and its level there.
    list: Option<(String, usize)>,
}

fn styles(text: &str) -> Result<HashMap<String, Style>, Failure> {
    let document = xml(text)?;
    let found = children(document.root_element(), "style").filter_map(|node| {
        let value = |name| child(node, name).and_then(|node| attribute(node, "val"));
        let name = value("name").unwrap_or_default().to_lowercase();
        let own = child(node, "pPr");
        let outline = own.and_then(|own| child(own, "outlineLvl")).and_then(level_of);
        let named = name.strip_prefix("heading ").and_then(|level| level.parse().ok());
        let style = Style {
            based_on: value("basedOn").map(str::to_owned),
            level: named.or(outline).filter(|level| (1..=9).contains(level)),
            is_title: name == "title",
            list: own.and_then(list_of),
        };
        Some((attribute(node, "styleId")?.to_owned(), style))
    });
    Ok(found.collect())
}

fn level_of(outline: Node<'_, '_>) -> Option<u8> {
    // The tenth level is body text.
    attribute(outline, "val")?.parse::<u8>().ok().filter(|level| *level < 9).map(|level| level + 1)
}

/// The list that some properties make an item of, and its level there.
fn list_of(properties: Node<'_, '_>) -> Option<(String, usize)> {
    let list = child(properties, "numPr")?;
    let value = |name: &str| child(list, name).and_then(|node| attribute(node, "val"));
    let level = value("ilvl").and_then(|level| level.parse().ok()).unwrap_or_default();
    Some((value("numId")?.to_owned(), level))
}

/// The texts of notes by their kind and id.
fn notes_of(text: &str, kind: &str) -> Result<HashMap<(String, String), String>, Failure> {
    let document = xml(text)?;
    let single = kind.trim_end_matches('s').to_owned();
    let mut found = HashMap::new();
    for note in children(document.root_element(), &single) {
        // Those that separate the notes from the text have a type.
        if let Some(id) =
            attribute(note, "id").filter(|_| attribute(note, "type").is_none_or(|kind| kind == "normal"))
        {
            let mut word = Word::default();
            let mut said = String::new();
            word.inline(note, &mut said, 0);
            let said: Vec<&str> = said.split_whitespace().collect();
            found.insert((single.clone(), id.to_owned()), said.join(" "));
        }
    }
    Ok(found)
}

fn count(text: &str, name: &str) -> Result<usize, Failure> {
    Ok(children(xml(text)?.root_element(), name).count())
}

/// A walk through a document.
#[derive(Default)]
struct Word {
    styles: HashMap<String, Style>,
    notes: HashMap<(String, String), String>,
    numbering: WordNumbering,
    flow: Flow,
    title: Option<String>,
    /// The notes that the paragraph at hand refers to.
    noted: Vec<String>,
    /// How many notes there were so far.
    numbered: usize,
    /// Whether a page begins before or in the paragraph at hand.
    breaks: bool,
    removed: usize,
    hidden: usize,
}

impl Word {
    fn blocks(&mut self, parent: Node<'_, '_>, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        for node in parent.children() {
            match node.tag_name().name() {
                "p" => self.paragraph(node, depth),
                "tbl" => {
                    let table = self.table(node, depth);
                    self.flow.table(table);
                    self.notes_follow();
                }
                "del" | "moveFrom" => self.removed += 1,
                "sdt" | "sdtContent" | "customXml" | "ins" | "moveTo" => self.blocks(node, depth + 1),
                _ => {}
            }
        }
    }

    fn paragraph(&mut self, node: Node<'_, '_>, depth: usize) {
        let properties = child(node, "pPr");
        let within = |name: &str| properties.and_then(|properties| child(properties, name));
        let style = within("pStyle")
            .and_then(|style| attribute(style, "val"))
            .map(|id| self.style(id))
            .unwrap_or_default();
        self.breaks = within("pageBreakBefore").is_some_and(|node| is_on(attribute(node, "val")));
        let mut text = String::new();
        self.inline(node, &mut text, depth);
        // A break behind the words belongs to the next paragraph; before them, to this one. Which it is, its text tells.
        let (before, after) = match text.find(BREAK) {
            Some(at) if text[..at].trim().is_empty() => (true, false),
            Some(_) => (self.breaks, true),
            None => (self.breaks, false),
        };
        let text = text.replace(BREAK, "");
        if before {
            self.flow.page();
        }
        let level = within("outlineLvl").and_then(level_of).or(style.level);
        // The list of number 0 takes an item out of that of its style.
        let list = properties.and_then(list_of).or(style.list).filter(|(id, _)| id != "0");
        let mark =
            list.filter(|_| !text.trim().is_empty()).map(|(id, level)| self.numbering.next(&id, level));
        if style.is_title && self.title.is_none() {
            self.title =
                Some(text.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty());
        }
        match (level.or(style.is_title.then_some(1)), mark) {
            (Some(level), Some(mark)) if mark != "-" => {
                self.flow.heading(level, &format!("{mark} {}", text.trim_start()));
            }
            (Some(level), _) => self.flow.heading(level, &text),
            (None, Some(mark)) => self.flow.paragraph(&format!("{mark} {}", text.trim_start())),
            (None, None) => self.flow.paragraph(&text),
        }
        self.notes_follow();
        let section = within("sectPr");
        let is_continuous = section
            .and_then(|section| child(section, "type"))
            .is_some_and(|kind| attribute(kind, "val") == Some("continuous"));
        if after || section.is_some() && !is_continuous {
            self.flow.page();
        }
    }

    /// A style with what it has from those that it is based on.
    fn style(&self, id: &str) -> Style {
        let mut found = Style::default();
        let mut next = Some(id);
        for _ in 0..10 {
            let Some(style) = next.and_then(|id| self.styles.get(id)) else { break };
            found.level = found.level.or(style.level);
            found.is_title |= style.is_title;
            found.list = found.list.or_else(|| style.list.clone());
            next = style.based_on.as_deref();
        }
        found
    }

    /// The words of a paragraph, and of what is anchored in it.
    fn inline(&mut self, parent: Node<'_, '_>, text: &mut String, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        for node in parent.children() {
            match node.tag_name().name() {
                "t" => text.push_str(node.text().unwrap_or_default()),
                "tab" | "ptab" => text.push('\t'),
                "noBreakHyphen" => text.push('-'),
                "cr" => text.push('\n'),
                "br" if attribute(node, "type") == Some("page") => text.push(BREAK),
                "br" => text.push('\n'),
                "lastRenderedPageBreak" => text.push(BREAK),
                "footnoteReference" | "endnoteReference" => self.note(node, text),
                "del" | "moveFrom" => self.removed += 1,
                // What it holds stands there a second time, for programs that do not know the first form.
                "Fallback" => {}
                "instrText" | "delText" | "pPr" | "rPr" | "tblPr" | "sdtPr" => {}
                "r" if is_hidden(node) => self.hidden += 1,
                "p" => {
                    if !text.is_empty() && !text.ends_with(['\n', BREAK]) {
                        text.push('\n');
                    }
                    self.inline(node, text, depth + 1);
                }
                "tc" => {
                    self.inline(node, text, depth + 1);
                    text.push('\t');
                }
                _ => self.inline(node, text, depth + 1),
            }
        }
    }

    fn note(&mut self, node: Node<'_, '_>, text: &mut String) {
        let kind = node.tag_name().name().trim_end_matches("Reference").to_owned();
        let Some(id) = attribute(node, "id") else { return };
        let Some(said) = self.notes.get(&(kind, id.to_owned())).filter(|said| !said.is_empty()) else {
            return;
        };
        self.numbered += 1;
        text.push_str(&format!(" [{}/]", self.numbered));
        self.noted.push(format!("[{}/] {said}", self.numbered));
    }

    fn notes_follow(&mut self) {
        for note in std::mem::take(&mut self.noted) {
            self.flow.paragraph(&note);
        }
    }

    fn table(&mut self, node: Node<'_, '_>, depth: usize) -> Option<Block> {
        let mut grid = Grid::default();
        let (mut heads, mut is_head) = (0, true);
        let looks = child(node, "tblPr").and_then(|properties| child(properties, "tblLook"));
        let first_row = looks.is_some_and(|looks| match attribute(looks, "firstRow") {
            Some(value) => is_on(Some(value)),
            // An older way to say it: a bit of a number.
            None => attribute(looks, "val")
                .is_some_and(|bits| u32::from_str_radix(bits, 16).is_ok_and(|bits| bits & 0x20 != 0)),
        });
        for row in rows(node) {
            let repeats = child(row, "trPr").and_then(|properties| child(properties, "tblHeader"));
            is_head &= repeats.is_some_and(|repeats| is_on(attribute(repeats, "val")));
            heads += usize::from(is_head);
            if child(row, "trPr").is_some_and(|properties| child(properties, "del").is_some()) {
                self.removed += 1;
                continue;
            }
            let mut cells = Vec::new();
            for cell in cells_of(row) {
                let properties = child(cell, "tcPr");
                let within = |name: &str| properties.and_then(|properties| child(properties, name));
                let value = |name: &str| within(name).and_then(|node| attribute(node, "val"));
                let span =
                    value("gridSpan").and_then(|span| span.parse().ok()).unwrap_or(1_usize).clamp(1, 50);
                let goes_on = within("vMerge")
                    .is_some_and(|merge| attribute(merge, "val") != Some("restart"))
                    || value("hMerge") == Some("continue");
                let mut text = String::new();
                self.inline(cell, &mut text, depth + 1);
                let text: Vec<&str> =
                    text.split([' ', '\t', '\n', BREAK]).filter(|word| !word.is_empty()).collect();
                cells.push(if goes_on { Cell::Above } else { Cell::Own(text.join(" ")) });
                cells.extend((1..span).map(|_| Cell::Left));
            }
            grid.push(cells, Vec::new());
        }
        grid.finish(heads.max(usize::from(first_row)))
    }
}

/// Stands in a text where a page ends.
const BREAK: char = '\u{c}';

fn is_hidden(run: Node<'_, '_>) -> bool {
    let vanish = child(run, "rPr").and_then(|properties| child(properties, "vanish"));
    vanish.is_some_and(|vanish| is_on(attribute(vanish, "val")))
}

/// The rows of a table, also those in content controls.
fn rows<'a, 'input>(table: Node<'a, 'input>) -> Vec<Node<'a, 'input>> {
    within(table, "tr")
}

fn cells_of<'a, 'input>(row: Node<'a, 'input>) -> Vec<Node<'a, 'input>> {
    within(row, "tc")
}

fn within<'a, 'input>(parent: Node<'a, 'input>, name: &str) -> Vec<Node<'a, 'input>> {
    let mut found = Vec::new();
    for node in parent.children() {
        match node.tag_name().name() {
            wanted if wanted == name => found.push(node),
            "sdt" | "sdtContent" | "customXml" | "ins" | "moveTo" => found.extend(within(node, name)),
            _ => {}
        }
    }
    found
}
