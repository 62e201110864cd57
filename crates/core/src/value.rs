//! Codes, rates, amounts and dates in a text, compared by what they are worth: 2 %, 2 percent and 0.02 are one value,
//! and so are 1,234.50 and 1.234,5, or July 6, 2018 and 2018-07-06.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

pub use crate::decimal::{Decimal, NotANumber};

#[expect(clippy::expect_used, reason = "the patterns are written here and tested")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern that can be read")
}

/// A value in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// What it is worth.
    pub worth: Worth,
    /// As it is written.
    pub written: String,
    /// Whether it is money.
    pub money: bool,
    /// Where it stands, in bytes.
    pub stands: Range<usize>,
}

/// What a value is worth. A text may be read in more than one way, as 1.234 can.
#[derive(Debug, Clone, PartialEq)]
pub enum Worth {
    /// A code such as 8539.52.00, as its digits in groups.
    Code(Vec<String>),
    /// A share of a hundred.
    Percent(Vec<Decimal>),
    /// Any other number.
    Number(Vec<Decimal>),
    /// A day.
    Date(Vec<Date>),
}

/// A day, or a month if the day is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    year: u32,
    month: u32,
    day: Option<u32>,
}

impl Date {
    /// Year, month and day; the first day of a month that has none.
    pub fn parts(self) -> (u32, u32, u32) {
        (self.year, self.month, self.day.unwrap_or(1))
    }
}

/// Whether a word is a year.
pub fn is_year(word: &str) -> bool {
    word.len() == 4
        && (word.starts_with("19") || word.starts_with("20"))
        && word.chars().all(|digit| digit.is_ascii_digit())
}

impl Value {
    /// Whether it is a year.
    pub fn is_year(&self) -> bool {
        !self.money && matches!(self.worth, Worth::Number(_)) && is_year(self.written.trim())
    }

    /// The same as a share of a hundred, if it is a bare number.
    pub fn as_share(self) -> Option<Self> {
        match self.worth {
            Worth::Number(readings) => Some(Self { worth: Worth::Percent(readings), ..self }),
            _ => None,
        }
    }
}

impl Worth {
    /// The numbers that it may be, if it is a number or a share.
    pub fn readings(&self) -> &[Decimal] {
        match self {
            Self::Percent(readings) | Self::Number(readings) => readings,
            Self::Code(_) | Self::Date(_) => &[],
        }
    }
}

const MONTHS: [[&str; 2]; 12] = [
    ["january", "enero"],
    ["february", "febrero"],
    ["march", "marzo"],
    ["april", "abril"],
    ["may", "mayo"],
    ["june", "junio"],
    ["july", "julio"],
    ["august", "agosto"],
    ["september", "septiembre"],
    ["october", "octubre"],
    ["november", "noviembre"],
    ["december", "diciembre"],
];

static DATE: LazyLock<Regex> = LazyLock::new(|| {
    let months: Vec<String> = MONTHS
        .iter()
        .flatten()
        .flat_map(|name| [(*name).to_owned(), format!(r"{}t?\.?", &name[..3])])
        .collect();
    let month = months.join("|");
    pattern(&format!(
        r"(?xi)\b(?:
            (?<iso_year>\d{{4}})-(?<iso_month>\d{{2}})-(?<iso_day>\d{{2}})
          | (?<us_month>{month})\s+(?<us_day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?<us_year>\d{{4}})
          | (?<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:de\s+|of\s+)?(?<month>{month})\s+(?:de\s+|del\s+)?(?<year>\d{{4}})
          | (?<only_month>{month})\s+(?:de\s+|of\s+|del\s+)?(?<only_year>\d{{4}})
          | (?<one>\d{{1,2}})/(?<two>\d{{1,2}})/(?<slash_year>\d{{4}})
        )\b"
    ))
});

/// A number with its groups, and what makes it a share.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?<number>\d+(?:[.,]\d+)*)
          (?<percent>\s?(?:%|\u{66a}|percent\b|per\s+cent\b|pct\b|por\s+ciento\b))?",
    )
});

