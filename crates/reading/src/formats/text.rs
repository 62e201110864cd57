//! Plain text: a form feed begins a page, an empty line a paragraph.

use super::Parsed;
use super::blocks::{line, page};
use crate::page::Block;

/// The pages of a plain text.
pub(super) fn parse(text: &str) -> Parsed {
    let pages = text.split('\u{c}').zip(1..).map(|(text, number)| page(number, paragraphs(text))).collect();
    (None, pages)
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
