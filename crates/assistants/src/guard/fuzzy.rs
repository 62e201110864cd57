//! Quotations that differ from the page in slips of spelling and in articles, and in nothing that matters.

use std::ops::Range;

use super::bare::Bare;

/// What of the quoted words may differ: one in so many.
const ONE_IN: usize = 7;
/// A word or two that are spelt otherwise are other words.
const LEAST_WORDS: usize = 3;
/// In shorter words a slip makes another word.
const LEAST_LETTERS: usize = 6;

/// Words that may be missing or added.
const ARTICLES: [&str; 10] = ["the", "a", "an", "el", "la", "los", "las", "un", "una", "lo"];

/// Where the words stand with the fewest differences, if they are few and none that matters: in which text, and where.
pub(super) fn fuzzily(part: &Bare, texts: &[&Bare]) -> Option<(usize, Range<usize>)> {
    let quoted = part.words();
    if quoted.len() < LEAST_WORDS {
        return None;
    }
    let most = (quoted.len() / ONE_IN).max(1);
    let found = texts.iter().enumerate().filter_map(|(index, text)| {
        let words = text.words();
        let (differences, range) = aligned(&quoted, &words)?;
        let letters = words[range.start].1.start..words[range.end - 1].1.end;
        let fits = differences <= most && !text.is_negated(letters.start);
        fits.then(|| (differences, index, text.in_text(&letters)))
    });
    found.min_by_key(|(differences, ..)| *differences).map(|(_, index, span)| (index, span))
}

type Words = [(String, Range<usize>)];

/// Lays the quoted words along a text, which may begin and end anywhere in it. Says how many differ and which words
/// of the text they lie along; none if a word would have to differ that matters.
fn aligned(quoted: &Words, words: &Words) -> Option<(usize, Range<usize>)> {
    const NEVER: usize = usize::MAX / 2;
    // For each word of the text: the differences so far when the quotation ends before it, and where it began.
    let mut row: Vec<(usize, usize)> = (0..=words.len()).map(|at| (0, at)).collect();
    for (quote, _) in quoted {
        let extra = if is_article(quote) { 1 } else { NEVER };
        let mut next = vec![(row[0].0.saturating_add(extra), row[0].1)];
        for (at, (word, _)) in words.iter().enumerate() {
            let here = if quote == word {
                0
            } else if is_respelt(quote, word) {
                1
            } else {
                NEVER
            };
            let left_out = if is_article(word) { 1 } else { NEVER };
            let ways = [
                (row[at].0.saturating_add(here), row[at].1),
                (row[at + 1].0.saturating_add(extra), row[at + 1].1),
                (next[at].0.saturating_add(left_out), next[at].1),
            ];
            next.push(ways.into_iter().min_by_key(|way| way.0)?);
        }
        row = next;
    }
    let (end, (differences, start)) =
        row.into_iter().enumerate().min_by_key(|(end, (differences, start))| (*differences, end - start))?;
    (differences < NEVER && start < end).then_some((differences, start..end))
}

fn is_article(word: &str) -> bool {
    ARTICLES.contains(&word)
}

/// Whether two words are one with a slip: two letters exchanged, or one left out or doubled, within the word. Another
/// letter makes another word, as in employer and employee; and a number is never a slip of another.
fn is_respelt(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (shorter, longer) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
    let numeric = one.iter().chain(&other).any(|letter| letter.is_numeric());
    if numeric || shorter.len() < LEAST_LETTERS || one.first() != other.first() || one.last() != other.last()
    {
        return false;
    }
    let same = shorter.iter().zip(longer).take_while(|(one, other)| one == other).count();
    match longer.len() - shorter.len() {
        0 => {
            let exchanged = |at: usize| shorter[at] == longer[at + 1] && shorter[at + 1] == longer[at];
            same + 1 < shorter.len() && exchanged(same) && shorter[same + 2..] == longer[same + 2..]
        }
        1 => shorter[same..] == longer[same + 1..],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_no_other_word() {
        for (one, other) in [("articles", "articels"), ("imported", "imorted"), ("occurred", "ocurred")] {
            assert!(is_respelt(one, other), "{one} {other}");
        }
        let others = [
            ("employer", "employee"),
            ("imported", "exported"),
            ("prescribed", "proscribed"),
            ("article", "articles"),
            ("payer", "payee"),
        ];
        for (one, other) in others {
            assert!(!is_respelt(one, other), "{one} {other}");
        }
    }
}
