//! A text without what a quotation may change: spacing, case, accents, punctuation, typography and the bars between
//! the cells of a table. What tells numbers apart stays.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Words that turn what follows into its opposite: who leaves one out does not quote.
const NEGATIONS: [&str; 12] =
    ["not", "no", "non", "nor", "never", "without", "except", "excluding", "sin", "excepto", "salvo", "ni"];

/// Whether a word turns what follows into its opposite.
pub(crate) fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word)
}

fn is_raised(character: char) -> bool {
    matches!(character, '\u{b9}' | '\u{b2}' | '\u{b3}' | '\u{2070}'..='\u{2079}')
}

/// The letters and digits of a text in their order, each with where it stands.
#[derive(Debug, Default)]
pub(super) struct Bare {
    letters: Vec<char>,
    /// Where each stands in the text, in bytes.
    stands: Vec<Range<usize>>,
    /// Whether a word or number begins with it.
    begins: Vec<bool>,
}

impl Bare {
    /// What a text says.
    pub(super) fn of(text: &str) -> Self {
        let mut bare = Self::default();
        let mut characters = text.char_indices().peekable();
        let (mut before, mut gap) = (' ', true);
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map_or(' ', |(_, next)| *next);
            let stands = at..at + character.len_utf8();
            let kept = match character {
                '%' | '$' | '\u{20ac}' | '\u{a3}' | '<' | '>' | '\u{2264}' | '\u{2265}' | '\u{b1}' => true,
                // A raised digit is an exponent after a number, and else points to a note.
                _ if is_raised(character) => before.is_ascii_digit(),
                _ if character.is_numeric() && !character.is_ascii_digit() => true,
                '.' | ',' | '/' => before.is_ascii_digit() && next.is_ascii_digit(),
                '-' | '\u{2212}' | '\u{2013}' => before.is_whitespace() && next.is_ascii_digit(),
                _ => false,
            };
            if kept {
                let character = if matches!(character, '\u{2212}' | '\u{2013}') { '-' } else { character };
                bare.push(character, stands, gap || !".,/".contains(character));
                gap = false;
            } else if is_raised(character) {
                continue;
            } else if !is_combining_mark(character) {
                let plain = std::iter::once(character).nfkd().flat_map(char::to_lowercase);
                let mut any = false;
                for letter in plain.filter(|letter| letter.is_alphanumeric()) {
                    let parts_numbers = gap && letter.is_ascii_digit();
                    if parts_numbers && bare.letters.last().is_some_and(char::is_ascii_digit) {
                        bare.push(' ', at..at, true);
                    }
                    bare.push(letter, stands.clone(), gap);
                    (gap, any) = (false, true);
                }
                gap |= !any;
            }
            before = character;
        }
        bare
    }

    fn push(&mut self, letter: char, stands: Range<usize>, begins: bool) {
        self.letters.push(letter);
        self.stands.push(stands);
        self.begins.push(begins);
    }

    /// Whether it says nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// How many letters it has.
    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    /// Whether a word or number begins at a letter, or the text ends there.
    pub(super) fn is_border(&self, at: usize) -> bool {
        self.begins.get(at).is_none_or(|begins| *begins)
    }

    /// Where the next word or number begins, when two numbers are parted here.
    pub(super) fn after_gap(&self, at: usize) -> usize {
        if self.letters.get(at) == Some(&' ') { at + 1 } else { at }
    }

    /// Whether the word before a letter turns what follows into its opposite.
    pub(super) fn is_negated(&self, at: usize) -> bool {
        let end = if at > 0 && self.letters[at - 1] == ' ' { at - 1 } else { at };
        let Some(start) = (0..end).rev().find(|start| self.begins[*start]) else { return false };
        let word: String = self.letters[start..end].iter().collect();
        is_negation(&word)
    }

    /// The longest beginning of a part, from a letter of it on, that stands in this text between whole words and is not
    /// turned into its opposite: where it ends in the part, and where it stands here.
    pub(super) fn longest(&self, part: &Self, from: usize) -> Option<(usize, Range<usize>)> {
        let mut best: Option<(usize, Range<usize>)> = None;
        for at in (0..self.len()).filter(|at| self.begins[*at]) {
            let pairs = self.letters[at..].iter().zip(&part.letters[from..]);
            let mut alike = pairs.take_while(|(own, wanted)| own == wanted).count();
            while alike > 0 && !(self.is_border(at + alike) && part.is_border(from + alike)) {
                alike -= 1;
            }
            let longer = best.as_ref().is_none_or(|(end, _)| from + alike > *end);
            if alike > 0 && longer && !self.is_negated(at) {
                best = Some((from + alike, at..at + alike));
            }
        }
        best
    }

    /// Where some of its letters stand in the text, in bytes.
    pub(super) fn in_text(&self, letters: &Range<usize>) -> Range<usize> {
        let first = self.stands.get(letters.start).map_or(0, |stands| stands.start);
        let last = letters.end.checked_sub(1).and_then(|last| self.stands.get(last));
        first..last.map_or(first, |stands| stands.end)
    }

    /// Where another text stands in this one, from whole word to whole word, not before `from`, and not turned into its
    /// opposite by the word before.
    pub(super) fn find(&self, other: &Self, from: usize) -> Option<Range<usize>> {
        let wanted = &other.letters;
        if wanted.is_empty() || wanted.len() > self.letters.len() {
            return None;
        }
        (from..=self.letters.len() - wanted.len())
            .find(|&at| {
                self.begins[at]
                    && self.letters[at..at + wanted.len()] == wanted[..]
                    && self.is_border(at + wanted.len())
                    && !self.is_negated(at)
            })
            .map(|at| at..at + wanted.len())
    }

    /// Its words and numbers with the letters that they are made of.
    pub(super) fn words(&self) -> Vec<(String, Range<usize>)> {
        let mut words: Vec<(String, Range<usize>)> = Vec::new();
        for (at, letter) in self.letters.iter().enumerate() {
            match words.last_mut() {
                Some((word, letters)) if !self.begins[at] => {
                    word.push(*letter);
                    letters.end = at + 1;
                }
                _ if *letter == ' ' => {}
                _ => words.push((letter.to_string(), at..at + 1)),
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(text: &str) -> String {
        Bare::of(text).letters.iter().collect()
    }

    #[test]
    fn what_a_quotation_may_change_is_gone_and_numbers_stay_apart() {
        assert_eq!(bare("The \u{201c}regula-\ntion\u{201d}, Año"), "theregulationano");
        assert_eq!(bare("8539.52.00 | LED lamps | 2%"), "8539.52.00ledlamps2%");
        assert_ne!(bare("1 25"), bare("12 5"));
        assert_ne!(bare("2.5 %"), bare("25 %"));
        assert_ne!(bare("is -5"), bare("is 5"));
        assert_eq!(bare("\u{fb01}rst e\u{301}l"), "firstel");
        assert_ne!(bare("\u{bd} %"), bare("12 %"));
        assert_ne!(bare("10\u{b2}"), bare("102"));
        assert_eq!(bare("Free\u{b9} 20%"), bare("Free 20%"));
        assert_ne!(bare("\u{2264} 5 kg"), bare("\u{2265} 5 kg"));
    }

    #[test]
    fn a_part_is_found_between_whole_words_only() {
        let (text, quote) = (Bare::of("It imports LED  lamps."), Bare::of("led lamps"));
        let found = text.find(&quote, 0).unwrap();
        assert_eq!(text.in_text(&found), 11..21);
        assert_eq!(text.find(&Bare::of("ports LED"), 0), None);
    }
}
