//! The numbers of sources in the words of an answer, such as [1] or [2, p. 7], and the quotations before them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::format::Cited;

#[expect(clippy::expect_used, reason = "the patterns are written here and tested")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern that can be read")
}

/// One or more numbers in brackets, perhaps with a page.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)[\[\u{3010}]\s*(?:sources?|fuentes?)?\s*\#?
          (?<numbers>\d{1,3}(?:\s*(?:,|;|and|y)\s*(?:source\s*)?\d{1,3})*)
          (?:\s*[,:;]\s*(?:p\.|pp\.|page|p\u{e1}g\.|p\u{e1}gina|pagina)\s*(?<page>\d{1,5}))?\s*[\]\u{3011}]",
    )
});

/// Words in quotation marks.
static QUOTATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern("\"([^\"\\n]{3,600})\"|\u{201c}([^\u{201d}\\n]{3,600})\u{201d}|\u{ab}([^\u{bb}\\n]{3,600})\u{bb}")
});

/// What the words of an answer cite.
pub(super) struct Marks {
    /// The sources, each with the words that are quoted before it, if any are.
    pub(super) cited: Vec<Cited>,
    /// Numbers that no source has.
    pub(super) unknown: BTreeSet<u32>,
}

/// Reads the marks in an answer and takes out those of sources that there are not.
pub(super) fn read(answer: &str, known: &BTreeSet<u32>) -> (String, Marks) {
    let mut marks = Marks { cited: Vec::new(), unknown: BTreeSet::new() };
    let mut from = 0;
    for found in MARK.captures_iter(answer) {
        let Some(whole) = found.get(0) else { continue };
        let page = found.name("page").and_then(|page| page.as_str().parse().ok());
        let before = sentence_before(&answer[from..whole.start()]);
        let quotations: Vec<&str> = QUOTATION
            .captures_iter(before)
            .filter_map(|quoted| (1..=3).find_map(|group| quoted.get(group)).map(|quoted| quoted.as_str()))
            .collect();
        for source in numbers(&found) {
            if !known.contains(&source) {
                marks.unknown.insert(source);
                continue;
            }
            let cite = |quote: &str| Cited { source, page, quote: quote.to_owned() };
            // With several sources nobody knows which one is quoted.
            match quotations.as_slice() {
                quoted if !quoted.is_empty() && numbers(&found).count() == 1 => {
                    marks.cited.extend(quoted.iter().map(|quote| cite(quote)));
                }
                _ => marks.cited.push(cite("")),
            }
        }
        from = whole.end();
    }
    let cleaned = MARK.replace_all(answer, |found: &Captures<'_>| {
        let left: Vec<String> =
            numbers(found).filter(|number| known.contains(number)).map(|number| number.to_string()).collect();
        match (left.is_empty(), found.name("page")) {
            (true, _) => String::new(),
            (false, Some(page)) => format!("[{}, p. {}]", left.join(", "), page.as_str()),
            (false, None) => format!("[{}]", left.join(", ")),
        }
    });
    (cleaned.trim_end().to_owned(), marks)
}

/// A text without its marks.
pub(super) fn without(text: &str) -> String {
    MARK.replace_all(text, "").into_owned()
}

fn numbers<'a>(found: &'a Captures<'_>) -> impl Iterator<Item = u32> + use<'a> {
    let listed = found.name("numbers").map_or("", |numbers| numbers.as_str());
    listed.split(|letter: char| !letter.is_ascii_digit()).filter_map(|number| number.parse().ok())
}

/// The last sentence of a text; what is cited stands in it.
fn sentence_before(text: &str) -> &str {
    let trimmed = text.trim_end_matches(|letter: char| letter.is_whitespace() || ".!?".contains(letter));
    let begins = [". ", "? ", "! ", "\n"].iter().filter_map(|end| trimmed.rfind(end)).max();
    // A full stop may stand within the quotation itself.
    let open = |text: &str| {
        text.matches('"').count() % 2 == 1
            || text.matches('\u{201c}').count() < text.matches('\u{201d}').count()
    };
    match begins {
        Some(at) if !open(&trimmed[at..]) => &trimmed[at..],
        _ => trimmed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_with_what_is_quoted_before_them() {
        let known = [1, 2].into();
        let answer = "The rate is \u{201c}2 percent\u{201d} [1, p. 7]. Modules are free [2][9]. Both [1, 2].";
        let (cleaned, marks) = read(answer, &known);
        assert_eq!(
            cleaned,
            "The rate is \u{201c}2 percent\u{201d} [1, p. 7]. Modules are free [2]. Both [1, 2]."
        );
        assert_eq!(marks.unknown, [9].into());
        let cite = |source, page, quote: &str| Cited { source, page, quote: quote.to_owned() };
        assert_eq!(
            marks.cited,
            [cite(1, Some(7), "2 percent"), cite(2, None, ""), cite(1, None, ""), cite(2, None, "")]
        );
        assert_eq!(without("2 % [1]."), "2 % .");
    }
}
