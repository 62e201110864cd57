//! The sentences of an answer, each checked by itself: those that the guard has found fault with, those that a source has word
//! for word, and those that are left to a model.

use std::ops::Range;

use ibid_core::answer::{Warning, WarningKind};
use ibid_core::value::{agree, claimed, values};

use super::bare::{Bare, is_negation};
use super::{marks, pieces};
use crate::language::Language;
use crate::source::Source;

/// A sentence of fewer words is none.
const FEWEST_WORDS: usize = 2;

/// What the sentences of an answer are found to be without a model.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sentences {
    /// The guard has found that no source has a value or a quotation of it.
    pub(crate) unsupported: Vec<String>,
    /// A model has to say.
    pub(crate) open: Vec<String>,
}

impl Sentences {
    /// The sentences of an answer that has these warnings.
    pub(crate) fn of(answer: &str, warnings: &[Warning], sources: &[Source], language: Language) -> Self {
        let mut found = Self::default();
        let texts: Vec<&str> = sources.iter().map(Source::text).collect();
        for span in sentences(answer) {
            let sentence = said(&answer[span]);
            let is_about = |warning: &Warning| {
                let about = warning.about.as_deref();
                is_grave(warning.kind) && about.is_some_and(|about| sentence.contains(about))
            };
            if warnings.iter().any(is_about) {
                found.unsupported.push(sentence);
            } else if !texts.iter().any(|text| says(text, &sentence, language)) {
                found.open.push(sentence);
            }
        }
        found
    }
}

fn is_grave(kind: WarningKind) -> bool {
    use WarningKind as Kind;
    matches!(
        kind,
        Kind::QuoteNotFound
            | Kind::ValueNotFound
            | Kind::WrongColumn
            | Kind::WrongRow
            | Kind::WrongPeriod
            | Kind::WrongUnit
            | Kind::WrongArithmetic
    )
}

/// Where the sentences of an answer stand that state something.
pub(crate) fn sentences(answer: &str) -> impl Iterator<Item = Range<usize>> {
    let states = |span: &Range<usize>| {
        let sentence = said(&answer[span.clone()]);
        let words =
            sentence.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
        !sentence.ends_with([':', '?']) && words >= FEWEST_WORDS && !sentence.starts_with('#')
    };
    let mut found: Vec<Range<usize>> = pieces(answer).filter(states).collect();
    // A word or a value may be all of an answer.
    if found.is_empty() && said(answer).chars().any(char::is_alphanumeric) {
        found.push(0..answer.trim_end().len());
    }
    found.into_iter()
}

/// A sentence without the numbers of its sources.
fn said(sentence: &str) -> String {
    let without = marks::without(sentence);
    let words = without.trim();
    let end = words.trim_end_matches(['.', ';', '!']);
    format!("{}{}", end.trim_end(), &words[end.len()..])
}

/// Whether a row or sentence of a text has all words and values of a sentence that say something, and denies as much.
fn says(text: &str, sentence: &str, language: Language) -> bool {
    let (own, claims) = (telling(sentence, language), claimed(sentence));
    !own.is_empty()
        && pieces(text).any(|span| {
            let piece = &text[span];
            let (there, values) = (telling(piece, language), values(piece));
            own.iter().all(|word| there.contains(word))
                && claims.iter().all(|claim| values.iter().any(|value| agree(claim, value)))
                && negations(piece) == negations(sentence)
        })
}

fn telling(text: &str, language: Language) -> Vec<String> {
    let words = Bare::of(text).words().into_iter().map(|(word, _)| word);
    words.filter(|word| word.chars().any(char::is_alphabetic) && !language.is_common(word)).collect()
}

fn negations(text: &str) -> usize {
    Bare::of(text).words().iter().filter(|(word, _)| is_negation(word)).count()
}

/// An answer with a mark after each of these sentences.
pub(crate) fn marked(answer: &str, doubted: &[String], mark: &str) -> String {
    let mut marked = answer.to_owned();
    for span in sentences(answer).collect::<Vec<_>>().into_iter().rev() {
        let sentence = &answer[span.clone()];
        if doubted.contains(&said(sentence)) {
            marked.insert_str(span.start + sentence.trim_end().len(), &format!(" {mark}"));
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packing::sample;

    const RULES: &str = "Records have to be kept for five years. Nobody may destroy them before that.";

    fn of(answer: &str, warnings: &[Warning]) -> Sentences {
        Sentences::of(answer, warnings, &sample("en", RULES), Language::english())
    }

    #[test]
    fn what_a_source_says_word_for_word_needs_no_model() {
        assert_eq!(of("Records have to be kept for five years [1].", &[]), Sentences::default());
        let open = |answer: &str| of(answer, &[]).open;
        assert_eq!(
            open("Records do not have to be kept for five years."),
            ["Records do not have to be kept for five years."]
        );
        assert_eq!(
            open("Records have to be kept for ten years [1]."),
            ["Records have to be kept for ten years."]
        );
        assert_eq!(
            open("This is what the rules say:\n\nDestroying them costs a fine [1]."),
            ["Destroying them costs a fine."]
        );
    }

    #[test]
    fn a_value_may_be_all_of_an_answer() {
        assert_eq!(of("1000 [1]", &[]).open, ["1000"]);
        assert_eq!(sentences("[1] [2]").count(), 0);
    }

    #[test]
    fn what_the_guard_has_found_is_unsupported_and_marked() {
        let value = Warning {
            kind: WarningKind::ValueNotFound,
            text: "no source supports 40 EUR".to_owned(),
            about: Some("40 EUR".to_owned()),
            cells: Vec::new(),
        };
        let answer = "Records have to be kept for five years [1]. A copy costs 40 EUR [1].";
        let found = of(answer, &[value]);
        assert_eq!(found.unsupported, ["A copy costs 40 EUR."]);
        assert_eq!(
            marked(answer, &found.unsupported, "(no source)"),
            "Records have to be kept for five years [1]. A copy costs 40 EUR [1]. (no source)"
        );
    }
}
