//! Markdown, with tables.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::Parsed;
use super::blocks::{page, table as with_columns, tidy};
use super::html::plain;
use crate::page::{Block, Row, Table};

/// The title and the one page of a text in Markdown.
pub(super) fn parse(text: &str) -> Parsed {
    let blocks = blocks(text);
    let title = blocks.iter().find_map(|block| match block {
        Block::Heading { level: 1, .. } => Some(block.text()),
        _ => None,
    });
    (title, vec![page(1, blocks)])
}

fn blocks(text: &str) -> Vec<Block> {
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
            Event::End(TagEnd::Table) => blocks.extend(table.take().and_then(with_columns)),
            Event::Start(Tag::Heading { .. }) => flush(&mut current, &mut blocks, None),
            Event::End(TagEnd::Heading(level)) => flush(&mut current, &mut blocks, Some(level as u8)),
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
