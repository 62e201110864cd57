//! Which row and which column a clause speaks of: by codes, else by the words that a row or column is called by.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use ibid_core::value::{Value, Worth, codes, is_year};

use super::Row;
use super::clauses::{Claim, is_free};
use super::description::{self, Description};
use crate::packing::words;
use crate::records::{Columns, Record};

/// A row is named by this share of the words that it is called by, if none is by all of them.
const MOST_WORDS: f64 = 0.75;
/// Fewer of its words do not name a row, even if no other has them.
const FEWEST_WORDS: usize = 2;
/// Rows that differ by no more than this are described alike by a text without headings.
const UNHEADED: f64 = 2.0;
/// Words that describe more rows than these describe none.
const MOST_DESCRIBED: usize = 3;
/// A name with fewer letters and digits may stand anywhere.
const SHORTEST_NAME: usize = 3;
/// Words that tell nothing of a row or column.
const EMPTY: [&str; 52] = [
    "the", "of", "and", "or", "for", "in", "on", "to", "is", "are", "by", "with", "from", "at", "as", "an",
    "not", "be", "was", "were", "el", "la", "lo", "los", "las", "de", "del", "un", "una", "y", "o", "en",
    "por", "para", "con", "es", "son", "da", "do", "das", "dos", "em", "um", "uma", "what", "which", "how",
    "que", "cual", "cuanto", "qual", "quanto",
];
/// Words for one thing in the languages that questions come in, as they are compared.
const SAME: [&[&str]; 15] = [
    &["column", "coluna"],
    &["specia", "especi"],
    &["rate", "tasa", "tipo", "tarifa", "taxa"],
    &["duty", "arance", "derech"],
    &["unit", "unidad"],
    &["quanti", "cantid"],
    &["price", "precio", "preco"],
    &["amount", "import", "monto"],
    &["averag", "mean", "promed", "media"],
    &["number", "numero"],
    &["year", "ano"],
    &["share", "cuota", "porcen", "percen"],
    &["value", "valor"],
    &["code", "codigo"],
    &["date", "fecha", "data"],
];

/// What a clause speaks of.
#[derive(Default, Clone)]
pub(super) struct Named {
    /// The rows, by their places.
    pub(super) rows: Vec<usize>,
    /// Whether they are named by a code or by all of their words.
    pub(super) is_sure: bool,
    /// How columns may be named.
    said: ColumnWords,
    /// The same of what was said before, the last first.
    earlier: Vec<ColumnWords>,
}

/// By what columns may be named.
#[derive(Default, Clone)]
struct ColumnWords {
    /// Their names, as they are.
    names: BTreeSet<String>,
    /// Words of their names.
    words: BTreeSet<String>,
}

impl Named {
    /// The same of other rows.
    pub(super) fn of_rows(self, rows: Vec<usize>) -> Self {
        Self { rows, ..self }
    }

    /// This, and what it does not say from another one.
    pub(super) fn or(mut self, other: &Self) -> Self {
        if self.rows.is_empty() {
            (self.rows, self.is_sure) = (other.rows.clone(), other.is_sure);
        }
        self.earlier.push(other.said.clone());
        self.earlier.extend(other.earlier.iter().cloned());
        self.earlier.truncate(MOST_EARLIER);
        self
    }
}

/// So many clauses before may say which column is meant.
const MOST_EARLIER: usize = 4;

/// How rows and columns are called.
pub(super) struct Subjects {
    labels: Vec<Label>,
    /// The names of columns, in lower case.
    columns: BTreeSet<String>,
    /// Names of columns and rows that have numbers in them, in lower case.
    names: BTreeSet<String>,
    /// The numbers in names of columns, rows and headings, with the word before them.
    numbers: BTreeSet<(String, String)>,
    /// The words of the names of columns.
    column_words: BTreeSet<String>,
    /// Whether some cell says that something is free.
    pub(super) has_free: bool,
}

pub(super) struct Label {
    codes: Vec<Value>,
    /// Its first cell, in lower case.
    text: String,
    /// The words of its first cell, and of the cell that describes it.
    words: [BTreeSet<String>; 2],
    /// The words of what stands over it.
    over: BTreeSet<String>,
    /// What it is called by, and what stands over it.
    pub(super) called: Vec<String>,
    pub(super) headings: Vec<String>,
}

/// The words of a text that tell something, as they are compared.
pub(super) fn telling(text: &str) -> BTreeSet<String> {
    words(text)
        .into_iter()
        .filter(|word| !EMPTY.contains(&word.as_str()))
        .map(|word| {
            let same = SAME.iter().find(|group| group.contains(&word.as_str()));
            same.map_or(word, |group| group[0].to_owned())
        })
        .collect()
}

