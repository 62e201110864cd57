//! How well a text describes a row: by what the row is called and by the headings over it, word for word or by their words.

use std::collections::BTreeSet;

use super::subject::{Label, telling};

/// What it counts that a row is called by a part of the text, that its name stands in the text, and that its words do.
const IS_PART: f64 = 5.0;
const STANDS: f64 = 3.0;
const WORDS: f64 = 1.5;
/// What it counts that a heading over it stands in the text; else the share of its words that does not counts against it.
const HEADING: f64 = 2.0;
/// A row is surely meant if it is called by a part of the text, and a heading over it stands there.
pub(super) const SURE: f64 = IS_PART + HEADING;
/// Of so many words one may be missing.
const MISSING: usize = 10;

/// A text that describes something.
pub(super) struct Description {
    said: BTreeSet<String>,
    whole: String,
    /// What stands between commas and the like, without words of columns before it.
    parts: Vec<String>,
}

impl Description {
    /// A text, in which some words only name columns.
    pub(super) fn of(text: &str, column_words: &BTreeSet<String>) -> Self {
        let parts = text.split([',', ';', ':', '(', ')', '"', '?', '.', '\u{201c}', '\u{201d}']);
        let parts = parts.flat_map(|part| [name(part), behind(part, column_words)]);
        Self { said: telling(text), whole: sequence(text), parts: parts.collect() }
    }

    /// How well it describes a row, and whether a heading over it stands in the text; none if the row is not called so.
    pub(super) fn fit(&self, label: &Label) -> Option<(f64, bool)> {
        let own = label.called.iter().filter_map(|name| self.named(name)).reduce(f64::max)?;
        let headings: Vec<f64> = label.headings.iter().map(|heading| self.headed(heading)).collect();
        Some((own + headings.iter().sum::<f64>(), headings.iter().any(|heading| *heading > 0.0)))
    }

    fn named(&self, called: &str) -> Option<f64> {
        let (words, as_said) = (telling(called), name(called));
        if words.is_empty() || is_rest(&words) {
            return None;
        }
        if self.parts.contains(&as_said) {
            return Some(IS_PART);
        }
        // One word stands anywhere.
        if words.len() < 2 {
            return None;
        }
        if self.whole.contains(&as_said) {
            return Some(STANDS);
        }
        (words.difference(&self.said).count() * MISSING <= words.len()).then_some(WORDS)
    }

    fn headed(&self, heading: &str) -> f64 {
        // The code of a heading, and the sign that it goes on, say nothing.
        let plain = match heading.split_once(' ') {
            Some((code, rest)) if code.starts_with(|first: char| first.is_ascii_digit()) => rest,
            _ => heading,
        };
        // A long one is cut within a word.
        let plain = match plain.strip_suffix('\u{2026}') {
            Some(cut) => cut.rsplit_once(' ').map_or(cut, |(whole, _)| whole),
            None => plain,
        };
        let (words, as_said) = (telling(plain), name(plain));
        let is_said = match words.len() {
            0 => return 0.0,
            _ if is_rest(&words) => return 0.0,
            1 => self.parts.contains(&as_said),
            _ => self.whole.contains(&as_said),
        };
        let missing = words.difference(&self.said).count() as f64 / words.len() as f64;
        if is_said { HEADING } else { -missing }
    }
}

/// Rows of the rest are called so; nobody asks for them by that.
fn is_rest(words: &BTreeSet<String>) -> bool {
    let word = words.first().filter(|_| words.len() == 1);
    word.is_some_and(|word| ["other", "otro", "otra", "demas", "outro", "outra"].contains(&word.as_str()))
}

/// A name as it is compared: without articles and the like before it.
fn name(text: &str) -> String {
    behind(text, &BTreeSet::new())
}

/// What stands behind words that tell nothing, or only what some words do.
fn behind(text: &str, words: &BTreeSet<String>) -> String {
    let all: Vec<&str> = text.split_whitespace().collect();
    let begins = all.iter().take_while(|word| telling(word).is_subset(words)).count();
    sequence(&all[begins..].join(" "))
}

/// The words of a text in their order, with a space around each.
fn sequence(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(" ".to_owned(), |all, word| all + &word.to_lowercase() + " ")
}