/// A number at the beginning of a line that only counts lines.
static COUNTS_LINES: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^\s*(?:[-*]\s*)?\d{1,2}[.)]\s"));

/// What says that a number is money, before or after it.
static CURRENCY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)(?:[$€£]|\b(?:usd|eur|uyu|gbp|dollars?|euros?|pesos?|cents?|d\u{f3}lares|centavos?))")
});

/// Where an answer says on which page something is.
static PAGE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:pages?|pp?\.|p\u{e1}ginas?|p\u{e1}gs?\.)\s*\d+(?:\s*[-\u{2013}]\s*\d+)?")
});

/// The values that an answer claims. Numbers that only count lines, and those of pages, are none.
pub fn claimed(text: &str) -> Vec<Value> {
    let counts = COUNTS_LINES.find_iter(text).chain(PAGE.find_iter(text));
    let taken = counts.map(|found| found.range()).collect();
    values_beside(text, taken)
}

/// The values in a text, in their order.
pub fn values(text: &str) -> Vec<Value> {
    values_beside(text, Vec::new())
}

/// The codes in a text, in their order.
pub fn codes(text: &str) -> Vec<Value> {
    values(text).into_iter().filter(|value| matches!(value.worth, Worth::Code(_))).collect()
}

fn values_beside(text: &str, mut taken: Vec<Range<usize>>) -> Vec<Value> {
    let mut values = Vec::new();
    let free = |taken: &[Range<usize>], range: &Range<usize>| {
        !taken.iter().any(|other| other.start < range.end && range.start < other.end)
    };
    for found in DATE.captures_iter(text) {
        let Some(whole) = found.get(0).map(|whole| whole.range()) else { continue };
        let dates = dates(&found);
        if free(&taken, &whole) && !dates.is_empty() {
            let (worth, written) = (Worth::Date(dates), text[whole.clone()].to_owned());
            values.push(Value { worth, written, money: false, stands: whole.clone() });
            taken.push(whole);
        }
    }
    for found in NUMBER.captures_iter(text) {
        let (Some(whole), Some(number)) = (found.get(0), found.name("number")) else { continue };
        if !free(&taken, &whole.range()) || is_part_of_a_name(text, number.as_str(), number.start()) {
            continue;
        }
        if let Some(worth) = worth(number.as_str(), found.name("percent").is_some()) {
            let written = whole.as_str().to_owned();
            values.push(Value {
                worth,
                written,
                money: is_money(text, &whole.range()),
                stands: whole.range(),
            });
        }
    }
    values.sort_by_key(|value| value.stands.start);
    values
}

/// Whether a number belongs to a name, as in B12 or MP3; behind more letters, as in USD9999, it is a value.
fn is_part_of_a_name(text: &str, number: &str, at: usize) -> bool {
    let letters =
        text[..at].chars().rev().take_while(|letter| letter.is_alphabetic() || *letter == '_').count();
    (1..=2).contains(&letters) && !number.contains(['.', ','])
}

/// Whether a currency stands just before or after a number.
fn is_money(text: &str, stands: &Range<usize>) -> bool {
    let before: String =
        text[..stands.start].chars().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect();
    let after: String = text[stands.end..].chars().take(9).collect();
    let begins = |found: regex::Match<'_>| after[..found.start()].trim().is_empty();
    CURRENCY.is_match(&before) || CURRENCY.find(&after).is_some_and(begins)
}

