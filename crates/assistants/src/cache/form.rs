//! What is left of a question when everything is taken away that may be said in another way and means the same.
//!
//! The vectors of two questions do not tell whether they ask for the same: of pairs that are alike in their words and opposite in
//! meaning, nearly half have a cosine above 0.98 (docs/measurements/cache.md). So two questions are one if their words are, in
//! their order, but for words that carry nothing, the singular and the plural, other spellings, and the notation of values.

use ibid_core::value::values;
use unicode_normalization::char::is_combining_mark;

use crate::guard::unit_name;
use crate::language::{Language, Spoken, folded};

/// The form of a question: two questions of one form ask for the same.
pub fn question_form(question: &str, spoken: Spoken) -> String {
    let language = spoken.is_known.then_some(spoken.language);
    let mut tokens = tokens(question, language);
    if let Some(language) = language {
        tokens = without_asides(tokens, language);
        tokens.retain(|token| !language.is_filler(token));
        tokens = question_first(tokens, language);
    }
    tokens.join(" ")
}

/// The words and values of a question, in their order, each in one notation.
fn tokens(question: &str, language: Option<Language>) -> Vec<String> {
    let shouts = !question.chars().any(char::is_lowercase);
    let mut tokens = Vec::new();
    let mut at = 0;
    for value in values(question) {
        words(&question[at..value.stands.start], shouts, language, &mut tokens);
        tokens.push(format!("#{:?}", value.worth));
        at = value.stands.end;
    }
    words(&question[at..], shouts, language, &mut tokens);
    tokens
}

/// Marks between words that say nothing.
const PUNCTUATION: &str =
    ".,;:!?\u{bf}\u{a1}\"()[]{}-\u{2010}\u{2013}\u{2014}/\\`\u{201c}\u{201d}\u{ab}\u{bb}\u{2026}*_|";

/// Adds the words of a piece of a question. A sign that is no punctuation is a word: C++ is not C.
fn words(text: &str, shouts: bool, language: Option<Language>, tokens: &mut Vec<String>) {
    let mut word = String::new();
    let mut before = ' ';
    for letter in text.chars().chain([' ']) {
        let is_apostrophe = matches!(letter, '\'' | '\u{2019}');
        if letter.is_alphanumeric() || is_combining_mark(letter) || (is_apostrophe && !word.is_empty()) {
            word.push(if is_apostrophe { '\'' } else { letter });
        } else {
            if !word.is_empty() {
                add(&std::mem::take(&mut word), shouts, language, tokens);
            }
            let is_minus = letter == '-' && before.is_whitespace();
            if !letter.is_whitespace() && (is_minus || !PUNCTUATION.contains(letter)) {
                let sign = letter.to_string();
                tokens.push(unit_name(&sign).map_or(sign, str::to_owned));
            }
        }
        before = letter;
    }
}

/// Adds a word: without case, accents and contraction.
fn add(word: &str, shouts: bool, language: Option<Language>, tokens: &mut Vec<String>) {
    let plain = folded(word);
    let plain = plain.trim_matches('\'');
    let Some(language) = language else { return tokens.push(plain.to_owned()) };
    // US is not us, and WHO is not who.
    let is_name = !shouts && word.chars().count() > 1 && word.chars().all(char::is_uppercase);
    if is_name && (language.is_common(plain) || language.is_filler(plain)) {
        return tokens.push(word.to_owned());
    }
    match plain.rsplit_once('\'') {
        Some((negated, "t")) if negated.ends_with('n') => {
            let verb = match negated {
                "won" => "will",
                "can" => "can",
                _ => negated.trim_end_matches('n'),
            };
            tokens.push(one_form(verb, language));
            tokens.push("not".to_owned());
        }
        Some((before, "s" | "re" | "m")) => tokens.push(one_form(before, language)),
        Some((before, "ll")) => tokens.extend([one_form(before, language), "will".to_owned()]),
        _ if plain == "cannot" => tokens.extend(["can".to_owned(), "not".to_owned()]),
        _ => tokens.push(one_form(plain, language)),
    }
}

/// One form of a word for its singular and its plural, its spellings and the names of a unit.
fn one_form(word: &str, language: Language) -> String {
    let word = word.replace('\'', "");
    if let Some(unit) = unit_name(&word) {
        return unit.to_owned();
    }
    let singular = singular(&word, language.code());
    language.same_word(&singular).unwrap_or(&singular).to_owned()
}

/// The singular of a word, if it is the plural of one by its ending.
fn singular(word: &str, language: &str) -> String {
    const SHORTEST: usize = 4;
    let cut = |letters: usize| word[..word.len() - letters].to_owned();
    let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    match language {
        _ if word.len() < SHORTEST || !word.ends_with('s') || ends(&["ss"]) => word.to_owned(),
        "en" if ends(&["us", "is"]) => word.to_owned(),
        "en" if ends(&["ies"]) && word.len() > SHORTEST => format!("{}y", cut(3)),
        "en" if ends(&["sses", "xes", "zes", "ches", "shes"]) => cut(2),
        "es" | "pt" if ends(&["les", "res", "nes", "des", "yes", "jes"]) => cut(2),
        _ => cut(1),
    }
}

/// Without what is said before and after a question, as "could you tell me" and "please".
fn without_asides(mut tokens: Vec<String>, language: Language) -> Vec<String> {
    loop {
        let said = tokens.join(" ");
        let asides = language.asides().iter();
        let found = asides.clone().find(|aside| said.len() > aside.len() + 1 && begins(&said, aside));
        if let Some(aside) = found {
            tokens.drain(..aside.split(' ').count());
            continue;
        }
        let ended = asides.clone().find(|aside| said.len() > aside.len() + 1 && ends(&said, aside));
        let Some(aside) = ended else { return tokens };
        tokens.truncate(tokens.len() - aside.split(' ').count());
    }
}

