//! The language that a person writes in, as far as the prompts need to know it.

use serde::{Deserialize, Serialize};

/// A language that there are prompts in. Answers are in the language of the question, whichever it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// English, and every other language.
    #[default]
    English,
    /// Spanish.
    Spanish,
}

const SPANISH: [&str; 36] = [
    "el", "la", "los", "las", "de", "del", "que", "qué", "cual", "cuál", "cuáles", "cómo", "cuánto",
    "cuándo", "dónde", "quién", "y", "en", "un", "una", "es", "son", "por", "para", "con", "se", "sobre",
    "según", "hola", "gracias", "hay", "puedo", "debe", "sin", "al", "está",
];
const ENGLISH: [&str; 32] = [
    "the", "of", "what", "which", "how", "is", "are", "and", "to", "in", "for", "from", "on", "by", "with",
    "does", "do", "a", "an", "when", "where", "who", "can", "must", "it", "that", "this", "hello", "thanks",
    "any", "hi", "you",
];

impl Language {
    /// The language of a message, by its commonest words.
    pub fn of(text: &str) -> Self {
        if text.contains(['¿', '¡']) {
            return Self::Spanish;
        }
        let text = text.to_lowercase();
        let words = || text.split(|letter: char| !letter.is_alphabetic());
        let spanish = words().filter(|word| SPANISH.contains(word) || word.contains('ñ')).count();
        let english = words().filter(|word| ENGLISH.contains(word)).count();
        if spanish > english { Self::Spanish } else { Self::English }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_a_message_is_told_by_its_words() {
        for text in ["What duty applies to LED lamps from China?", "And 8539.52?", "hello", ""] {
            assert_eq!(Language::of(text), Language::English, "{text}");
        }
        for text in
            ["¿Y para Chile?", "hola", "cuales son los requisitos para operar", "que dice la ley sobre datos"]
        {
            assert_eq!(Language::of(text), Language::Spanish, "{text}");
        }
    }
}
