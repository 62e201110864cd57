//! From glyphs to lines: what stands on one baseline, with the spaces that the file left out.

use super::glyphs::Glyph;
use crate::page::Rect;

/// A gap wider than this share of the font's size is a space.
const SPACE: f32 = 0.13;
/// Where the file has a space, a narrower gap is one too.
const NARROW_SPACE: f32 = 0.04;
/// Glyphs whose baselines are nearer than this share of their size stand on one line.
const SAME_LINE: f32 = 0.32;
/// A glyph smaller than this share of its neighbour may be raised beside it.
const RAISED: f32 = 0.85;
/// So many dots in a row lead the eye to the next column and are no text.
const LEADER: usize = 2;

/// A line of text.
#[derive(Clone, Debug)]
pub(crate) struct TextLine {
    pub(crate) text: String,
    pub(crate) place: Rect,
    pub(crate) baseline: f32,
    pub(crate) size: f32,
    /// Whether a row of dots led on from it.
    pub(crate) leads: bool,
}

/// The lines of some glyphs, from top to bottom.
pub(crate) fn lines(glyphs: &[Glyph]) -> Vec<TextLine> {
    on_baselines(glyphs).into_iter().map(line).collect()
}

/// Glyphs by the line on which they stand, from top to bottom.
pub(crate) fn on_baselines(glyphs: &[Glyph]) -> Vec<Vec<Glyph>> {
    let mut order: Vec<usize> = (0..glyphs.len()).collect();
    order.sort_by(|&a, &b| glyphs[a].baseline.total_cmp(&glyphs[b].baseline));
    let mut groups: Vec<Vec<Glyph>> = Vec::new();
    for index in order {
        let glyph = glyphs[index];
        let fits = |group: &Vec<Glyph>| {
            group.last().is_some_and(|last| {
                let size = glyph.size.min(last.size);
                (glyph.baseline - last.baseline).abs() <= SAME_LINE * size
                    && (glyph.baseline - group[0].baseline).abs() <= size
            })
        };
        match groups.last_mut() {
            Some(group) if fits(group) => group.push(glyph),
            _ => groups.push(vec![glyph]),
        }
    }
    attach_raised(&mut groups);
    groups.retain(|group| !group.is_empty());
    groups
}

/// Puts footnote marks and exponents, which stand higher and smaller, onto the line beside them.
fn attach_raised(groups: &mut [Vec<Glyph>]) {
    for index in 0..groups.len() {
        let Some(first) = groups[index].first().copied() else { continue };
        let size = groups[index].iter().map(|glyph| glyph.size).fold(0.0, f32::max);
        let beside = |other: &Vec<Glyph>| {
            other.iter().any(|glyph| {
                let rise = glyph.baseline - first.baseline;
                size < RAISED * glyph.size
                    && (0.1 * glyph.size..0.75 * glyph.size).contains(&rise)
                    && (first.place.left - glyph.place.right).abs() < 0.6 * glyph.size
            })
        };
        let near = (index.saturating_sub(3)..groups.len().min(index + 4))
            .filter(|&near| near != index)
            .find(|&near| beside(&groups[near]));
        if let Some(near) = near {
            let raised = std::mem::take(&mut groups[index]);
            groups[near].extend(raised);
        }
    }
}

/// One line from the glyphs that stand on it.
pub(crate) fn line(mut glyphs: Vec<Glyph>) -> TextLine {
    let backwards = glyphs.iter().filter(|glyph| is_backward(glyph.char)).count() * 2 > glyphs.len();
    if !backwards {
        glyphs.sort_by(|a, b| a.place.left.total_cmp(&b.place.left));
    }
    let size = glyphs.iter().map(|glyph| glyph.size).fold(0.0, f32::max);
    let upright = glyphs.iter().filter(|glyph| glyph.size >= RAISED * size);
    let baseline = upright.map(|glyph| glyph.baseline).fold(0.0, f32::max);
    let raised = |glyph: &Glyph| glyph.size < RAISED * size && baseline - glyph.baseline > 0.1 * size;
    let mut text = String::new();
    let mut index = 0;
    let mut last: Option<Glyph> = None;
    while index < glyphs.len() {
        let glyph = glyphs[index];
        if raised(&glyph) {
            let end = (index..glyphs.len()).find(|&at| !raised(&glyphs[at])).unwrap_or(glyphs.len());
            let mark: String = glyphs[index..end].iter().map(|glyph| glyph.char).collect();
            push_raised(&mut text, &mark);
            last = Some(glyphs[end - 1]);
            index = end;
            continue;
        }
        let gap = last.map_or(0.0, |last| {
            if backwards { last.place.left - glyph.place.right } else { glyph.place.left - last.place.right }
        });
        let space = if glyph.spaced { NARROW_SPACE } else { SPACE };
        if !text.is_empty() && gap > space * glyph.size && !(glyph.char == '.' && text.ends_with("..")) {
            text.push(' ');
        }
        text.push(glyph.char);
        last = Some(glyph);
        index += 1;
    }
    let place = Rect::around(glyphs.iter().map(|glyph| glyph.place)).unwrap_or_default();
    let (text, leads) = without_leader(&text);
    TextLine { text, place, baseline, size, leads }
}

/// Whether a character is written from right to left.
fn is_backward(char: char) -> bool {
    matches!(char, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}')
}

/// A footnote mark in brackets, an exponent as such.
fn push_raised(text: &mut String, mark: &str) {
    let mark = mark.trim();
    if mark.is_empty() {
        return;
    }
    let exponent = |char: char| match char {
        '0' => Some('\u{2070}'),
        '1' => Some('\u{b9}'),
        '2' => Some('\u{b2}'),
        '3' => Some('\u{b3}'),
        '4'..='9' => char::from_u32(0x2070 + u32::from(char) - u32::from('0')),
        _ => None,
    };
    let after_letter = text.chars().next_back().is_some_and(char::is_alphabetic);
    match mark.chars().map(exponent).collect::<Option<String>>() {
        Some(exponent) if after_letter && mark.len() == 1 => text.push_str(&exponent),
        _ => {
            text.push_str(" [");
            text.push_str(mark);
            text.push(']');
        }
    }
}

/// Takes away the dots that lead to the next column. An abbreviation keeps its own dot where the dots
/// follow without one of their spaces.
fn without_leader(text: &str) -> (String, bool) {
    let bare = text.trim_end_matches(['.', ' ', '\u{2026}']);
    let dots = text[bare.len()..]
        .chars()
        .map(|char| if char == '\u{2026}' { 3 } else { usize::from(char == '.') })
        .sum::<usize>();
    if dots < LEADER {
        return (text.trim().to_owned(), false);
    }
    (bare.trim().to_owned(), true)
}