fn dates(found: &Captures<'_>) -> Vec<Date> {
    let number = |name: &str| found.name(name).and_then(|part| part.as_str().parse::<u32>().ok());
    let month = |name: &str| {
        let word = found.name(name)?.as_str().trim_end_matches('.').to_lowercase();
        let word = if word == "sept" { "sep" } else { word.as_str() };
        let at = MONTHS.iter().position(|names| names.iter().any(|name| name.starts_with(word)))?;
        u32::try_from(at + 1).ok()
    };
    let date = |year, month, day: Option<u32>| {
        let plausible = (1..=12).contains(&month) && day.is_none_or(|day| (1..=31).contains(&day));
        plausible.then_some(Date { year, month, day })
    };
    let ways = [
        (number("iso_year"), number("iso_month"), number("iso_day")),
        (number("us_year"), month("us_month"), number("us_day")),
        (number("year"), month("month"), number("day")),
        (number("slash_year"), number("one"), number("two")),
        (number("slash_year"), number("two"), number("one")),
    ];
    let mut dates: Vec<Date> =
        ways.into_iter().filter_map(|(year, month, day)| date(year?, month?, Some(day?))).collect();
    if let (Some(year), Some(month)) = (number("only_year"), month("only_month")) {
        dates.extend(date(year, month, None));
    }
    dates
}

fn worth(number: &str, percent: bool) -> Option<Worth> {
    let groups: Vec<String> = number.split('.').map(str::to_owned).collect();
    let is_code = !number.contains(',')
        && groups[0].len() == 4
        && groups[1..].iter().all(|group| (2..=4).contains(&group.len()))
        && match groups.len() {
            1 => false,
            2 => groups[1].len() == 2,
            _ => true,
        };
    if is_code && !percent {
        return Some(Worth::Code(groups));
    }
    let readings = readings(number);
    if readings.is_empty() {
        // Too many groups for a number: a code of another kind, such as 1.2.3.
        return (groups.len() > 2 && !number.contains(',')).then_some(Worth::Code(groups));
    }
    Some(if percent { Worth::Percent(readings) } else { Worth::Number(readings) })
}

/// The numbers that a notation can mean, with points or commas before the decimals.
fn readings(number: &str) -> Vec<Decimal> {
    let mut found: Vec<Decimal> = Vec::new();
    for (group, point) in [(',', '.'), ('.', ',')] {
        let (whole, part) = match number.split_once(point) {
            Some((_, part)) if part.contains(point) || part.contains(group) => continue,
            Some((whole, part)) => (whole, part),
            None => (number, ""),
        };
        let mut groups = whole.split(group);
        let first = groups.next().unwrap_or_default();
        let rest: Vec<&str> = groups.collect();
        if rest.iter().all(|group| group.len() == 3) && (rest.is_empty() || first.len() <= 3) {
            let whole = format!("{first}{}", rest.concat());
            found.extend(Decimal::parse(&whole, part).filter(|reading| !found.contains(reading)));
        }
    }
    found
}

