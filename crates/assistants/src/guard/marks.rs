//! The numbers of sources in the words of an answer, such as [1] or [2, p. 7], and the quotations before them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::pattern;
use crate::format::CitationDraft;
use ibid_core::table::without_notes;

/// One or more numbers in brackets, perhaps each with a page.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    let page = r"(?:\s*[,:;]?\s*(?:pp?\.|pages?|p\u{e1}gs?\.|p\u{e1}ginas?|paginas?)\s*\d{1,5})?";
    let source = r"(?:sources?|fuentes?)?\s*\#?\s*\d{1,3}";
    pattern(&format!(
        r"(?i)[\[\u{{3010}}]\s*(?<inside>{source}{page}(?:\s*(?:,|;|-|\u{{2013}}|and|y)\s*{source}{page})*)\s*[\]\u{{3011}}]"
    ))
});

/// One number in a mark, what joins it to the one before, and its page.
static ONE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?<join>-|\u{2013})?\s*(?:sources?|fuentes?)?\s*\#?\s*(?<number>\d{1,3})(?:\s*[,:;]?\s*(?:pp?\.|pages?|p\u{e1}gs?\.|p\u{e1}ginas?|paginas?)\s*(?<page>\d{1,5}))?",
    )
});

/// Words in quotation marks.
static QUOTATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        "\"([^\"\\n]{3,1200})\"|\u{201c}([^\u{201d}\\n]{3,1200})\u{201d}|\u{ab}([^\u{bb}\\n]{3,1200})\u{bb}",
    )
});

/// What the words of an answer cite.
pub(super) struct Marks {
    /// The sources, each with a page if one is named.
    pub(super) cited: Vec<CitationDraft>,
    /// What is quoted, and the sources that it may be from: those of the next mark on the line, else of the one before.
    pub(super) quoted: Vec<(String, Vec<CitationDraft>)>,
    /// Numbers that no source has.
    pub(super) unknown: BTreeSet<u32>,
}

/// Reads the marks in an answer, takes out those of sources that there are not, and writes the others in one way: [1]
/// or [1, 2]. The page of each is in its citation.
pub(super) fn read(answer: &str, known: &BTreeSet<u32>) -> (String, Marks) {
    let mut marks = Marks { cited: Vec::new(), quoted: Vec::new(), unknown: BTreeSet::new() };
    for line in answer.lines() {
        let found: Vec<_> =
            MARK.captures_iter(line).filter_map(|mark| Some((mark.get(0)?.range(), cited(&mark)))).collect();
        for (_, cited) in &found {
            for one in cited {
                if known.contains(&one.source) {
                    marks.cited.push(one.clone());
                } else {
                    marks.unknown.insert(one.source);
                }
            }
        }
        for quotation in QUOTATION.captures_iter(line) {
            let Some(quoted) = (1..=3).find_map(|group| quotation.get(group)) else { continue };
            let next = found.iter().find(|(mark, _)| mark.start >= quoted.end());
            let before = found.iter().rev().find(|(mark, _)| mark.end <= quoted.start());
            let of = next.or(before).map(|(_, cited)| cited.clone()).unwrap_or_default();
            let of = of.into_iter().filter(|one| known.contains(&one.source)).collect();
            marks.quoted.push((quoted.as_str().to_owned(), of));
        }
    }
    let cleaned = MARK.replace_all(answer, |mark: &Captures<'_>| {
        let mut left: Vec<u32> = cited(mark).into_iter().map(|one| one.source).collect();
        left.retain(|source| known.contains(source));
        left.dedup();
        let left: Vec<String> = left.iter().map(u32::to_string).collect();
        if left.is_empty() { String::new() } else { format!("[{}]", left.join(", ")) }
    });
    (without_notes(cleaned.trim_end()).into_owned(), marks)
}

/// The sources that a mark names.
fn cited(mark: &Captures<'_>) -> Vec<CitationDraft> {
    let inside = mark.name("inside").map_or("", |inside| inside.as_str());
    let mut all: Vec<CitationDraft> = Vec::new();
    for one in ONE.captures_iter(inside) {
        let number = |name: &str| one.name(name).and_then(|part| part.as_str().parse::<u32>().ok());
        let Some(source) = number("number") else { continue };
        let from = match (one.name("join"), all.last()) {
            (Some(_), Some(last)) if last.source < source => last.source + 1,
            _ => source,
        };
        all.extend((from..=source).map(|source| CitationDraft {
            source,
            page: number("page"),
            quote: String::new(),
        }));
    }
    all
}

/// A text without its marks, and without those of notes in a table, such as [5/], which models copy along.
pub(super) fn without(text: &str) -> String {
    without_notes(&MARK.replace_all(text, "")).into_owned()
}

/// The numbers of the sources that a text names.
pub(super) fn numbers(text: &str) -> Vec<u32> {
    MARK.captures_iter(text).flat_map(|mark| cited(&mark)).map(|one| one.source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cite(source: u32, page: Option<u32>) -> CitationDraft {
        CitationDraft { source, page, quote: String::new() }
    }

    #[test]
    fn marks_are_read_and_unknown_ones_taken_out() {
        let known = [1, 2, 3].into();
        let answer = "The rate is \u{201c}2 percent\u{201d} [1, p. 7]. Modules are free [2][9]. Both [1,2] [fuente 1, fuente 9].";
        let (cleaned, marks) = read(answer, &known);
        assert_eq!(
            cleaned,
            "The rate is \u{201c}2 percent\u{201d} [1]. Modules are free [2]. Both [1, 2] [1]."
        );
        assert_eq!(marks.unknown, [9].into());
        assert_eq!(
            marks.cited,
            [cite(1, Some(7)), cite(2, None), cite(1, None), cite(2, None), cite(1, None)]
        );
        assert_eq!(marks.quoted, [("2 percent".to_owned(), vec![cite(1, Some(7))])]);
        assert_eq!(without("2 % [1]."), "2 % .");
        assert_eq!(read("It is 2.5% [5/] [1].", &known).0, "It is 2.5% [1].");
        let (cleaned, marks) = read("All say so [1-3], [1, p. 7; 2, p. 9], \u{3010}1\u{3011}.", &known);
        assert_eq!(cleaned, "All say so [1, 2, 3], [1, 2], [1].");
        assert_eq!(marks.cited[..3], [cite(1, None), cite(2, None), cite(3, None)]);
        assert_eq!(marks.cited[3..], [cite(1, Some(7)), cite(2, Some(9)), cite(1, None)]);
    }

    #[test]
    fn every_quotation_is_found_with_whom_it_may_be_from() {
        let known = [1, 2].into();
        let quoted = |answer: &str| {
            let (_, marks) = read(answer, &known);
            let of = |(text, of): &(String, Vec<CitationDraft>)| {
                (text.clone(), of.iter().map(|one| one.source).collect::<Vec<_>>())
            };
            marks.quoted.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(quoted("It says \"so it is\". This is in force [1]."), [("so it is".to_owned(), vec![1])]);
        assert_eq!(quoted("Source [1] says \"so it is\""), [("so it is".to_owned(), vec![1])]);
        assert_eq!(quoted("\u{ab}A. Be\u{bb} [1, 2]"), [("A. Be".to_owned(), vec![1, 2])]);
        assert_eq!(quoted("\"so it is\" and no source"), [("so it is".to_owned(), vec![])]);
    }
}
