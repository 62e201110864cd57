//! What the guard finds, in words, in the language of whoever asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::language::Language;

/// Something that the guard found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// What kind of thing.
    pub kind: WarningKind,
    /// In words.
    pub text: String,
    /// The words of the answer that it is about, if it is about some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// Kinds of warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// A source is cited that there is not. The citation is taken out.
    UnknownSource,
    /// A page is cited that does not have the words.
    WrongPage,
    /// The quoted words are not in the source.
    QuoteNotFound,
    /// A number, code or date of the answer is in no source that it cites.
    ValueNotFound,
    /// Nothing is cited.
    NothingCited,
    /// It was taken for chat, and nothing was looked up.
    NotFromDocuments,
    /// The model reached its limit of tokens.
    CutOff,
}

impl Warning {
    /// A warning in the words of a language.
    pub(crate) fn new(kind: WarningKind, language: Language, english: String, spanish: String) -> Self {
        let text = match language {
            Language::English => english,
            Language::Spanish => spanish,
        };
        Self { kind, text, about: None }
    }

    /// The same, about some words of the answer.
    pub(crate) fn about(mut self, words: impl Into<String>) -> Self {
        self.about = Some(words.into());
        self
    }
}