/// Whether a source supports a value in an answer.
pub fn agree(answer: &Value, source: &Value) -> bool {
    let any = |ours: &[Decimal], theirs: &[Decimal]| ours.iter().any(|our| theirs.contains(our));
    let hundredths = |of: &[Decimal]| of.iter().map(|one| one.hundredth()).collect::<Vec<_>>();
    match (&answer.worth, &source.worth) {
        // A code is supported by those that are more exact, and the last two pairs may be written together.
        (Worth::Code(ours), Worth::Code(theirs)) => {
            theirs.starts_with(ours) || ours.concat() == theirs.concat()
        }
        // A heading is named by its first digits, and a code may be written without its points.
        (Worth::Number(ours), Worth::Code(theirs)) => {
            let digits = theirs.concat();
            let as_digits = |our: &Decimal| {
                let own = our.to_string();
                our.places() == 0 && [4, 6, 8, 10].contains(&own.len()) && digits.starts_with(&own)
            };
            ours.iter().any(as_digits) || any(ours, &readings(&theirs.join(".")))
        }
        // A rate of 1234.56 looks like a code.
        (Worth::Code(ours), Worth::Number(theirs)) => any(&readings(&ours.join(".")), theirs),
        (Worth::Percent(ours), Worth::Percent(theirs)) | (Worth::Number(ours), Worth::Number(theirs)) => {
            any(ours, theirs)
        }
        (Worth::Percent(ours), Worth::Number(theirs)) => any(&hundredths(ours), theirs),
        (Worth::Number(_), Worth::Percent(_) | Worth::Date(_)) if answer.money => false,
        (Worth::Number(ours), Worth::Percent(theirs)) => any(ours, theirs) || any(ours, &hundredths(theirs)),
        (Worth::Date(ours), Worth::Date(theirs)) => ours.iter().any(|our| {
            let same = |their: &Date| (our.year, our.month) == (their.year, their.month);
            theirs.iter().any(|their| same(their) && (our.day.is_none() || our.day == their.day))
        }),
        (Worth::Number(ours), Worth::Date(theirs)) => ours.iter().any(|our| {
            let is = |number: u32| *our == Decimal::from(i128::from(number));
            theirs.iter().any(|their| is(their.year) || their.day.is_some_and(is))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, source: &str, expected: bool) {
        let (ours, theirs) = (claimed(answer), values(source));
        assert!(!ours.is_empty(), "{answer} has a value");
        let borne_out = ours.iter().all(|our| theirs.iter().any(|their| agree(our, their)));
        assert_eq!(borne_out, expected, "{answer} by {source}: {ours:?} {theirs:?}");
    }

    #[test]
    fn one_value_in_many_notations() {
        for answer in ["2 %", "2%", "2 percent", "2.0 per cent", "0.02", "2 por ciento"] {
            check(answer, "the rate is 2%", true);
        }
        check("2 %", "a rate of 0.02", true);
        check("1,234.50 dollars", "USD 1.234,5", true);
        check("$1,500", "1500 dollars", true);
        check("July 6, 2018", "on 2018-07-06", true);
        check("6 de julio de 2018", "July 6th, 2018", true);
        check("July 2018", "July 6, 2018", true);
        check("in 2018", "July 6, 2018", true);
        check("07/06/2018", "July 6, 2018", true);
        check("heading 8539", "8539.52.00", true);
        check("8539.52", "8539.52.00", true);
        check("85395200", "8539.52.00", true);
        check("8539.51.0000", "8539.51.00.00", true);
        check("$1,234.56", "1234.56 dollars", true);
        check("September 6, 2018", "Sept. 6, 2018", true);
        check("Paragraph 5", "5. Records shall be kept", true);
    }

    #[test]
    fn another_value_is_another_value() {
        check("3.9 %", "the rate is 2%", false);
        check("25 %", "25 articles", false);
        check("8539.50.00", "8539.52.00", false);
        check("8539.52.00.10", "8539.52.00", false);
        check("July 7, 2018", "July 6, 2018", false);
        check("July 6, 2019", "July 6, 2018", false);
        check("1,501", "1,500", false);
        check("section 4.1.1", "4.1.12", false);
        check("8539.52.0", "8539.52.00", false);
        check("USD9999", "USD 99", false);
        check("HTS8539.50.00", "8539.52.00", false);
        check("25 dollars", "25%", false);
        check("$6", "July 6, 2018", false);
    }

    #[test]
    fn numbers_are_reckoned_with_exactly() {
        let number = |text: &str| readings(text)[0];
        assert_eq!(number("0.1").plus(number("0.2")), Some(number("0.3")));
        assert_eq!(number("12.5").apart(number("13.10")), Some(number("0.6")));
        assert_eq!(number("1.5").times(number("0.25")).unwrap().to_string(), "0.375");
        assert_eq!(number("2").over(number("3"), 2).unwrap().to_string(), "0.67");
        assert_eq!(number("1").over(number("0"), 2), None);
        assert_eq!(number("2.345").rounded(1).to_string(), "2.3");
    }

    #[test]
    fn what_only_counts_lines_or_stands_in_a_word_is_no_value() {
        assert_eq!(claimed("1. First\n2) second, see B12 and L6 on page 12, p. 9"), []);
    }
}
