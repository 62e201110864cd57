//! Words to search by: the one place where a text is cut into terms, for documents and for questions.
//!
//! Codes stay whole and can be found by their beginnings: 8539.52.00 is also 8539.52 and 8539. A row or
//! heading that a code names has the term `=8539.52.00` as well, so that it comes before those which
//! only mention the code. Words lose case, accents and endings.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A question is searched by at most so many terms.
const MOST_TERMS: usize = 128;
/// No longer word is kept.
const LONGEST: usize = 64;

/// The terms of a piece of a document. `codes` are those that it is about.
pub(crate) fn of_passage(text: &str, language: &str, codes: &[String]) -> String {
    let stemmers = stemmer(language).into_iter().collect::<Vec<_>>();
    let mut terms = Vec::new();
    each(text, &stemmers, &mut |term| terms.push(term));
    for code in codes {
        for code in beginnings(&canonical(code).unwrap_or_else(|| code.clone())) {
            terms.push(format!("={code}"));
        }
    }
    terms.join(" ")
}

/// The terms of a question, each once. Its language is not known, so that words end as they do in any
/// of the languages of the documents, and as they are written, for documents of an unknown language.
pub(crate) fn of_question(text: &str, languages: &[String]) -> Vec<String> {
    let stemmers: Vec<Stemmer> = languages.iter().filter_map(|language| stemmer(language)).collect();
    let mut terms: Vec<(String, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut add = |term: String| match places.get(&term) {
        Some(&place) => terms[place].1 += 1,
        None => {
            places.insert(term.clone(), terms.len());
            terms.push((term, 1));
        }
    };
    each(text, &stemmers, &mut add);
    each(text, &[], &mut add);
    for code in codes(text) {
        add(format!("={code}"));
    }
    if terms.len() > MOST_TERMS {
        // Of a long text, codes and what it says most often.
        let is_code = |term: &str| term.starts_with('=') || canonical(term).is_some();
        terms.sort_by_key(|(term, times)| (!is_code(term), std::cmp::Reverse(*times)));
        terms.truncate(MOST_TERMS);
    }
    terms.into_iter().map(|(term, _)| term).collect()
}

/// The codes in a text, in full.
pub(crate) fn codes(text: &str) -> Vec<String> {
    words(text).filter_map(|word| canonical(&word)).collect()
}

fn each(text: &str, stemmers: &[Stemmer], add: &mut impl FnMut(String)) {
    for word in words(text) {
        if let Some(code) = canonical(&word) {
            for code in beginnings(&code) {
                add(code);
            }
        } else if word.contains('-') || word.contains('\'') {
            for part in word.split(['-', '\'']) {
                term(part, stemmers, add);
            }
            term(&word.replace(['-', '\''], ""), stemmers, add);
        } else {
            term(&word, stemmers, add);
        }
    }
}

fn term(word: &str, stemmers: &[Stemmer], add: &mut impl FnMut(String)) {
    if word.is_empty() || word.len() > LONGEST || STOP.binary_search(&word).is_ok() {
        return;
    }
    if word.starts_with(|char: char| char.is_ascii_digit()) || stemmers.is_empty() {
        return add(word.to_owned());
    }
    for stemmer in stemmers {
        add(stemmer.stem(word).into_owned());
    }
}

/// A text without case and accents.
pub(crate) fn folded(text: &str) -> impl Iterator<Item = char> {
    text.nfkd().filter(|char| !is_combining_mark(*char)).flat_map(char::to_lowercase)
}

/// Words without case and accents. Dots, commas, slashes and hyphens between digits, and hyphens and
/// apostrophes between letters, belong to the word.
fn words(text: &str) -> impl Iterator<Item = String> {
    let folded: Vec<char> = folded(text).collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (at, &char) in folded.iter().enumerate() {
        let before = at.checked_sub(1).map_or(' ', |before| folded[before]);
        let after = folded.get(at + 1).copied().unwrap_or(' ');
        let inner = match char {
            '.' | ',' | '/' => before.is_ascii_digit() && after.is_ascii_digit(),
            '-' | '\'' | '\u{2019}' | '\u{2010}' => before.is_alphanumeric() && after.is_alphanumeric(),
            _ => char.is_alphanumeric(),
        };
        match char {
            _ if !inner => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            '\u{2019}' => word.push('\''),
            '\u{2010}' => word.push('-'),
            _ => word.push(char),
        }
        // Scripts without spaces are searched by their single characters.
        let next = folded.get(at + 1).copied().unwrap_or(' ');
        if (is_ideograph(char) || is_ideograph(next)) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words.into_iter()
}

fn is_ideograph(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// A code with its dots at their places, or none if the word is no code: 8539.52.0040 and 8539520040 are
/// 8539.52.00.40.
fn canonical(word: &str) -> Option<String> {
    let groups: Vec<&str> = word.split('.').collect();
    if groups.iter().any(|group| group.is_empty() || !group.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let digits = groups.concat();
    let dotted = groups.len() > 1
        && groups[0].len() == 4
        && groups[1..].iter().all(|group| matches!(group.len(), 2 | 4));
    let bare = groups.len() == 1 && matches!(digits.len(), 8 | 10);
    if dotted && digits.len().is_multiple_of(2) || bare {
        let mut code = digits[..4].to_owned();
        for at in (4..digits.len()).step_by(2) {
            code.push('.');
            code.push_str(&digits[at..at + 2]);
        }
        return Some(code);
    }
    // Numbers of sections and versions: 3.2.1.
    (groups.len() > 2).then(|| word.to_owned())
}

/// A code and everything that it begins with.
fn beginnings(code: &str) -> impl Iterator<Item = String> {
    let ends = code.match_indices('.').map(|(at, _)| at).chain([code.len()]);
    ends.map(|end| code[..end].to_owned()).filter(|code| code.len() > 2).collect::<Vec<_>>().into_iter().rev()
}

fn stemmer(language: &str) -> Option<Stemmer> {
    let algorithm = match language {
        "ar" => Algorithm::Arabic,
        "da" => Algorithm::Danish,
        "de" => Algorithm::German,
        "el" => Algorithm::Greek,
        "en" => Algorithm::English,
        "es" => Algorithm::Spanish,
        "fi" => Algorithm::Finnish,
        "fr" => Algorithm::French,
        "hu" => Algorithm::Hungarian,
        "it" => Algorithm::Italian,
        "nl" => Algorithm::Dutch,
        "no" => Algorithm::Norwegian,
        "pt" => Algorithm::Portuguese,
        "ro" => Algorithm::Romanian,
        "ru" => Algorithm::Russian,
        "sv" => Algorithm::Swedish,
        "tr" => Algorithm::Turkish,
        _ => return None,
    };
    Some(Stemmer::create(algorithm))
}

/// Words so common, in English or Spanish, that they tell nothing; sorted, without accents.
const STOP: [&str; 96] = [
    "a", "al", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "como", "con",
    "cual", "cuales", "cuando", "de", "del", "did", "do", "does", "donde", "e", "el", "en", "entre", "era",
    "es", "esta", "este", "for", "from", "fue", "ha", "had", "has", "have", "how", "i", "if", "in", "into",
    "is", "it", "its", "la", "las", "le", "lo", "los", "mas", "me", "my", "no", "not", "o", "of", "on", "or",
    "para", "pero", "por", "que", "quien", "s", "se", "shall", "si", "sin", "sobre", "son", "su", "such",
    "sus", "t", "than", "that", "the", "their", "then", "there", "these", "they", "this", "to", "u", "un",
    "una", "was", "were", "what", "which", "with", "y",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_in_order() {
        assert!(STOP.is_sorted());
    }

    #[test]
    fn codes_are_whole_and_found_by_their_beginnings() {
        assert_eq!(of_passage("LED lamps 8539.52.00", "en", &[]), "led lamp 8539.52.00 8539.52 8539");
        for written in ["8539.52.00.40", "8539.52.0040", "8539520040"] {
            let terms = of_question(written, &[]);
            assert_eq!(terms, ["8539.52.00.40", "8539.52.00", "8539.52", "8539", "=8539.52.00.40"]);
        }
        assert_eq!(of_question("21 CFR 1040.10", &[]), ["21", "cfr", "1040.10", "1040", "=1040.10"]);
        assert_eq!(of_passage("x", "en", &["8539.52".to_owned()]), "x =8539.52 =8539");
    }

    #[test]
    fn numbers_that_are_no_codes_stay_as_they_are() {
        assert_eq!(of_passage("3.9% of 1,200 in 2025/26", "en", &[]), "3.9 1,200 2025/26");
    }

    #[test]
    fn words_lose_case_accents_and_endings() {
        let passage = of_passage("Los aranceles de importación, según la resolución", "es", &[]);
        for question in ["arancel", "importacion", "ARANCELES", "IMPORTACIÓN"] {
            let terms = of_question(question, &["es".to_owned()]);
            let fits = |term: &String| passage.split(' ').any(|other| other == term);
            assert!(terms.iter().any(fits), "none of {terms:?} is in {passage}");
        }
    }

    #[test]
    fn a_document_of_an_unknown_language_is_found_by_its_words() {
        let passage = of_passage("Regulamentul privind importurile", "", &[]);
        let terms = of_question("importurile", &["en".to_owned(), "es".to_owned()]);
        assert!(terms.iter().any(|term| passage.split(' ').any(|word| word == term)), "{terms:?}");
    }

    #[test]
    fn a_hyphenated_word_is_found_whole_and_by_its_parts() {
        assert_eq!(of_passage("Christmas-tree", "en", &[]), "christma tree christmastre");
    }
}
