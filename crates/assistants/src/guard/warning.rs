//! What the guard finds, in words, in the language of the conversation.

use std::fmt::Display;

use ibid_core::answer::{Warning, WarningKind};

use crate::language::filled;

/// A warning in the words of a language, with values in their places.
pub(crate) fn warning(kind: WarningKind, text: &str, values: &[(&str, &dyn Display)]) -> Warning {
    Warning { kind, text: filled(text, values), about: None, cells: Vec::new() }
}

/// The same, about some words of the answer.
pub(crate) fn warning_about(warning: Warning, words: impl Into<String>) -> Warning {
    Warning { about: Some(words.into()), ..warning }
}
