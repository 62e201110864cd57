//! How well a piece of text fits a question: by the words that they share, the rare ones before the common ones.

use std::collections::{BTreeMap, BTreeSet};

use crate::language::folded;

/// Words are compared by so many letters, so that their endings do not matter.
const STEM: usize = 6;
/// A word with digits tells more than others.
const DIGITS: f64 = 3.0;
/// A code of the question at the beginning of a row: this is the row.
const CODE: f64 = 20.0;
/// A number of the question at the beginning of a paragraph: this is note 2, or article 5.
const NUMBERED: f64 = 10.0;
/// And by so much less if its title is not in the question.
const UNNAMED: f64 = 3.0;
/// What stands in the headings over a piece counts for so much.
const UNDER: f64 = 0.5;

/// What the words of a question weigh.
pub(super) struct Weights {
    weights: BTreeMap<String, f64>,
    codes: Vec<String>,
    numbers: Vec<String>,
}

impl Weights {
    /// The weights of the words of a question among these pieces.
    pub(super) fn of<'a>(question: &str, pieces: impl Iterator<Item = &'a str>) -> Self {
        let asked = words(question);
        let (mut all, mut having) = (0.0, BTreeMap::<String, f64>::new());
        for piece in pieces {
            all += 1.0;
            for word in words(piece).intersection(&asked) {
                *having.entry(word.clone()).or_default() += 1.0;
            }
        }
        let weigh = |word: &String| {
            let rare = (1.0 + all / having.get(word).copied().unwrap_or(1.0)).ln();
            if word.chars().any(|letter| letter.is_ascii_digit()) { DIGITS * rare } else { rare }
        };
        let codes = asked.iter().filter(|word| is_code(word)).cloned().collect();
        let numbers = asked.iter().filter(|word| is_number(word)).cloned().collect();
        let weights = asked.iter().map(|word| (word.clone(), weigh(word))).collect();
        Self { weights, codes, numbers }
    }

    /// How well a piece fits: by its text, by the headings over it, and by the line that is its title, if it has one.
    pub(super) fn fit(&self, text: &str, under: &str, title: Option<&str>) -> f64 {
        let title = title.map(words).unwrap_or_default();
        let (own, mut over) = (words(text), words(under));
        over.extend(title.iter().cloned());
        let mut fit = 0.0;
        for (word, weight) in &self.weights {
            if own.contains(word) {
                fit += weight;
            } else if over.contains(word) {
                fit += UNDER * weight;
            }
        }
        if self.numbers.iter().any(|number| begins_with(text, number)) {
            // "Note 2" is under "Notes" rather than under "Additional notes", and there rather than anywhere.
            let others = title.iter().filter(|word| !self.weights.contains_key(*word)).count();
            let is_named = others < title.len();
            fit += if is_named { NUMBERED / (1.0 + others as f64) } else { NUMBERED / UNNAMED };
        }
        // A row with the code, or with one that goes on with it; the nearer the better.
        for code in &self.codes {
            let begins = own.iter().filter(|word| word.starts_with(code.as_str()));
            let nearest = begins.map(|word| word.len() - code.len()).min();
            if let Some(longer) = nearest {
                fit += CODE / (1.0 + longer as f64 / 4.0);
            }
        }
        fit
    }

    /// Whether a paragraph is one that the question names by its number and by its title: note 2, under "Notes".
    pub(super) fn is_named(&self, text: &str, title: &str) -> bool {
        let title = words(title);
        self.numbers.iter().any(|number| begins_with(text, number))
            && !title.is_empty()
            && title.iter().all(|word| self.weights.contains_key(word))
    }
}

/// Whether a paragraph has a number.
pub(super) fn is_numbered(text: &str) -> bool {
    let digits: String =
        text.trim_start_matches(['(', '\u{a7}', ' ']).chars().take_while(char::is_ascii_digit).collect();
    !digits.is_empty() && begins_with(text, &digits)
}

fn is_number(word: &str) -> bool {
    word.len() < 4 && word.chars().all(|letter| letter.is_ascii_digit())
}

/// Whether a paragraph has this number.
fn begins_with(text: &str, number: &str) -> bool {
    let rest = text.trim_start_matches(['(', '\u{a7}', ' ']).strip_prefix(number);
    rest.is_some_and(|rest| {
        rest.starts_with(['.', ')', ':']) && !rest[1..].starts_with(|next: char| next.is_ascii_digit())
    })
}

fn is_code(word: &str) -> bool {
    word.len() >= 4 && word.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
}

/// The words of a text without accents and endings; codes and numbers whole.
pub(crate) fn words(text: &str) -> BTreeSet<String> {
    let plain = folded(text);
    let words = plain.split(|letter: char| !letter.is_alphanumeric() && letter != '.');
    let words = words
        .map(|word| word.trim_matches('.'))
        .filter(|word| word.chars().count() > 1 || word.chars().any(|letter| letter.is_ascii_digit()));
    words
        .map(|word| {
            if word.chars().any(|letter| letter.is_ascii_digit()) {
                return word.to_owned();
            }
            let ending = word.strip_suffix('s').filter(|rest| rest.len() > 2).unwrap_or(word);
            ending.chars().take(STEM).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_and_codes_decide() {
        let pieces = [
            "8539.52.00 lamps",
            "8539.52.00.10 lamps of a type",
            "8539.51 modules",
            "lamps and l\u{e1}mparas",
        ];
        let weights = Weights::of("the rate of LAMPS of 8539.52.00", pieces.into_iter());
        let fits: Vec<f64> = pieces.iter().map(|piece| weights.fit(piece, "", None)).collect();
        assert!(fits[0] > fits[1] && fits[1] > fits[3] && fits[3] > fits[2], "{fits:?}");
        assert!(weights.fit("others", "lamps", None) > 0.0);
        let notes =
            ["1. See note 2 of this chapter.", "2. Machines are not parts.", "2.5 % of them note it."];
        let weights = Weights::of("What does note 2 say?", notes.into_iter());
        let fits: Vec<f64> = notes.iter().map(|piece| weights.fit(piece, "", Some("Notes"))).collect();
        assert!(fits[1] > fits[0] && fits[0] > fits[2], "{fits:?}");
        let other = weights.fit(notes[1], "", Some("Additional U.S. Notes"));
        assert!(fits[1] > other && other > weights.fit(notes[1], "", None), "{fits:?} {other}");
        assert_eq!(
            words("L\u{e1}mparas, lamps: 2.5 a."),
            ["2.5", "lampar", "lamp"].map(str::to_owned).into()
        );
    }
}
