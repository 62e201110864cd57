//! The rows and sentences of a text, and which of them is nearest to what it is cited for.

use std::collections::BTreeSet;
use std::ops::Range;

use super::bare::Bare;

/// How long a snippet may be that was chosen here.
const SNIPPET: usize = 300;
/// What ends sooner is an abbreviation.
const SHORTEST_SENTENCE: usize = 24;

/// The row or sentence of a text that shares most with what it is cited for, and where it stands. The names of columns say
/// nothing by themselves.
pub(super) fn nearest_line(text: &str, about: &str) -> (String, Range<usize>) {
    let of = |text: &str| Bare::of(text).words().into_iter().map(|(word, _)| word).collect::<BTreeSet<_>>();
    let wanted = of(about);
    let has_header = text.lines().take(2).filter(|line| line.contains(" | ")).count() == 2;
    let mut best = (0, 0..0);
    for span in pieces(text).skip(usize::from(has_header)) {
        // A number tells more than a word.
        let weight =
            |word: &String| word.chars().map(|letter| if letter.is_numeric() { 4 } else { 1 }).sum::<usize>();
        let shared = of(&text[span.clone()]).intersection(&wanted).map(weight).sum::<usize>();
        if shared > best.0 || best.1.is_empty() {
            best = (shared, span);
        }
    }
    let piece = &text[best.1.clone()];
    let end = piece.char_indices().nth(SNIPPET).map_or(piece.len(), |(end, _)| end);
    (piece[..end].to_owned(), best.1)
}

/// Whether a text ends with an abbreviation of one or two letters, as in "U.S." or "no.".
fn is_abbreviated(text: &str) -> bool {
    let word = text
        .trim_end_matches('.')
        .rsplit(|letter: char| !letter.is_alphanumeric())
        .next()
        .unwrap_or_default();
    (1..=2).contains(&word.chars().count()) && word.chars().all(char::is_alphabetic)
}

/// The rows of tables and the sentences of prose in a text.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut pieces = Vec::new();
    let mut begins = 0;
    for line in text.split_inclusive('\n') {
        let mut from = begins;
        begins += line.len();
        if !line.contains(" | ") {
            for (at, end) in line.match_indices(['.', ';', '?', '!']) {
                let after = begins - line.len() + at + end.len();
                let ends = text[after..].starts_with(' ')
                    && after - from > SHORTEST_SENTENCE
                    && !(end == "." && is_abbreviated(&text[from..after]));
                if ends {
                    pieces.push(from..after);
                    from = after + 1;
                }
            }
        }
        pieces.push(from..begins);
    }
    let trimmed = move |piece: Range<usize>| piece.start..piece.start + text[piece].trim_end().len();
    pieces.into_iter().map(trimmed).filter(|piece| !piece.is_empty()).collect::<Vec<_>>().into_iter()
}
