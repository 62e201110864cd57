//! The language of a conversation, told from what the person says in it.

mod catalogue;

use std::collections::HashMap;
use std::sync::LazyLock;

use ibid_core::{Message, Role};
use serde::{Serialize, Serializer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use catalogue::Catalogue;
pub(crate) use catalogue::{Amounts, CATALOGUES, Texts, filled};

/// How much the detector's word counts, beside one common word of a language.
const DETECTED: f32 = 0.9;
/// How much the language of the message before counts.
const CONTINUED: f32 = 1.5;
/// So many earlier messages of the person are looked at.
const MOST_EARLIER: usize = 6;

/// A language that ibid speaks. Answers are in the language of the question, whichever it is.
#[derive(Clone, Copy)]
pub struct Language(&'static Catalogue);

impl Language {
    /// The language that stands in for those that ibid does not speak.
    pub fn english() -> Self {
        Self(&CATALOGUES[0])
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        CATALOGUES.iter().map(Self)
    }

    /// By ISO 639-1.
    pub fn code(self) -> &'static str {
        self.0.code
    }

    /// Whether a word, in small letters, is one of its commonest.
    pub(crate) fn is_common(self, word: &str) -> bool {
        self.0.words.common.iter().any(|common| common == word)
    }

    /// Whether a word, in small letters, is one of the commonest of any of them.
    pub(crate) fn any_has_common(word: &str) -> bool {
        Self::all().any(|language| language.is_common(word))
    }

    /// Whether a word, in small letters and the singular, says nothing in a question.
    pub(crate) fn is_filler(self, word: &str) -> bool {
        self.0.words.fillers.iter().any(|filler| filler == word)
    }

    /// Whether a word may lead what a question is about.
    pub(crate) fn is_preposition(self, word: &str) -> bool {
        self.0.words.prepositions.iter().any(|preposition| preposition == word)
    }

    /// Whether a question begins with this word.
    pub(crate) fn asks(self, word: &str) -> bool {
        self.0.words.questions.iter().any(|question| question == word)
    }

    /// What is said before and after a question.
    pub(crate) fn asides(self) -> &'static [String] {
        &self.0.words.asides
    }

    /// The first of the words that mean the same as this one.
    pub(crate) fn same_word(self, word: &str) -> Option<&'static str> {
        let group = self.0.words.same.iter().find(|group| group.iter().any(|same| same == word))?;
        group.first().map(String::as_str)
    }

    /// What asks for a document, or names it as the one who says something.
    pub(crate) fn documents(self) -> &'static [String] {
        &self.0.words.documents
    }

    /// What ibid says in it.
    pub(crate) fn texts(self) -> &'static Texts {
        &self.0.texts
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.code() == other.code()
    }
}

impl Eq for Language {}

impl std::fmt::Debug for Language {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.code())
    }
}

impl Serialize for Language {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// What is known of the language of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spoken {
    /// The one in which ibid speaks.
    pub language: Language,
    /// Whether the person speaks it too; else the model finds out what that is.
    pub is_known: bool,
}

impl Spoken {
    /// The language of a message in its conversation: a short message says little by itself, and a clear one may change
    /// the language at any turn.
    pub fn of(history: &[Message], text: &str) -> Self {
        let earlier: Vec<&str> = history
            .iter()
            .filter(|message| message.role == Role::User)
            .map(|message| message.text.as_str())
            .collect();
        let start = earlier.len().saturating_sub(MOST_EARLIER);
        let mut spoken = None;
        for text in earlier[start..].iter().copied().chain([text]) {
            spoken = after(spoken, text);
        }
        spoken.unwrap_or(Self { language: Language::english(), is_known: false })
    }

    /// What a model is told to write in; empty if it has to find out.
    pub(crate) fn name(self) -> &'static str {
        if self.is_known { &self.language.0.english_name } else { "" }
    }
}

/// The language after one more message.
fn after(before: Option<Spoken>, text: &str) -> Option<Spoken> {
    let text_plain = plain(text);
    let words: Vec<&str> = text_plain.split(' ').collect();
    // A code or a number is in any language.
    if !words.iter().any(|word| word.len() > 1 && word.chars().all(char::is_alphabetic)) {
        return before;
    }
    let detected = whichlang::detect_language(text).three_letter_code();
    let mut scores = vec![0.0; CATALOGUES.len()];
    for languages in words.iter().filter_map(|word| COMMON.get(*word)) {
        for language in languages {
            // A word that several languages have tells less.
            scores[*language] += 1.0 / languages.len() as f32;
        }
    }
    let is_foreign = CATALOGUES.iter().all(|catalogue| catalogue.iso639_3 != detected)
        && scores.iter().all(|score| *score == 0.0)
        && words.len() > 2;
    if is_foreign {
        return Some(Spoken { language: Language::english(), is_known: false });
    }
    for (score, catalogue) in scores.iter_mut().zip(CATALOGUES.iter()) {
        if catalogue.iso639_3 == detected {
            *score += DETECTED;
        }
        if text.contains(catalogue.words.letters.as_slice()) {
            *score += DETECTED;
        }
        if before.is_some_and(|before| before.is_known && before.language.code() == catalogue.code) {
            *score += CONTINUED;
        }
    }
    let best = scores.iter().enumerate().rev().max_by(|(_, one), (_, other)| one.total_cmp(other));
    let (best, score) = best?;
    Some(Spoken { language: Language(&CATALOGUES[best]), is_known: *score > 0.0 })
}