fn begins(said: &str, aside: &str) -> bool {
    said.strip_prefix(aside).is_some_and(|rest| rest.starts_with(' '))
}

fn ends(said: &str, aside: &str) -> bool {
    said.strip_suffix(aside).is_some_and(|rest| rest.ends_with(' '))
}

/// "For lamps, what is the rate?" asks what "What is the rate for lamps?" does.
fn question_first(mut tokens: Vec<String>, language: Language) -> Vec<String> {
    let is_led = tokens.first().is_some_and(|first| language.is_preposition(first));
    if is_led && let Some(at) = tokens.iter().position(|token| language.asks(token)).filter(|at| *at > 1) {
        tokens.rotate_left(at);
    }
    tokens
}

/// Whether the answer to one question may be offered to another where no model can be reached: both speak of the same values,
/// names and units, deny as much, and share most of their words.
pub(crate) fn is_near(one: &str, other: &str, spoken: Spoken) -> bool {
    /// Of the words of both, so many must be in each.
    const SHARED: f32 = 0.6;
    let language = spoken.is_known.then_some(spoken.language);
    let of = |question: &str| -> Vec<String> {
        let mut tokens = tokens(question, language);
        tokens.retain(|token| !language.is_some_and(|language| language.is_filler(token)));
        tokens
    };
    let (ours, theirs) = (of(one), of(other));
    let strict = |question: &str, tokens: &[String]| -> Vec<String> {
        let names = names(question);
        let is_strict = |token: &&String| {
            token.starts_with('#')
                || token.chars().any(|letter| letter.is_numeric() || letter.is_uppercase())
                || crate::guard::is_negation(token)
                || names.contains(*token)
        };
        tokens.iter().filter(is_strict).cloned().collect()
    };
    // A name may be written small in one of them: it must be in the other all the same, and in its order.
    let is_in = |strict: &[String], tokens: &[String]| {
        let mut rest = tokens.iter();
        strict.iter().all(|token| rest.any(|other| other == token))
    };
    let shared = ours.iter().filter(|token| theirs.contains(token)).count();
    let all = ours.len() + theirs.len() - shared;
    is_in(&strict(one, &ours), &theirs)
        && is_in(&strict(other, &theirs), &ours)
        && shared as f32 >= SHARED * all as f32
}

/// The words of a question that are written large, but for the first.
fn names(question: &str) -> Vec<String> {
    let large = |word: &&str| word.chars().next().is_some_and(char::is_uppercase);
    let names = question.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    names.skip(1).filter(large).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(question: &str) -> String {
        question_form(question, Spoken::of(&[], question))
    }

    #[track_caller]
    fn same(one: &str, other: &str) {
        assert_eq!(form(one), form(other));
    }

    #[track_caller]
    fn different(one: &str, other: &str) {
        assert_ne!(form(one), form(other), "{one} / {other}");
    }

    #[test]
    fn one_question_in_many_ways() {
        same("What is the duty rate on LED lamps?", "what's the duty rate on led lamp");
        same("Could you please tell me what the rate for lamps is?", "What the rate for lamps is");
        same("For LED lamps, what is the duty rate?", "What is the duty rate for LED lamps?");
        same(
            "Is a deposit of 1,500.00 USD due by July 6, 2018?",
            "is the deposit of 1500 dollars due by 2018-07-06",
        );
        same("Which licence doesn't expire?", "Which license does not expire?");
        same(
            "\u{bf}Cu\u{e1}l es el arancel de las l\u{e1}mparas LED?",
            "cual es el arancel de la lampara led, por favor",
        );
        same("Me puede decir cu\u{e1}l es el plazo?", "cu\u{e1}l es el plazo");
    }

    #[test]
    fn another_question_in_nearly_the_same_words() {
        different("What is the rate for lamps?", "What is not the rate for lamps?");
        different("flights from Lima to Madrid", "flights from Madrid to Lima");
        different("What is the rate of 8539.52.00?", "What is the rate of 8539.51.00?");
        different("Who pays within 30 days?", "Who pays within 30 weeks?");
        different("What applies in the US?", "What applies to us?");
        different("Who is the employer?", "Who is the employee?");
        different("Which rules apply to C++?", "Which rules apply to C?");
        different("Is it due on 1 July 2018?", "Is it due in July 2018?");
        different("Must it be kept at -5 degrees?", "Must it be kept at 5 degrees?");
        different("What was the rate?", "What is the rate?");
        different("Can it be imported with a licence?", "Can it be imported without a licence?");
    }

    #[test]
    fn an_answer_is_offered_to_a_question_that_is_near() {
        let near = |one: &str, other: &str| is_near(one, other, Spoken::of(&[], one));
        assert!(near("What is the duty rate on LED lamps?", "What duty rate applies on LED lamps?"));
        assert!(!near(
            "What is the duty rate on LED lamps from China?",
            "What is the duty rate on LED lamps from Mexico?"
        ));
        assert!(!near("What is the rate of 8539.52?", "What is the rate of 8539.51?"));
        assert!(!near("Is a permit needed for lamps?", "Is no permit needed for lamps?"));
        assert!(!near("What is the duty rate on lamps?", "Who signs the contract for the new offices?"));
    }
}
