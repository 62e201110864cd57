//! The files of languages: what ibid itself says in a conversation, and the words by which it understands a message
//! without a model. A new language is a file in `languages` and its row here.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

/// One language.
pub(crate) struct Catalogue {
    /// By ISO 639-1.
    pub(crate) code: &'static str,
    /// By ISO 639-3, as the detector has it.
    pub(crate) iso639_3: String,
    /// As prompts name it.
    pub(crate) english_name: String,
    /// What ibid says.
    pub(crate) texts: Texts,
    /// What people say.
    pub(crate) words: Words,
    /// How people speak of amounts.
    pub(crate) amounts: Amounts,
}

/// What ibid says, with places for values in braces.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Texts {
    pub(crate) unknown_phrase: String,
    pub(crate) unknown: String,
    pub(crate) unknown_after_failures: String,
    pub(crate) searched_for: String,
    pub(crate) searched_and_read: String,
    pub(crate) withheld: String,
    pub(crate) taken_for_chat: String,
    pub(crate) general_knowledge: String,
    pub(crate) cut_off: String,
    pub(crate) unknown_source: String,
    pub(crate) source_does_not_say: String,
    pub(crate) no_source_says: String,
    pub(crate) nothing_cited: String,
    pub(crate) other_page: String,
    pub(crate) page_does_not_say: String,
    pub(crate) value_in_no_source: String,
    pub(crate) value_in_question_only: String,
    pub(crate) wrong_column: String,
    pub(crate) wrong_row: String,
    pub(crate) other_row: String,
    pub(crate) wrong_unit: String,
    pub(crate) says_otherwise: String,
    pub(crate) wrong_arithmetic: String,
    pub(crate) unsupported: String,
    pub(crate) several_unsupported: String,
    pub(crate) unsupported_mark: String,
    pub(crate) does_not_answer: String,
    pub(crate) does_not_answer_missing: String,
    pub(crate) best_round: String,
    pub(crate) may_search_web: String,
    pub(crate) may_call_tools: String,
    pub(crate) similar_answer: String,
    pub(crate) options_found: String,
    pub(crate) options_all: String,
    pub(crate) options_none: String,
    pub(crate) options_relaxed: String,
    pub(crate) options_nothing_asked: String,
    pub(crate) options_no_catalogue: String,
    pub(crate) name_unclear: String,
    pub(crate) name_unknown: String,
    pub(crate) without_field: String,
    pub(crate) which_car: String,
    pub(crate) no_car: String,
    pub(crate) financing: String,
    pub(crate) financing_least: String,
    pub(crate) financing_terms: String,
    pub(crate) financing_source: String,
    pub(crate) financing_months: String,
    pub(crate) months: String,
    pub(crate) instalment: String,
    pub(crate) last_instalment: String,
    pub(crate) total: String,
    pub(crate) interest: String,
    pub(crate) help: String,
    pub(crate) at_most: String,
    pub(crate) at_least: String,
}

/// How people speak of amounts, without case and accents.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Amounts {
    /// What stands around a number (#) that is the most.
    pub(crate) at_most: Vec<String>,
    /// What stands around a number that is the least.
    pub(crate) at_least: Vec<String>,
    /// What leads a number that is too much.
    pub(crate) before: Vec<String>,
    /// What leads a number that is too little.
    pub(crate) after: Vec<String>,
    /// What leads a number that need not be exact.
    pub(crate) around: Vec<String>,
    /// What stands between the ends of a range.
    pub(crate) to: Vec<String>,
    /// What stands between the words of a number, and between names.
    pub(crate) and: Vec<String>,
    /// What stands between names of which any will do.
    pub(crate) or: Vec<String>,
    /// What says that something does not matter.
    pub(crate) any: Vec<String>,
    /// What makes an exception.
    pub(crate) but: Vec<String>,
    /// What leads names that are not wanted.
    pub(crate) not: Vec<String>,
    /// What multiplies by a thousand.
    pub(crate) thousand: Vec<String>,
    /// What multiplies by a million.
    pub(crate) million: Vec<String>,
    /// What halves.
    pub(crate) half: Vec<String>,
    /// What stands after a share of a hundred.
    pub(crate) percent: Vec<String>,
    /// What counts years.
    pub(crate) years: Vec<String>,
    /// Words for places in a list: the first, the second; the last has 0.
    pub(crate) places: BTreeMap<String, u32>,
    /// Words for what was spoken of last.
    pub(crate) that: Vec<String>,
    /// Numbers in words.
    pub(crate) numbers: BTreeMap<String, u32>,
}

