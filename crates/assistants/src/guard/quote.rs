//! Finds a quotation in the text of a page: as it is; in the cells of a row of a table; or with no more difference than
//! slips of spelling and articles.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bare::Bare;
use super::fuzzy::fuzzily;
use super::rows::{Row, in_rows};

/// How a quotation was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// The same words in the same order; in a table, in cells of one row.
    Exact,
    /// The same words but for slips of spelling and articles: at most one word in seven.
    Fuzzy,
    /// Not there.
    NotFound,
    /// Nothing was quoted; what is shown was chosen here.
    Unquoted,
}

/// Two texts that follow each other share at most so many bytes.
const LONGEST_SHARED: usize = 2000;
/// A longer quotation is none, in letters.
const LONGEST: usize = 4000;

/// A text on a page: a chunk, with what stands over it.
pub struct Said<'a> {
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
pub fn find(quote: &str, said: &[Said<'_>]) -> (Found, Spans) {
    let parts: Vec<Bare> = parts(quote).map(Bare::of).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() || parts.iter().map(Bare::len).sum::<usize>() > LONGEST {
        return (Found::NotFound, Vec::new());
    }
    let texts: Vec<Text<'_>> = said.iter().map(Text::of).collect();
    let exact = texts.iter().enumerate().find_map(|(index, text)| {
        let spans = text.in_order(&parts).or_else(|| in_rows(&parts, &text.path, &text.rows))?;
        // A heading stands over the text, perhaps on a page before: what is shown is the text under it.
        let under = if spans.is_empty() { Some(0..0) } else { None };
        Some(spans.into_iter().chain(under).map(|span| (index, span)).collect())
    });
    let [part] = parts.as_slice() else {
        return exact.map_or((Found::NotFound, Vec::new()), |spans| (Found::Exact, spans));
    };
    let exact = exact.or_else(|| in_a_heading(part, &texts)).or_else(|| over_a_border(part, &texts));
    if let Some(spans) = exact {
        return (Found::Exact, spans);
    }
    let bare: Vec<&Bare> = texts.iter().map(|text| &text.bare).collect();
    match fuzzily(part, &bare) {
        Some(span) => (Found::Fuzzy, vec![span]),
        None => (Found::NotFound, Vec::new()),
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
    fn of(said: &Said<'a>) -> Self {
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
    fn check(quote: &str, text: &str, expected: Found) {
        let path = ["8539".to_owned(), "Electric filament or discharge lamps".to_owned()];
        let said = [Said { text, path: &path, follows: false }];
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
        let table = "Code | Article\n8418.99.80.05 | Not exceeding 746 W";
        check("8418.99.80.05: Not exceeding 746 W", table, Found::Exact);
        check("8418.99.80.05: exceeding 746 W", table, Found::NotFound);
        check("exceeding 746 W", table, Found::NotFound);
        check("8539.51.00 LED modules ... 2%", TABLE, Found::NotFound);
        check("8539.52.00 ... 2% ... 20%", TABLE, Found::Exact);
        check("8539.51.00 LED modules ... 8539.52.00 Light-emitting diode (LED) lamps", TABLE, Found::Exact);
    }

    #[test]
    fn spelling_and_small_words_are_forgiven_and_nothing_that_matters() {
        check("Rates do not apply to the articles imported before July 6, 2018", PAGE, Found::Fuzzy);
        check("Rates do not apply to articels imported before July 6, 2018", PAGE, Found::Fuzzy);
        check("Rates do apply to articles imported before July 6, 2018", PAGE, Found::NotFound);
        check("Rates do not apply to articles exported before July 6, 2018", PAGE, Found::NotFound);
        check("Rates do not apply to articles imported before July 6, 2019", PAGE, Found::NotFound);
        check("Rates do not apply to articles imported after July 6, 2018", PAGE, Found::NotFound);
        check("Rates do ... apply to articles imported before July 6, 2018", PAGE, Found::NotFound);
        check("in heading 8539 ... Rates do not apply", PAGE, Found::NotFound);
        check("", PAGE, Found::NotFound);
        let page = "The employer shall pay the contribution to the fund of the country in which it is due.";
        check("The employee shall pay the contribution to the fund", page, Found::NotFound);
        check("The employer shall pay the contribution by the fund", page, Found::NotFound);
    }

    #[test]
    fn a_quotation_may_run_over_from_one_chunk_to_the_next() {
        let said = [
            Said { text: "The rate is two percent until the end", path: &[], follows: false },
            Said { text: "until the end of the year, and then four.", path: &[], follows: true },
        ];
        let (found, spans) = find("two percent until the end of the year", &said);
        assert_eq!(found, Found::Exact);
        assert_eq!(&said[0].text[spans[0].1.clone()], "two percent until the end");
        assert_eq!(&said[1].text[spans[1].1.clone()], " of the year");
    }
}