/// The common words of all languages, with the languages that have them.
static COMMON: LazyLock<HashMap<&str, Vec<usize>>> = LazyLock::new(|| {
    let mut words: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, catalogue) in CATALOGUES.iter().enumerate() {
        for word in &catalogue.words.common {
            let languages = words.entry(word).or_default();
            if !languages.contains(&at) {
                languages.push(at);
            }
        }
    }
    words
});

/// A text without case and accents.
pub(crate) fn folded(text: &str) -> String {
    text.nfkd().filter(|letter| !is_combining_mark(*letter)).flat_map(char::to_lowercase).collect()
}

/// The words of a text without case, accents and punctuation, with one space between them.
pub(crate) fn plain(text: &str) -> String {
    let word = |word: &str| -> String {
        word.nfd().flat_map(char::to_lowercase).filter(|letter| letter.is_alphanumeric()).collect()
    };
    text.split_whitespace().map(word).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTIONS: [(&str, &str); 3] = [
        ("en", include_str!("questions/en.txt")),
        ("es", include_str!("questions/es.txt")),
        ("pt", include_str!("questions/pt.txt")),
    ];

    fn without_accents(text: &str) -> String {
        let plain = |letter: char| match plain(&letter.to_string()).chars().next() {
            Some(plain) if letter.is_uppercase() => plain.to_ascii_uppercase(),
            Some(plain) => plain,
            None => letter,
        };
        text.chars().filter(|letter| !['\u{bf}', '\u{a1}'].contains(letter)).map(plain).collect()
    }

    fn code(history: &[&str], text: &str) -> &'static str {
        let history: Vec<Message> = history.iter().map(|text| Message::user(*text)).collect();
        Spoken::of(&history, text).language.code()
    }

    /// Half of the questions without accents; the first question of each thread stands alone.
    #[test]
    fn the_language_of_short_questions_in_threads_is_told() {
        let (mut all, mut wrong, mut alone) = (0, Vec::new(), 0);
        for (language, questions) in QUESTIONS {
            let questions = questions.lines().enumerate().map(|(at, question)| {
                if at % 2 == 0 { without_accents(question) } else { question.to_owned() }
            });
            let questions: Vec<String> = questions.collect();
            for thread in questions.chunks(4) {
                for at in 0..thread.len() {
                    let history: Vec<&str> = thread[..at].iter().map(String::as_str).collect();
                    all += 1;
                    alone += usize::from(code(&[], &thread[at]) == language);
                    if code(&history, &thread[at]) != language {
                        wrong.push(format!("{language}: {}", thread[at]));
                    }
                }
            }
        }
        let share = 100.0 * (all - wrong.len()) as f32 / all as f32;
        println!(
            "{all} questions: {share:.1} % right in threads, {:.1} % alone; {wrong:#?}",
            100.0 * alone as f32 / all as f32
        );
        assert!(all >= 500 && share >= 98.0, "{share:.1} % of {all}: {wrong:#?}");
    }

    #[test]
    fn a_conversation_keeps_its_language_until_another_is_spoken() {
        assert_eq!(code(&[], "cuanto cuesta"), "es");
        assert_eq!(code(&[], "y a 48 meses?"), "es");
        assert_eq!(code(&["¿Qué lámparas hay?"], "8539.52?"), "es");
        assert_eq!(code(&["¿Qué lámparas hay?"], "LED"), "es");
        assert_eq!(code(&["¿Qué lámparas hay?", "8539.52"], "What is the rate?"), "en");
        assert_eq!(code(&["What is the rate?"], "e para o Brasil?"), "pt");
        assert_eq!(code(&[], "8539.52"), "en");
    }

    #[test]
    fn a_language_that_ibid_does_not_speak_is_left_to_the_model() {
        for text in [
            "Welcher Zollsatz gilt für Lampen?",
            "Quel est le délai pour les marchandises ?",
            "税率はいくらですか",
        ] {
            assert!(!Spoken::of(&[], text).is_known, "{text}");
        }
    }
}
