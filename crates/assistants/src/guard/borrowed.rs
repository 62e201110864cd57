//! Words that an answer has from a source, whether it quotes them or not.

use super::bare::{Bare, is_negation};
use super::lines::pieces;
use ibid_core::value::{agree, claimed, values};

/// So many words in a row are no accident.
const ENOUGH: usize = 5;

/// The words of a sentence of an answer that stand in a text, as the text has them: enough of them in a row, with every value
/// that the sentence has. None that the answer or the text turns into their opposite.
pub(super) fn from(answer: &str, text: &str) -> Option<String> {
    longest(answer, text).map(|(_, words)| words)
}

/// The same with how many words they are.
pub(super) fn longest(answer: &str, text: &str) -> Option<(usize, String)> {
    let own = Bare::of(text);
    let mut best: Option<(usize, String)> = None;
    for piece in pieces(answer) {
        let sentence = &answer[piece];
        let (part, claims) = (Bare::of(sentence), claimed(sentence));
        let words = part.words();
        for (at, (_, letters)) in words.iter().enumerate() {
            let Some((end, stands)) = own.longest(&part, letters.start) else { continue };
            let count = words[at..].iter().take_while(|(_, letters)| letters.end <= end).count();
            let shorter = best.as_ref().is_some_and(|(most, _)| *most >= count);
            let (before, after) = (&words[..at], &words[at + count..]);
            let negated = before.iter().chain(after).any(|(word, _)| is_negation(word));
            if count < ENOUGH || shorter || negated {
                continue;
            }
            let run = &text[own.in_text(&stands)];
            let borne = values(run);
            if claims.iter().all(|claim| borne.iter().any(|value| agree(claim, value))) {
                best = Some((count, run.to_owned()));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Import records have to be kept for five years from the date of entry. Nobody may destroy them.\n\
                        Entry summary | 5 years | Import desk";

    #[track_caller]
    fn check(answer: &str, expected: Option<&str>) {
        assert_eq!(from(answer, TEXT).as_deref(), expected, "{answer}");
    }

    #[test]
    fn words_that_stand_in_the_text_are_found_as_it_has_them() {
        check(
            "Import records have to be kept for five years.",
            Some("Import records have to be kept for five years"),
        );
        check(
            "They say that records have to be kept for five years.",
            Some("records have to be kept for five years"),
        );
    }

    #[test]
    fn few_words_other_values_and_opposites_are_not() {
        check("Some records have to go.", None);
        check("Import records have to be kept for five years, or 7 years for steel.", None);
        check("Do not import records have to be kept for five years", None);
        check("One may destroy them.", None);
        check("5 years", None);
        check("", None);
    }
}
