//! Finds a quotation in the text of a page: as it is; in the cells of one row of a table; or with no more difference
//! than spelling and small words.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::bare::Bare;

/// How a quotation was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// The same words in the same order; in a table, in cells of one row.
    Exact,
    /// The same words but for spelling, articles and prepositions: at most one word in seven.
    Fuzzy,
    /// Not there.
    NotFound,
    /// Nothing was quoted; what is shown was chosen here.
    Unquoted,
}

/// What of the quoted words may differ: one in so many.
const ONE_IN: usize = 7;

/// Two texts that follow each other share at most so many bytes.
const LONGEST_SHARED: usize = 2000;

/// Words that may be missing, added or not.
const SMALL: [&str; 23] = [
    "the", "a", "an", "of", "to", "in", "on", "at", "for", "by", "s", "el", "la", "los", "las", "un", "una",
    "de", "del", "al", "en", "por", "lo",
];

/// A text on a page: a chunk, with what stands over it.
pub struct Said<'a> {
    /// What it says.
    pub text: &'a str,
    /// The headings over it, and the rows that govern its first row.
    pub path: &'a [String],
}

/// Where a quotation stands: which texts, and which bytes of them.
pub type Spans = Vec<(usize, Range<usize>)>;

/// Looks for a quotation in what a page says.
pub fn find(quote: &str, said: &[Said<'_>]) -> (Found, Spans) {
    let parts: Vec<Bare> = parts(quote).map(Bare::of).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return (Found::NotFound, Vec::new());
    }
    let texts: Vec<Text<'_>> = said.iter().map(Text::of).collect();
    let (mut found, mut spans) = (Found::Exact, Vec::new());
    for part in &parts {
        if let Some(exact) = exactly(part, &texts) {
            spans.extend(exact);
        } else if let Some(fuzzy) = fuzzily(part, &texts) {
            found = Found::Fuzzy;
            spans.push(fuzzy);
        } else {
            return (Found::NotFound, Vec::new());
        }
    }
    (found, spans)
}

/// What stands between signs of omission.
fn parts(quote: &str) -> impl Iterator<Item = &str> {
    quote.split("...").flat_map(|part| part.split('\u{2026}'))
}

/// A text as it is compared.
struct Text<'a> {
    text: &'a str,
    bare: Bare,
    path: Vec<Bare>,
    /// The cells of each row of a table, with where they begin.
    rows: Vec<Vec<(Bare, usize)>>,
}

impl<'a> Text<'a> {
    fn of(said: &Said<'a>) -> Self {
        let mut rows = Vec::new();
        let mut begins = 0;
        for line in said.text.split_inclusive('\n') {
            if line.contains(" | ") {
                let mut at = begins;
                let cells = line.split('|').map(|cell| {
                    let placed = (Bare::of(cell), at);
                    at += cell.len() + 1;
                    placed
                });
                rows.push(cells.collect());
            }
            begins += line.len();
        }
        let path = said.path.iter().map(|heading| Bare::of(heading)).collect();
        Self { text: said.text, bare: Bare::of(said.text), path, rows }
    }
}

fn exactly(part: &Bare, texts: &[Text<'_>]) -> Option<Spans> {
    let all = 0..part.len();
    for (index, text) in texts.iter().enumerate() {
        if let Some(found) = text.bare.find(part, all.clone(), 0) {
            return Some(vec![(index, text.bare.in_text(&found))]);
        }
    }
    for (index, text) in texts.iter().enumerate() {
        for row in &text.rows {
            let governs = text.path.iter().map(|heading| Cell { bare: heading, at: None });
            let stands = row.iter().map(|(cell, at)| Cell { bare: cell, at: Some(*at) });
            let cells: Vec<Cell<'_>> = governs.chain(stands).collect();
            let mut row = Row { part, cells: &cells, failed: HashSet::new() };
            if let Some(spans) = row.pieces(0, 0) {
                return Some(spans.into_iter().map(|span| (index, span)).collect());
            }
        }
    }
    // A heading stands over the text, perhaps on a page before: what is shown is the text under it.
    let under =
        |text: &Text<'_>| text.path.iter().any(|heading| heading.find(part, all.clone(), 0).is_some());
    if let Some(index) = texts.iter().position(under) {
        return Some(vec![(index, 0..0)]);
    }
    texts.windows(2).enumerate().find_map(|(index, pair)| over_the_border(part, index, pair))
}

/// A cell of a row, or a heading over it, which has no place in the row.
struct Cell<'a> {
    bare: &'a Bare,
    at: Option<usize>,
}

