//! Finds a quotation in the text of a page: as it is; in the cells of a row of a table; or with no more difference than
//! slips of spelling and articles.

use std::ops::Range;

use ibid_core::answer::QuoteMatch;

use super::bare::Bare;
use super::fuzzy::fuzzily;
use super::rows::{Row, in_rows};

/// Two texts that follow each other share at most so many bytes.
const LONGEST_SHARED: usize = 2000;
/// A longer quotation is none, in letters.
const LONGEST: usize = 4000;

/// A text on a page: a chunk, with what stands over it.
pub struct PageText<'a> {
    /// What it says.
    pub text: &'a str,
    /// The headings over it, and the rows that govern its first row.
    pub path: &'a [String],
    /// Whether it goes on where the text before it ends.
    pub follows: bool,
}

/// Where a quotation stands: which texts, and which bytes of them.
pub type Spans = Vec<(usize, Range<usize>)>;

/// Looks for a quotation in what a page says.
pub fn find(quote: &str, said: &[PageText<'_>]) -> (QuoteMatch, Spans) {
    let parts: Vec<Bare> = parts(quote).map(Bare::of).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() || parts.iter().map(Bare::len).sum::<usize>() > LONGEST {
        return (QuoteMatch::NotFound, Vec::new());
    }
    let texts: Vec<Text<'_>> = said.iter().map(Text::of).collect();
    let exact = texts.iter().enumerate().find_map(|(index, text)| {
        let spans = text.in_order(&parts).or_else(|| in_rows(&parts, &text.path, &text.rows))?;
        // A heading stands over the text, perhaps on a page before: what is shown is the text under it.
        let under = if spans.is_empty() { Some(0..0) } else { None };
        Some(spans.into_iter().chain(under).map(|span| (index, span)).collect())
    });
    let [part] = parts.as_slice() else {
        return exact.map_or((QuoteMatch::NotFound, Vec::new()), |spans| (QuoteMatch::Exact, spans));
    };
    let exact = exact.or_else(|| in_a_heading(part, &texts)).or_else(|| over_a_border(part, &texts));
    if let Some(spans) = exact {
        return (QuoteMatch::Exact, spans);
    }
    let bare: Vec<&Bare> = texts.iter().map(|text| &text.bare).collect();
    match fuzzily(part, &bare) {
        Some(span) => (QuoteMatch::Fuzzy, vec![span]),
        None => (QuoteMatch::NotFound, Vec::new()),
    }
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
    rows: Vec<Row>,
    follows: bool,
}

impl<'a> Text<'a> {
    fn of(said: &PageText<'a>) -> Self {
        let path = said.path.iter().map(|heading| Bare::of(heading)).collect();
        Self {
            text: said.text,
            bare: Bare::of(said.text),
            path,
            rows: Row::all(said.text),
            follows: said.follows,
        }
    }

    /// The parts one after the other. In a table that is only so for a single part: a row is not to be left unnoticed.
    fn in_order(&self, parts: &[Bare]) -> Option<Vec<Range<usize>>> {
        if parts.len() > 1 && !self.rows.is_empty() {
            return None;
        }
        let mut from = 0;
        let found = parts.iter().map(|part| {
            let found = self.bare.find(part, from)?;
            from = found.end;
            Some(self.bare.in_text(&found))
        });
        found.collect()
    }
}

fn in_a_heading(part: &Bare, texts: &[Text<'_>]) -> Option<Spans> {
    let under = |text: &Text<'_>| text.path.iter().any(|heading| heading.find(part, 0).is_some());
    Some(vec![(texts.iter().position(under)?, 0..0)])
}

/// A part that begins in one text and ends in the one that follows it, which may share some of its words.
fn over_a_border(part: &Bare, texts: &[Text<'_>]) -> Option<Spans> {
    texts.windows(2).enumerate().find_map(|(index, pair)| {
        let [one, other] = pair else { return None };
        if !other.follows {
            return None;
        }
        let shared =
            (0..=one.text.len().min(other.text.len()).min(LONGEST_SHARED)).rev().find(|&length| {
                other.text.is_char_boundary(length) && one.text.ends_with(&other.text[..length])
            })?;
        let joined = format!("{} {}", one.text, &other.text[shared..]);
        let bare = Bare::of(&joined);
        let found = bare.in_text(&bare.find(part, 0)?);
        let border = one.text.len() + 1;
        let back = |at: usize| at - border + shared;
        let before = found.start.min(one.text.len())..found.end.min(one.text.len());
        let after = back(found.start.max(border))..back(found.end.max(border));
        Some(vec![(index, before), (index + 1, after)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "Rates do not apply to articles imported before July 6, 2018, of the kind described in heading 8539.";
    const TABLE: &str = "Heading | Description | Unit | General | Column 2\n\
        8539.51.00 | LED modules | No. | Free | 20%\n8539.52.00 | Light-emitting diode (LED) lamps | No. | 2% | 20%";

    #[track_caller]
    fn check(quote: &str, text: &str, expected: QuoteMatch) {
        let path = ["8539".to_owned(), "Electric filament or discharge lamps".to_owned()];
        let said = [PageText { text, path: &path, follows: false }];
        let (found, spans) = find(quote, &said);
        assert_eq!(found, expected, "{quote} {spans:?}");
    }

    #[test]
    fn the_same_words_are_found_however_they_are_set() {
        check("articles imported before July 6, 2018", PAGE, QuoteMatch::Exact);
        check("\u{201c}Rates do NOT  apply\u{201d}", PAGE, QuoteMatch::Exact);
        check("Rates do not apply ... in heading 8539", PAGE, QuoteMatch::Exact);
        check("Electric filament or discharge lamps", PAGE, QuoteMatch::Exact);
    }

    #[test]
    fn cells_of_one_row_are_found_without_those_between() {
        check("8539.52.00 Light-emitting diode (LED) lamps 2%", TABLE, QuoteMatch::Exact);
        check("8539.52.00 | 2% | 20%", TABLE, QuoteMatch::Exact);
        check("8539.51.00 LED modules 2%", TABLE, QuoteMatch::NotFound);
        check("2% 8539.52.00", TABLE, QuoteMatch::NotFound);
        check("discharge lamps: LED modules, Free", TABLE, QuoteMatch::Exact);
        let table = "Code | Article\n8418.99.80.05 | Not exceeding 746 W";
        check("8418.99.80.05: Not exceeding 746 W", table, QuoteMatch::Exact);
        check("8418.99.80.05: exceeding 746 W", table, QuoteMatch::NotFound);
        check("exceeding 746 W", table, QuoteMatch::NotFound);
        check("8539.51.00 LED modules ... 2%", TABLE, QuoteMatch::NotFound);
        check("8539.52.00 ... 2% ... 20%", TABLE, QuoteMatch::Exact);
        check(
            "8539.51.00 LED modules ... 8539.52.00 Light-emitting diode (LED) lamps",
            TABLE,
            QuoteMatch::Exact,
        );
    }

    #[test]
    fn spelling_and_small_words_are_forgiven_and_nothing_that_matters() {
        check("Rates do not apply to the articles imported before July 6, 2018", PAGE, QuoteMatch::Fuzzy);
        check("Rates do not apply to articels imported before July 6, 2018", PAGE, QuoteMatch::Fuzzy);
        check("Rates do apply to articles imported before July 6, 2018", PAGE, QuoteMatch::NotFound);
        check("Rates do not apply to articles exported before July 6, 2018", PAGE, QuoteMatch::NotFound);
        check("Rates do not apply to articles imported before July 6, 2019", PAGE, QuoteMatch::NotFound);
        check("Rates do not apply to articles imported after July 6, 2018", PAGE, QuoteMatch::NotFound);
        check("Rates do ... apply to articles imported before July 6, 2018", PAGE, QuoteMatch::NotFound);
        check("in heading 8539 ... Rates do not apply", PAGE, QuoteMatch::NotFound);
        check("", PAGE, QuoteMatch::NotFound);
        let page = "The employer shall pay the contribution to the fund of the country in which it is due.";
        check("The employee shall pay the contribution to the fund", page, QuoteMatch::NotFound);
        check("The employer shall pay the contribution by the fund", page, QuoteMatch::NotFound);
    }

    #[test]
    fn a_quotation_may_run_over_from_one_chunk_to_the_next() {
        let said = [
            PageText { text: "The rate is two percent until the end", path: &[], follows: false },
            PageText { text: "until the end of the year, and then four.", path: &[], follows: true },
        ];
        let (found, spans) = find("two percent until the end of the year", &said);
        assert_eq!(found, QuoteMatch::Exact);
        assert_eq!(&said[0].text[spans[0].1.clone()], "two percent until the end");
        assert_eq!(&said[1].text[spans[1].1.clone()], " of the year");
    }
}
