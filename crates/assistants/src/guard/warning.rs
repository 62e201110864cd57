//! What the guard finds, in words, in the language of whoever asks.

use ibid_core::answer::{Warning, WarningKind};

use crate::language::Language;

/// A warning in the words of a language.
pub(crate) fn warning(kind: WarningKind, language: Language, english: String, spanish: String) -> Warning {
    let text = match language {
        Language::English => english,
        Language::Spanish => spanish,
    };
    Warning { kind, text, about: None }
}

/// The same, about some words of the answer.
pub(super) fn warning_about(warning: Warning, words: impl Into<String>) -> Warning {
    Warning { about: Some(words.into()), ..warning }
}
