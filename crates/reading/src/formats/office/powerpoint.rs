//! PowerPoint presentations: a slide is a page. The numbers of its charts are tables; notes of the speaker follow their slide; hidden
//! slides are left out.

use roxmltree::Node;

use super::chart;
use super::grid::{Cell, Grid};
use super::package::{Package, attribute, below, child, children, is_on, xml};
use crate::formats::Parsed;
use crate::formats::blocks::{page, tidy};
use crate::page::{Block, Line, Page, PageLabel, PageUnit, Skip};
use crate::protocol::Failure;

/// Groups of shapes are followed this deep.
const DEEPEST: usize = 30;

/// The title and slides of a presentation.
pub(in crate::formats) fn read(bytes: &[u8]) -> Result<Parsed, Failure> {
    let mut package = Package::open(bytes)?;
    let main = package.main("ppt/presentation.xml")?;
    let text = package.needed(&main)?;
    let presentation = xml(&text)?;
    let related = package.relationships(&main)?;
    let list = child(presentation.root_element(), "sldIdLst");
    let slides = list.into_iter().flat_map(|list| children(list, "sldId"));
    // The id of the relation has a namespace, which the number of the slide has not.
    let id = |node: Node<'_, '_>| {
        node.attributes()
            .find(|one| one.name() == "id" && one.namespace().is_some())
            .map(|one| one.value().to_owned())
    };
    let mut pages: Vec<Page> = Vec::new();
    for (slide, number) in slides.zip(1..) {
        let Some(target) = id(slide).and_then(|id| related.get(&id)) else { continue };
        pages.push(read_slide(&mut package, &target.target, number)?);
    }
    Ok((package.title()?, pages))
}

fn read_slide(package: &mut Package<'_>, part: &str, number: u32) -> Result<Page, Failure> {
    let text = package.needed(part)?;
    let document = xml(&text)?;
    let root = document.root_element();
    let mut slide = Slide::default();
    if let Some(shapes) = below(root, &["cSld", "spTree"]) {
        slide.shapes(shapes, 0);
    }
    let related = package.relationships(part)?;
    let mut charts: Vec<&str> =
        related.values().filter(|one| one.kind == "chart").map(|one| &*one.target).collect();
    charts.sort_unstable();
    for chart in charts {
        if let Some(text) = package.text(chart)? {
            slide.blocks.extend(chart::blocks(&text)?);
        }
    }
    for one in related.values().filter(|one| one.kind == "diagramData") {
        // The words of a diagram stand in a part of their own.
        if let Some(text) = package.text(&one.target)? {
            slide.diagram(&text)?;
        }
    }
    let mut blocks = Vec::new();
    let title = slide.title.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ");
    if !slide.title.is_empty() {
        blocks.push(Block::Heading { level: 1, lines: slide.title });
    }
    blocks.extend(slide.blocks);
    if let Some(notes) = related.values().find(|one| one.kind == "notesSlide")
        && let Some(text) = package.text(&notes.target)?
    {
        let notes = notes_of(&text)?;
        if !notes.is_empty() {
            blocks.push(Block::Heading { level: 2, lines: tidy("Notes") });
            blocks.extend(notes);
        }
    }
    let mut page = page(number, blocks);
    page.label = Some(PageLabel { unit: PageUnit::Slide, name: title });
    if !is_on(attribute(root, "show")) {
        page.skipped = Some(Skip::Hidden);
    }
    Ok(page)
}

/// What a slide says, in the order of its shapes but for the title, which comes first.
#[derive(Default)]
struct Slide {
    title: Vec<Line>,
    blocks: Vec<Block>,
}

impl Slide {
    fn shapes(&mut self, parent: Node<'_, '_>, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        for node in parent.children() {
            match node.tag_name().name() {
                "sp" => self.shape(node),
                "grpSp" | "Choice" | "AlternateContent" => self.shapes(node, depth + 1),
                "graphicFrame" => {
                    if let Some(table) = below(node, &["graphic", "graphicData", "tbl"]) {
                        self.blocks.extend(read_table(table));
                    }
                }
                _ => {}
            }
        }
    }

    fn shape(&mut self, node: Node<'_, '_>) {
        let Some(body) = child(node, "txBody") else { return };
        let placeholder = below(node, &["nvSpPr", "nvPr", "ph"]);
        match placeholder.map(|one| attribute(one, "type").unwrap_or("body")) {
            Some("title" | "ctrTitle") if self.title.is_empty() => {
                self.title = tidy(&paragraphs(body).join(" "));
            }
            // They are the same on every slide.
            Some("dt" | "ftr" | "sldNum") => {}
            _ => self.blocks.extend(texts(body)),
        }
    }

    fn diagram(&mut self, text: &str) -> Result<(), Failure> {
        let document = xml(text)?;
        let points = document.descendants().filter(|node| node.tag_name().name() == "pt");
        let texts = points.filter_map(|point| child(point, "t")).flat_map(texts);
        self.blocks.extend(texts);
        Ok(())
    }
}

/// The paragraphs of a text as blocks.
fn texts(body: Node<'_, '_>) -> Vec<Block> {
    let lines =
        paragraphs(body).iter().map(|text| tidy(text)).filter(|lines| !lines.is_empty()).collect::<Vec<_>>();
    lines.into_iter().map(|lines| Block::Text { lines }).collect()
}

fn paragraphs(body: Node<'_, '_>) -> Vec<String> {
    children(body, "p").map(words).collect()
}

/// The words of a paragraph.
fn words(paragraph: Node<'_, '_>) -> String {
    let mut text = String::new();
    for node in paragraph.descendants() {
        match node.tag_name().name() {
            "t" => text.push_str(node.text().unwrap_or_default()),
            "br" => text.push('\n'),
            "tab" => text.push('\t'),
            _ => {}
        }
    }
    text
}

fn read_table(node: Node<'_, '_>) -> Option<Block> {
    let mut grid = Grid::default();
    let first_row = child(node, "tblPr").and_then(|properties| attribute(properties, "firstRow"));
    for row in children(node, "tr") {
        let cells = children(row, "tc").map(|cell| {
            let merged = |name: &str| attribute(cell, name).is_some_and(|value| is_on(Some(value)));
            if merged("hMerge") {
                return Cell::Left;
            }
            if merged("vMerge") {
                return Cell::Above;
            }
            let said = child(cell, "txBody").map(paragraphs).unwrap_or_default().join(" ");
            Cell::Own(said.split_whitespace().collect::<Vec<_>>().join(" "))
        });
        grid.push(cells.collect(), Vec::new());
    }
    grid.finish(usize::from(first_row.is_some_and(|value| is_on(Some(value)))))
}

/// What a speaker noted, without the picture of the slide and its number.
fn notes_of(text: &str) -> Result<Vec<Block>, Failure> {
    let document = xml(text)?;
    let shapes = document.descendants().filter(|node| node.tag_name().name() == "sp").filter(|node| {
        let placeholder = below(*node, &["nvSpPr", "nvPr", "ph"]);
        placeholder.is_some_and(|one| matches!(attribute(one, "type"), Some("body") | None))
    });
    Ok(shapes.filter_map(|shape| child(shape, "txBody")).flat_map(texts).collect())
}