/// A part of a quotation in a row: pieces, each in a later cell than the one before.
struct Row<'a> {
    part: &'a Bare,
    cells: &'a [Cell<'a>],
    /// From where on, and from which cell on, there is no way to the end.
    failed: HashSet<(usize, usize)>,
}

impl Row<'_> {
    fn pieces(&mut self, from: usize, cell: usize) -> Option<Vec<Range<usize>>> {
        let from = self.part.after_gap(from);
        if from == self.part.len() {
            return Some(Vec::new());
        }
        if self.failed.contains(&(from, cell)) {
            return None;
        }
        for (index, Cell { bare, at }) in self.cells.iter().enumerate().skip(cell) {
            let longest = from + (self.part.len() - from).min(bare.len());
            for end in (from + 1..=longest).rev() {
                if !self.part.is_border(end) {
                    continue;
                }
                let Some(found) = bare.find(self.part, from..end, 0) else { continue };
                if let Some(mut spans) = self.pieces(end, index + 1) {
                    if let Some(at) = at {
                        let span = bare.in_text(&found);
                        spans.insert(0, at + span.start..at + span.end);
                    }
                    return Some(spans);
                }
            }
        }
        self.failed.insert((from, cell));
        None
    }
}

/// A part that begins in one text and ends in the next, which may share some of their words.
fn over_the_border(part: &Bare, index: usize, pair: &[Text<'_>]) -> Option<Spans> {
    let [one, other] = pair else { return None };
    let shared = (0..=one.text.len().min(other.text.len()).min(LONGEST_SHARED))
        .rev()
        .find(|&length| other.text.is_char_boundary(length) && one.text.ends_with(&other.text[..length]))?;
    let joined = format!("{} {}", one.text, &other.text[shared..]);
    let bare = Bare::of(&joined);
    let found = bare.in_text(&bare.find(part, 0..part.len(), 0)?);
    let border = one.text.len() + 1;
    let back = |at: usize| at - border + shared;
    let before = found.start.min(one.text.len())..found.end.min(one.text.len());
    let after = back(found.start.max(border))..back(found.end.max(border));
    Some(vec![(index, before), (index + 1, after)])
}

/// Where the words stand with the fewest differences, if they are few and none that matters.
fn fuzzily(part: &Bare, texts: &[Text<'_>]) -> Option<(usize, Range<usize>)> {
    let quoted = part.words();
    let most = (quoted.len() / ONE_IN).max(1);
    // A word or two that are spelt otherwise are other words.
    if quoted.len() < 3 {
        return None;
    }
    let found = texts.iter().enumerate().filter_map(|(index, text)| {
        let words = text.bare.words();
        let (differences, range) = aligned(&quoted, &words)?;
        let letters = words[range.start].1.start..words[range.end - 1].1.end;
        (differences <= most).then(|| (differences, index, text.bare.in_text(&letters)))
    });
    found.min_by_key(|(differences, ..)| *differences).map(|(_, index, span)| (index, span))
}

type Words = [(String, Range<usize>)];

/// Lays the quoted words along a text, which may begin and end anywhere in it. Says how many differ and which words
/// of the text they lie along; none if a word would have to differ that matters.
fn aligned(quoted: &Words, words: &Words) -> Option<(usize, Range<usize>)> {
    const NEVER: usize = usize::MAX / 2;
    // For each word of the text: the differences so far when the quotation ends before it, and where it began.
    let mut row: Vec<(usize, usize)> = (0..=words.len()).map(|at| (0, at)).collect();
    for (quote, _) in quoted {
        let extra = if is_small(quote) { 1 } else { NEVER };
        let mut next = vec![(row[0].0.saturating_add(extra), row[0].1)];
        for (at, (word, _)) in words.iter().enumerate() {
            let here = if quote == word {
                0
            } else if is_respelt(quote, word) {
                1
            } else {
                NEVER
            };
            let left_out = if is_small(word) { 1 } else { NEVER };
            let ways = [
                (row[at].0.saturating_add(here), row[at].1),
                (row[at + 1].0.saturating_add(extra), row[at + 1].1),
                (next[at].0.saturating_add(left_out), next[at].1),
            ];
            next.push(ways.into_iter().min_by_key(|way| way.0)?);
        }
        row = next;
    }
    let (end, (differences, start)) =
        row.into_iter().enumerate().min_by_key(|(end, (differences, start))| (*differences, end - start))?;
    (differences < NEVER && start < end).then_some((differences, start..end))
}

fn is_small(word: &str) -> bool {
    SMALL.contains(&word)
}

/// Whether two words are one, spelt otherwise. Numbers never are.
fn is_respelt(one: &str, other: &str) -> bool {
    let shorter = one.chars().count().min(other.chars().count());
    let most = match shorter {
        0..5 => return false,
        5..9 => 1,
        _ => 2,
    };
    let numeric = |word: &str| word.contains(|letter: char| letter.is_numeric());
    one.chars().next() == other.chars().next()
        && !numeric(one)
        && !numeric(other)
        && strsim::osa_distance(one, other) <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "Rates do not apply to articles imported before July 6, 2018, of the kind described in heading 8539.";
    const TABLE: &str = "Heading | Description | Unit | General | Column 2\n\
        8539.51.00 | LED modules | No. | Free | 20%\n8539.52.00 | Light-emitting diode (LED) lamps | No. | 2% | 20%";

    #[track_caller]
    fn check(quote: &str, text: &str, expected: Found) {
        let path = ["8539".to_owned(), "Electric filament or discharge lamps".to_owned()];
        let said = [Said { text, path: &path }];
        let (found, spans) = find(quote, &said);
        assert_eq!(found, expected, "{quote} {spans:?}");
    }

    #[test]
    fn the_same_words_are_found_however_they_are_set() {
        check("articles imported before July 6, 2018", PAGE, Found::Exact);
        check("\u{201c}Rates do NOT  apply\u{201d}", PAGE, Found::Exact);
        check("Rates do not apply ... in heading 8539", PAGE, Found::Exact);
        check("Electric filament or discharge lamps", PAGE, Found::Exact);
    }

    #[test]
    fn cells_of_one_row_are_found_without_those_between() {
        check("8539.52.00 Light-emitting diode (LED) lamps 2%", TABLE, Found::Exact);
        check("8539.52.00 | 2% | 20%", TABLE, Found::Exact);
        check("8539.51.00 LED modules 2%", TABLE, Found::NotFound);
        check("2% 8539.52.00", TABLE, Found::NotFound);
        check("discharge lamps: LED modules, Free", TABLE, Found::Exact);
    }

    #[test]
    fn spelling_and_small_words_are_forgiven_and_nothing_that_matters() {
        check("Rates do not apply to the articles imported before July 6, 2018", PAGE, Found::Fuzzy);
        check("Rates do not apply to articels imported before July 6, 2018", PAGE, Found::Fuzzy);
        check("Rates do apply to articles imported before July 6, 2018", PAGE, Found::NotFound);
        check("Rates do not apply to articles exported before July 6, 2018", PAGE, Found::NotFound);
        check("Rates do not apply to articles imported before July 6, 2019", PAGE, Found::NotFound);
        check("Rates do not apply to articles imported after July 6, 2018", PAGE, Found::NotFound);
        check("", PAGE, Found::NotFound);
    }

    #[test]
    fn a_quotation_may_run_over_from_one_chunk_to_the_next() {
        let said = [
            Said { text: "The rate is two percent until the end", path: &[] },
            Said { text: "until the end of the year, and then four.", path: &[] },
        ];
        let (found, spans) = find("two percent until the end of the year", &said);
        assert_eq!(found, Found::Exact);
        assert_eq!(&said[0].text[spans[0].1.clone()], "two percent until the end");
        assert_eq!(&said[1].text[spans[1].1.clone()], " of the year");
    }
}
