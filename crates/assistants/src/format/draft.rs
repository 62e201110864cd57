//! What a model wrote, and what is read from it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ANSWER, AnswerFormat, CITATIONS, TEXT, fields};
use crate::language::{Texts, plain};

/// A citation as a model gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CitationDraft {
    /// The number of the source.
    pub source: u32,
    /// The page that the source names, or null.
    #[serde(default)]
    pub page: Option<u32>,
    /// A few words copied from the source, letter by letter.
    #[serde(default)]
    pub quote: String,
}

/// What a model wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// In which format.
    pub format: String,
    /// As it came.
    pub raw: String,
    /// Whether it was stopped before its end.
    #[serde(default)]
    pub partial: bool,
    /// Whether the model reached its limit of tokens.
    #[serde(default)]
    pub cut_off: bool,
}

/// A draft, read.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedAnswer {
    /// The answer in words.
    pub answer: String,
    /// What it cites, in fields of their own; a text cites in its words.
    pub cited: Vec<CitationDraft>,
    /// All its fields; null for a text, and for what was stopped half-way.
    pub fields: Value,
    /// Everything that it claims, in its words and in its other fields.
    pub claims: String,
    /// Whether it says that the sources do not hold the answer.
    pub unanswered: bool,
}

impl Draft {
    /// The answer in words, as far as it has come.
    pub fn answer(&self) -> String {
        if self.format == TEXT {
            self.raw.trim().to_owned()
        } else {
            answer_so_far(&self.raw).trim().to_owned()
        }
    }

    /// Reads it by its format.
    pub(crate) fn read(&self, format: &AnswerFormat, texts: &Texts) -> ParsedAnswer {
        // Small talk is text, whatever was asked for.
        let schema = format.schema().filter(|_| self.format != TEXT);
        let parsed: Option<Value> = schema.and_then(|_| serde_json::from_str(&self.raw).ok());
        let fields = parsed.filter(|fields| fields[ANSWER].is_string()).unwrap_or_default();
        let answer = fields[ANSWER].as_str().map_or_else(|| self.answer(), |answer| answer.trim().to_owned());
        let phrase = plain(&texts.unknown_phrase);
        let unanswered = answer.contains(SIGNAL) || plain(&answer).starts_with(&phrase);
        let answer = without_signal(&answer);
        let cited = serde_json::from_value(fields[CITATIONS].clone()).unwrap_or_default();
        let mut claims = answer.clone();
        if let Some(schema) = schema {
            fields::claims(schema, &fields, &mut claims);
        }
        ParsedAnswer { answer, cited, fields, claims, unanswered }
    }
}

/// By this mark a model says that the sources do not hold the answer, in whatever language: no source has the number 0.
const SIGNAL: &str = "[0]";

fn without_signal(answer: &str) -> String {
    answer.replace(" [0]", "").replace(SIGNAL, "").trim().to_owned()
}

/// As much of an answer as can be shown while it comes: without the signal, and without what may become one.
pub(crate) fn without_signal_so_far(answer: &str) -> Cow<'_, str> {
    let open = ["[0", "["].into_iter().find(|end| answer.ends_with(end));
    let shown = &answer[..answer.len() - open.map_or(0, str::len)];
    if shown.contains(SIGNAL) { Cow::Owned(shown.replace(SIGNAL, "")) } else { Cow::Borrowed(shown) }
}

/// As much of the answer as has come of a structured one: the field `answer`, which comes first.
pub(crate) fn answer_so_far(raw: &str) -> String {
    let field = raw.find("\"answer\"").map(|at| raw[at + "\"answer\"".len()..].trim_start());
    let text =
        field.and_then(|rest| rest.strip_prefix(':')).and_then(|rest| rest.trim_start().strip_prefix('"'));
    let Some(text) = text else { return String::new() };
    // To the quotation mark that ends it, or to the last whole character. Line breaks as they are, which JSON forbids and small
    // models write, are shown: what was shown once must not disappear.
    let (mut answer, mut rest) = (String::new(), text);
    while let Some(letter) = rest.chars().next().filter(|letter| *letter != '"') {
        let read = if letter == '\\' { escaped(rest) } else { Some((letter, &rest[letter.len_utf8()..])) };
        let Some((letter, behind)) = read else { break };
        answer.push(letter);
        rest = behind;
    }
    answer
}

/// The character that an escape means, and what stands behind it; none if it is not whole or means nothing.
fn escaped(text: &str) -> Option<(char, &str)> {
    let (escape, rest) = text.split_at_checked(2)?;
    let letter = match escape {
        "\\n" => '\n',
        "\\t" => '\t',
        "\\r" => '\r',
        "\\b" => '\u{8}',
        "\\f" => '\u{c}',
        "\\\"" => '"',
        "\\\\" => '\\',
        "\\/" => '/',
        "\\u" => return utf16(rest),
        _ => return None,
    };
    Some((letter, rest))
}

/// A character in four hexadecimal digits, or in two escapes of such.
fn utf16(text: &str) -> Option<(char, &str)> {
    let (first, rest) = text.split_at_checked(4)?;
    let unit = |digits: &str| u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
    if let Some(letter) = char::from_u32(unit(first)?.into()) {
        return Some((letter, rest));
    }
    let (second, rest) = rest.strip_prefix("\\u")?.split_at_checked(4)?;
    let letter = char::decode_utf16([unit(first)?, unit(second)?]).next()?.ok()?;
    Some((letter, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_shown_as_it_comes() {
        let raw = "{\n \"answer\": \"The rate is 2 %\\n\\u00e9 \\\"LED\\\" [1]\", \"citations\": [";
        let whole = "The rate is 2 %\né \"LED\" [1]";
        let mut last = String::new();
        for end in (0..=raw.len()).filter(|end| raw.is_char_boundary(*end)) {
            let now = answer_so_far(&raw[..end]);
            assert!(now.starts_with(&last) && whole.starts_with(&now), "{now:?} after {last:?}");
            last = now;
        }
        assert_eq!(last, whole);
    }

    #[test]
    fn what_was_shown_does_not_disappear_when_the_rest_is_no_json() {
        let cases = [
            ("a line\nof \\\"its\\\" own\", \"citations\": [", "a line\nof \"its\" own"),
            ("a smile \\ud83d\\ude00!\"", "a smile 😀!"),
            ("half of one \\ud83d and more", "half of one "),
            ("an \\ux escape", "an "),
            ("C:\\\\x\\/\\u00e9\\u+0e9", "C:\\x/é"),
        ];
        for (written, shown) in cases {
            assert_eq!(answer_so_far(&format!("{{\"answer\": \"{written}")), shown);
        }
    }
}