/// What people say, without case and accents.
pub(crate) struct Words {
    /// Letters and marks that none of the others has.
    pub(crate) letters: Vec<char>,
    /// The commonest words.
    pub(crate) common: Vec<String>,
    /// What a question begins with.
    pub(crate) questions: Vec<String>,
    /// What takes up the message before.
    pub(crate) replies: Vec<String>,
    /// What asks for a document, wherever it stands.
    pub(crate) documents: Vec<String>,
    /// What asks for a document at the beginning of a message.
    pub(crate) requests: Vec<String>,
    /// A whole message that is only said in passing.
    pub(crate) smalltalk: Regex,
    /// What says nothing in a question.
    pub(crate) fillers: Vec<String>,
    /// What may lead what a question is about.
    pub(crate) prepositions: Vec<String>,
    /// What is said before and after a question.
    pub(crate) asides: Vec<String>,
    /// Words that mean the same, in groups.
    pub(crate) same: Vec<Vec<String>>,
}

const FILES: [(&str, &str); 3] = [
    ("en", include_str!("../../languages/en.toml")),
    ("es", include_str!("../../languages/es.toml")),
    ("pt", include_str!("../../languages/pt.toml")),
];

/// All languages; the first one is for those that have no file.
#[expect(clippy::expect_used, reason = "the files are part of the program and tested")]
pub(crate) static CATALOGUES: LazyLock<Vec<Catalogue>> = LazyLock::new(|| {
    FILES
        .iter()
        .map(|(code, text)| read(code, text).expect("a file of a language that can be read"))
        .collect()
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "name")]
    _name: String,
    english_name: String,
    iso639_3: String,
    texts: Texts,
    words: WordLists,
    amounts: Amounts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordLists {
    letters: String,
    common: String,
    questions: String,
    replies: String,
    documents: Vec<String>,
    requests: Vec<String>,
    smalltalk: String,
    fillers: String,
    prepositions: String,
    asides: Vec<String>,
    same: Vec<String>,
}

fn read(code: &'static str, text: &str) -> Result<Catalogue, String> {
    let File { english_name, iso639_3, texts, words, amounts, .. } =
        toml::from_str(text).map_err(|error| error.to_string())?;
    let list = |words: &str| words.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let smalltalk = format!("(?x)^(?:{})$", words.smalltalk);
    let words = Words {
        letters: words.letters.chars().collect(),
        common: list(&words.common),
        questions: list(&words.questions),
        replies: list(&words.replies),
        documents: words.documents,
        requests: words.requests,
        smalltalk: Regex::new(&smalltalk).map_err(|error| error.to_string())?,
        fillers: list(&words.fillers),
        prepositions: list(&words.prepositions),
        asides: words.asides,
        same: words.same.iter().map(|group| list(group)).collect(),
    };
    Ok(Catalogue { code, iso639_3, english_name, texts, words, amounts })
}

/// A text with values in their places.
pub(crate) fn filled(text: &str, values: &[(&str, &dyn std::fmt::Display)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    // Values are looked at once, so that a brace in one is no place for another.
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((name, after)) = after.split_once('}') else { break };
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            filled.push_str(&value.to_string());
        }
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The places for values in each text of a file.
    fn places(text: &str) -> BTreeMap<String, BTreeSet<String>> {
        let file: toml::Table = toml::from_str(text).unwrap();
        let texts = file["texts"].as_table().unwrap().iter();
        texts
            .map(|(name, text)| {
                let parts = text.as_str().unwrap().split('{').skip(1);
                (name.clone(), parts.map(|part| part.split('}').next().unwrap().to_owned()).collect())
            })
            .collect()
    }

    #[test]
    fn every_language_has_every_text_with_the_same_values() {
        for (code, text) in FILES {
            if let Err(error) = read(code, text) {
                panic!("languages/{code}.toml: {error}");
            }
            assert_eq!(places(text), places(FILES[0].1), "languages/{code}.toml");
        }
        let missing = FILES[1].1.replace("cut_off", "cut_of");
        assert!(read("es", &missing).err().unwrap().contains("cut_of"));
    }

    #[test]
    fn values_are_put_in_their_places_once() {
        assert_eq!(filled("{a} and {b}", &[("a", &"{b}"), ("b", &2)]), "{b} and 2");
    }
}