impl Subjects {
    pub(super) fn of(rows: &[Row<'_>]) -> Self {
        let mut subjects = Self {
            labels: Vec::new(),
            columns: BTreeSet::new(),
            names: BTreeSet::new(),
            numbers: BTreeSet::new(),
            column_words: BTreeSet::new(),
            has_free: rows.iter().any(|row| row.record.cells.iter().any(|cell| is_free(&cell.text))),
        };
        let mut last = None;
        for Row { record, .. } in rows {
            let first = record.cells.first().map_or("", |cell| cell.text.as_str());
            let codes = codes(first);
            let own = if codes.is_empty() { label_words(first) } else { BTreeSet::new() };
            let is_name =
                |name: &str| name.chars().filter(|letter| letter.is_alphanumeric()).count() >= SHORTEST_NAME;
            let text = if label_words(first).is_empty() { String::new() } else { first.to_lowercase() };
            // Rows of one passage share their columns.
            let is_new = last.is_none_or(|last: &Arc<Columns>| !Arc::ptr_eq(last, &record.columns));
            last = Some(&record.columns);
            let columns = || record.columns.names.iter().chain(&record.columns.written).filter(|_| is_new);
            let told = columns().skip(1).filter(|name| is_name(name));
            subjects.columns.extend(told.map(|name| name.to_lowercase()));
            if is_new {
                subjects.column_words.extend(record.columns.names.iter().flat_map(|name| telling(name)));
            }
            let named = columns().chain(&record.path).map(String::as_str);
            for name in named.chain([first, record.description()]) {
                subjects.numbers.extend(numbers(name));
                if is_name(name)
                    && name.chars().any(|letter| letter.is_ascii_digit())
                    && name.chars().any(char::is_alphabetic)
                {
                    subjects.names.insert(name.to_lowercase());
                }
            }
            let words = [own, label_words(record.description())];
            let called =
                [first, record.description()].into_iter().filter(|name| !label_words(name).is_empty());
            let label = Label {
                codes,
                text,
                words,
                over: telling(&record.path.join(" ")),
                called: called.map(str::to_owned).collect(),
                headings: record.path.clone(),
            };
            subjects.labels.push(label);
        }
        subjects
    }

    /// Whether a number in a clause belongs to the name of a row, column or heading: it stands within one, is a year that is in
    /// one, or stands behind the same word.
    pub(super) fn is_name(&self, clause: &str, value: &Value) -> bool {
        let lower = lowered(clause);
        let within = |name: &String| {
            places_of(name, &lower)
                .any(|place| place.start <= value.stands.start && value.stands.end <= place.end)
        };
        if self.names.iter().any(within) {
            return true;
        }
        if !matches!(value.worth, Worth::Number(_)) || value.money {
            return false;
        }
        let number = value.written.trim();
        if value.is_year() {
            return self.numbers.iter().any(|(_, other)| other == number);
        }
        let before = clause[..value.stands.start].split_whitespace().next_back().unwrap_or_default();
        let before = telling(before).into_iter().next().unwrap_or_default();
        !before.is_empty() && self.numbers.contains(&(before, number.to_owned()))
    }

    /// What a clause speaks of, beside what it claims.
    pub(super) fn named(&self, clause: &str, claims: &[Claim]) -> Named {
        let rest = blanked(clause, claims.iter().map(|claim| claim.stands.clone()));
        let lower = lowered(&rest);
        let mut columns: Vec<(Range<usize>, &String)> = self
            .columns
            .iter()
            .flat_map(|name| places_of(name, &lower).map(move |place| (place, name)))
            .collect();
        let mut rows: Vec<(Range<usize>, usize)> = self
            .labels
            .iter()
            .enumerate()
            .filter(|(_, label)| label.codes.is_empty())
            .flat_map(|(row, label)| places_of(&label.text, &lower).map(move |place| (place, row)))
            .collect();
        // Names within a longer name are none.
        let longer = |place: &Range<usize>, other: &Range<usize>| {
            other.start <= place.start && place.end <= other.end && other.len() > place.len()
        };
        let all: Vec<Range<usize>> = columns
            .iter()
            .map(|(place, _)| place.clone())
            .chain(rows.iter().map(|(place, _)| place.clone()))
            .collect();
        columns.retain(|(place, _)| !all.iter().any(|other| longer(place, other)));
        rows.retain(|(place, _)| !all.iter().any(|other| longer(place, other)));
        let without_rows = blanked(&rest, rows.iter().map(|(place, _)| place.clone()));
        let without_columns = blanked(&rest, columns.iter().map(|(place, _)| place.clone()));
        let names = columns.iter().map(|(_, name)| (*name).clone()).collect();
        let said = ColumnWords { names, words: telling(&without_rows) };
        let codes = codes(&rest);
        if !codes.is_empty() {
            return Named { rows: self.by_codes(&codes), is_sure: true, said, ..Named::default() };
        }
        if !rows.is_empty() {
            let named = telling(&without_columns);
            let over = |row: usize| self.labels[row].over.intersection(&named).count();
            let most = rows.iter().map(|(_, row)| over(*row)).max().unwrap_or_default();
            let alike = |row: usize| {
                rows.iter().filter(|(_, other)| self.labels[*other].text == self.labels[row].text).count() > 1
            };
            // Of rows that are called alike, those under headings that were said too.
            let rows =
                rows.iter().map(|(_, row)| *row).filter(|row| !alike(*row) || over(*row) == most).collect();
            return Named { rows, is_sure: true, said, ..Named::default() };
        }
        let (rows, is_sure, row_words) = self.by_words(&telling(&without_columns));
        let mut beside = said.clone();
        beside.words.retain(|word| !row_words.contains(word));
        let mut named = Named { rows, is_sure, said: beside, ..Named::default() };
        named.earlier.push(said);
        named
    }

    /// The rows of codes: with the code, else with one that goes on with it, else with one that it goes on with.
    fn by_codes(&self, codes: &[Value]) -> Vec<usize> {
        let digits = |value: &Value| match &value.worth {
            Worth::Code(groups) => groups.concat(),
            _ => String::new(),
        };
        let with = |fits: &dyn Fn(&str, &str) -> bool| {
            let rows = self.labels.iter().enumerate();
            let has = |label: &Label| {
                label.codes.iter().any(|own| codes.iter().any(|code| fits(&digits(own), &digits(code))))
            };
            rows.filter(|(_, label)| has(label)).map(|(row, _)| row).collect::<Vec<_>>()
        };
        let exact =
            with(&|own, code| own == code || own.trim_end_matches("00") == code.trim_end_matches("00"));
        if !exact.is_empty() {
            return exact;
        }
        let longer = with(&|own, code| own.starts_with(code));
        if longer.is_empty() { with(&|own, code| own.len() >= 6 && code.starts_with(own)) } else { longer }
    }

    /// The rows that are called by words that were said: those of which all were said, and of these none whose words are
    /// among those of another; else those of which most were said; else the one of which more were said than of any other.
    fn by_words(&self, said: &BTreeSet<String>) -> (Vec<usize>, bool, BTreeSet<String>) {
        let shared = |label: &Label| {
            let best = label.words.iter().filter(|words| !words.is_empty()).map(|words| {
                let both: BTreeSet<String> = words.intersection(said).cloned().collect();
                (both.len() as f64 / words.len() as f64, both)
            });
            best.max_by(|one, other| {
                (one.0, one.1.len())
                    .partial_cmp(&(other.0, other.1.len()))
                    .unwrap_or(std::cmp::Ordering::Equal)
            })
        };
        let all: Vec<(usize, f64, BTreeSet<String>)> = self
            .labels
            .iter()
            .enumerate()
            .filter_map(|(row, label)| shared(label).map(|(share, words)| (row, share, words)))
            .collect();
        let reached = |floor: f64| all.iter().any(|(_, share, words)| *share >= floor && !words.is_empty());
        let is_sure = reached(1.0);
        let floor = if is_sure { 1.0 } else { MOST_WORDS };
        // Some of its words name a row if no other has as many of them.
        let most = all.iter().map(|(_, _, words)| words.len()).max().unwrap_or_default();
        let alone = all.iter().filter(|(_, _, words)| words.len() == most).count() == 1;
        let fits = |share: f64, words: &BTreeSet<String>| match reached(floor) {
            true => share >= floor && !words.is_empty(),
            false => alone && most >= FEWEST_WORDS && words.len() == most,
        };
        let fitting: Vec<_> = all.iter().filter(|(_, share, words)| fits(*share, words)).collect();
        let within = |words: &BTreeSet<String>| {
            fitting.iter().any(|(_, _, other)| other.len() > words.len() && other.is_superset(words))
        };
        let mut fitting: Vec<_> = fitting.iter().copied().filter(|(_, _, words)| !within(words)).collect();
        // Of rows that are called alike, those under headings that were said too.
        let over = |row: usize| self.labels[row].over.intersection(said).count();
        let most = fitting.iter().map(|(row, _, _)| over(*row)).max().unwrap_or_default();
        fitting.retain(|(row, _, _)| over(*row) == most);
        let words = fitting.iter().flat_map(|(_, _, words)| words.iter().cloned()).collect();
        (fitting.into_iter().map(|(row, _, _)| *row).collect(), is_sure, words)
    }

    /// The rows that a text describes best, of those that fit: what they are called by was said, and of what stands over them
    /// more than of any other. None if that is said of too many. And whether that is sure.
    pub(super) fn described(&self, text: &str, fits: impl Fn(usize) -> bool) -> (Vec<usize>, bool) {
        let description = Description::of(text, &self.column_words);
        let all = self.labels.iter().enumerate();
        let all = all
            .filter_map(|(row, label)| description.fit(label).map(|(fit, is_headed)| (row, fit, is_headed)));
        let all: Vec<(usize, f64, bool)> = all.filter(|(row, ..)| fits(*row)).collect();
        let Some((_, best, is_headed)) = all.iter().max_by(|one, other| one.1.total_cmp(&other.1)) else {
            return (Vec::new(), false);
        };
        // Without a heading that was said, rows that are called alike are all meant.
        let least = if *is_headed { best - 1e-9 } else { best - UNHEADED };
        let rows: Vec<usize> = all.iter().filter(|(_, fit, _)| *fit >= least).map(|(row, ..)| *row).collect();
        if rows.len() > MOST_DESCRIBED { (Vec::new(), false) } else { (rows, *best >= description::SURE) }
    }

    /// The columns of a row that words name: by those that tell columns apart.
    pub(super) fn columns(&self, record: &Record, said: &Named) -> Vec<usize> {
        let names: Vec<BTreeSet<String>> = record.columns.names.iter().map(|name| telling(name)).collect();
        let named_by = |said: &BTreeSet<String>| {
            let weigh =
                |word: &String| 1.0 / names.iter().filter(|name| name.contains(word)).count().max(1) as f64;
            let scores: Vec<f64> =
                names.iter().map(|name| name.intersection(said).map(weigh).sum()).collect();
            let best = scores.iter().copied().fold(0.0, f64::max);
            let columns = scores.iter().enumerate().filter(|(_, score)| best > 0.0 && **score >= best - 1e-9);
            columns.map(|(column, _)| column).filter(|column| *column > 0).collect::<Vec<_>>()
        };
        for said in std::iter::once(&said.said).chain(&said.earlier) {
            let written = record.columns.names.iter().zip(&record.columns.written).enumerate();
            let verbatim = written.filter(|(_, (name, written))| {
                [name, written].iter().any(|name| said.names.contains(&name.to_lowercase()))
            });
            let verbatim: Vec<usize> =
                verbatim.map(|(column, _)| column).filter(|column| *column > 0).collect();
            let columns = if verbatim.is_empty() { named_by(&said.words) } else { verbatim };
            if !columns.is_empty() {
                return columns;
            }
        }
        Vec::new()
    }
}

/// A text with blanks at some places.
fn blanked(text: &str, places: impl Iterator<Item = Range<usize>>) -> String {
    let mut text = text.to_owned();
    for place in places {
        text.replace_range(place.clone(), &" ".repeat(place.len()));
    }
    text
}

/// A text in lower case; nothing where that takes other room, since places in it would be wrong.
fn lowered(text: &str) -> String {
    let lower = text.to_lowercase();
    if lower.len() == text.len() { lower } else { String::new() }
}

/// Where a name stands in a text as whole words, both in lower case.
fn places_of<'a>(name: &'a str, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let found = text.match_indices(name).filter(|_| !name.is_empty()).map(|(at, _)| at..at + name.len());
    found.filter(move |place| {
        let (before, after) = (text[..place.start].chars().next_back(), text[place.end..].chars().next());
        let begins = !is_word(before) || !is_word(name.chars().next());
        begins && (!is_word(after) || !is_word(name.chars().next_back()))
    })
}

/// The words that a row is called by. A mere number, or a word of two letters, calls none.
fn label_words(label: &str) -> BTreeSet<String> {
    let words = telling(label);
    let calls = |word: &String| word.chars().filter(|letter| letter.is_alphabetic()).count() >= SHORTEST_NAME;
    if words.iter().any(|word| calls(word) || is_year(word)) { words } else { BTreeSet::new() }
}

/// The numbers in a name, each with the word before it.
fn numbers(name: &str) -> impl Iterator<Item = (String, String)> {
    let parts: Vec<&str> =
        name.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let mut found = Vec::new();
    for (at, part) in
        parts.iter().enumerate().filter(|(_, part)| part.chars().all(|digit| digit.is_ascii_digit()))
    {
        let before = at.checked_sub(1).and_then(|before| telling(parts[before]).into_iter().next());
        found.push((before.unwrap_or_default(), (*part).to_owned()));
    }
    found.into_iter()
}
