//! What stands outside tables: lines in reading order, gathered into headings and paragraphs.

use super::glyphs::Glyph;
use super::lines::{TextLine, line};
use crate::page::{Block, Line, Rect};

/// Lines further apart than this share of their size belong to two paragraphs.
const APART: f32 = 1.75;
/// A line larger than the text by this share is a heading.
const HEADING: f32 = 1.12;
/// A heading is at most so long.
const LONGEST_HEADING: usize = 200;

/// A block and the part of the page that it takes.
pub(crate) struct Placed {
    pub(crate) block: Block,
    pub(crate) place: Rect,
}

/// Headings and paragraphs in reading order.
pub(crate) fn prose(glyphs: &[Glyph]) -> Vec<Placed> {
    let mut lines: Vec<TextLine> =
        in_order(glyphs).into_iter().filter(|line| !line.text.is_empty()).collect();
    if is_jumbled(&lines) {
        lines = cut(lines, true, 0);
    }
    let body = usual_size(&lines);
    let mut blocks: Vec<(Vec<TextLine>, Option<u8>)> = Vec::new();
    for line in lines {
        let level = level(&line, body);
        match blocks.last_mut() {
            Some((lines, last))
                if *last == level && lines.last().is_some_and(|before| continues(before, &line)) =>
            {
                lines.push(line);
            }
            _ => blocks.push((vec![line], level)),
        }
    }
    blocks.into_iter().filter_map(|(lines, level)| block(&lines, level)).collect()
}

/// Lines in the order in which PDFium gives their glyphs.
fn in_order(glyphs: &[Glyph]) -> Vec<TextLine> {
    let mut lines = Vec::new();
    let mut run: Vec<Glyph> = Vec::new();
    for glyph in glyphs {
        if let Some(last) = run.last() {
            let size = last.size.max(glyph.size);
            let level = (glyph.baseline - last.baseline).abs() <= 0.6 * size;
            let near = glyph.place.left - last.place.right < 2.5 * size
                && glyph.place.left > last.place.left - 3.0 * size;
            if !(level && near) {
                lines.push(line(std::mem::take(&mut run)));
            }
        }
        run.push(*glyph);
    }
    if !run.is_empty() {
        lines.push(line(run));
    }
    lines
}

/// Whether the order jumps up the page again and again within one column.
fn is_jumbled(lines: &[TextLine]) -> bool {
    let climbs = lines
        .windows(2)
        .filter(|pair| {
            let (before, after) = (pair[0].place, pair[1].place);
            let shared = before.right.min(after.right) - before.left.max(after.left);
            let narrower = (before.right - before.left).min(after.right - after.left);
            after.bottom < before.top && shared > 0.5 * narrower
        })
        .count();
    climbs > 2 && climbs * 8 > lines.len()
}

/// Orders lines by cutting the page along its widest white bands, across and down in turn.
fn cut(mut lines: Vec<TextLine>, across: bool, depth: usize) -> Vec<TextLine> {
    let top_to_bottom = |a: &TextLine, b: &TextLine| {
        a.baseline.total_cmp(&b.baseline).then(a.place.left.total_cmp(&b.place.left))
    };
    if lines.len() < 2 || depth > 24 {
        lines.sort_by(top_to_bottom);
        return lines;
    }
    for across in [across, !across] {
        let side = |place: Rect| if across { (place.top, place.bottom) } else { (place.left, place.right) };
        lines.sort_by(|a, b| side(a.place).0.total_cmp(&side(b.place).0));
        let size = usual_size(&lines);
        let least = if across { 0.9 * size } else { 1.2 * size };
        let mut end = f32::MIN;
        let mut widest: Option<(usize, f32)> = None;
        for (index, line) in lines.iter().enumerate() {
            let (from, to) = side(line.place);
            let gap = from - end;
            if index > 0 && gap > least && widest.is_none_or(|(_, other)| gap > other) {
                widest = Some((index, gap));
            }
            end = end.max(to);
        }
        if let Some((at, _)) = widest {
            let rest = lines.split_off(at);
            let mut ordered = cut(lines, !across, depth + 1);
            ordered.extend(cut(rest, !across, depth + 1));
            return ordered;
        }
    }
    lines.sort_by(top_to_bottom);
    lines
}

/// The size in which most of the text is set.
fn usual_size(lines: &[TextLine]) -> f32 {
    let mut sizes: Vec<(f32, usize)> = lines.iter().map(|line| (line.size, line.text.len())).collect();
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = sizes.iter().map(|(_, length)| length).sum::<usize>() / 2;
    let mut passed = 0;
    sizes
        .iter()
        .find(|(_, length)| {
            passed += length;
            passed > half
        })
        .map_or(10.0, |(size, _)| *size)
}

fn level(line: &TextLine, body: f32) -> Option<u8> {
    if line.size < HEADING * body
        || line.text.len() > LONGEST_HEADING
        || !line.text.chars().any(char::is_alphabetic)
    {
        return None;
    }
    Some(if line.size > 1.6 * body {
        1
    } else if line.size > 1.3 * body {
        2
    } else {
        3
    })
}

/// Whether a line goes on with the paragraph of the line before.
fn continues(before: &TextLine, line: &TextLine) -> bool {
    let size = before.size.max(line.size);
    let step = line.baseline - before.baseline;
    let shared = before.place.right.min(line.place.right) - before.place.left.max(line.place.left);
    let same_line = step.abs() < 0.3 * size;
    let below = step > 0.0 && step < APART * size && shared > 0.0;
    (same_line || below) && (before.size - line.size).abs() < 0.2 * size
}

fn block(lines: &[TextLine], level: Option<u8>) -> Option<Placed> {
    let place = Rect::around(lines.iter().map(|line| line.place))?;
    let lines = lines.iter().map(|line| Line { text: line.text.clone(), place: Some(line.place) }).collect();
    let block = match level {
        Some(level) => Block::Heading { level, lines },
        None => Block::Text { lines },
    };
    Some(Placed { block, place })
}
