//! What a person means by a number: "200 mil", "menos de 200", "2018 o más nuevo", "around 15k", "más barato".

use std::sync::LazyLock;

use ibid_core::value::Decimal;
use regex::Regex;

use crate::definition::{NumberAlone, NumberField};
use crate::language::{Amounts, CATALOGUES, folded};

/// What a person wants of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberWish {
    /// A number in a range, both ends included.
    Range(Option<Decimal>, Option<Decimal>),
    /// Less than what was shown.
    Lower,
    /// More than what was shown.
    Higher,
    /// The least there is.
    Lowest,
    /// The most there is.
    Highest,
}

/// What stands before or after a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    AtMost,
    AtLeast,
    Before,
    After,
    Around,
}

static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the pattern is written here and tested")]
    Regex::new(r"\d+(?:[.,'\u{a0}]\d+)*|\p{L}+|[<>=~+%–-]").expect("a pattern that can be read")
});

/// A number in a text.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Found {
    number: Decimal,
    /// Whether it says itself that it counts thousands or millions.
    is_scaled: bool,
}

/// Reads what a person says of a field. None if there is nothing to be read.
pub(crate) fn read(words: &str, field: &NumberField) -> Option<NumberWish> {
    let text = folded(words);
    let (numbers, shape) = numbers_in(&text);
    if numbers.is_empty() {
        return direction(&shape, field);
    }
    let scaled = |found: &Found| scale(*found, field);
    if let [first, second, ..] = numbers.as_slice()
        && is_range(&shape)
    {
        let mut first = *first;
        // "150 a 200 mil" are 150 thousand.
        let small = Decimal::from(1000);
        if second.is_scaled && !first.is_scaled && first.number < small && second.number >= small {
            first.number = first.number.times(small)?;
            first.is_scaled = true;
        }
        let (one, other) = (scaled(&first), scaled(second));
        return Some(NumberWish::Range(Some(one.min(other)), Some(one.max(other))));
    }
    let number = scaled(numbers.first()?);
    let exactly = || Some(NumberWish::Range(Some(number), Some(number)));
    let one = Decimal::from(1);
    match bound(&shape) {
        Some(Bound::AtMost) => Some(NumberWish::Range(None, Some(number))),
        Some(Bound::AtLeast) => Some(NumberWish::Range(Some(number), None)),
        Some(Bound::Before) => Some(NumberWish::Range(None, number.plus(one.negated()))),
        Some(Bound::After) => Some(NumberWish::Range(number.plus(one), None)),
        Some(Bound::Around) => around(number, field),
        None => match field.alone {
            NumberAlone::Exactly => exactly(),
            NumberAlone::AtMost => Some(NumberWish::Range(None, Some(number))),
            NumberAlone::AtLeast => Some(NumberWish::Range(Some(number), None)),
            NumberAlone::Around => around(number, field),
        },
    }
}

/// The one number in a text, read as those of a field are.
pub(crate) fn number_in(words: &str, field: &NumberField) -> Option<Decimal> {
    let (numbers, _) = numbers_in(&folded(words));
    numbers.first().map(|found| scale(*found, field))
}

/// All numbers in a text, read as those of a field are.
pub(crate) fn numbers_of(words: &str, field: &NumberField) -> Vec<Decimal> {
    let (numbers, _) = numbers_in(&folded(words));
    numbers.iter().map(|found| scale(*found, field)).collect()
}

/// All whole numbers in a text, as they are.
pub(crate) fn whole_numbers_in(words: &str) -> Vec<u32> {
    let (numbers, _) = numbers_in(&folded(words));
    numbers.iter().filter_map(|found| u32::try_from(found.number.scaled(0)?).ok()).collect()
}

fn around(number: Decimal, field: &NumberField) -> Option<NumberWish> {
    let share = Decimal::of_digits(field.around_percent.into(), 2);
    let part = number.times(share)?;
    Some(NumberWish::Range(number.plus(part.negated()), number.plus(part)))
}

fn scale(found: Found, field: &NumberField) -> Decimal {
    let below = Decimal::from(i128::from(field.thousands_below));
    if found.is_scaled || found.number >= below {
        return found.number;
    }
    found.number.times(Decimal::from(1000)).unwrap_or(found.number)
}

fn amounts() -> impl Iterator<Item = &'static Amounts> {
    CATALOGUES.iter().map(|language| &language.amounts)
}

fn any(list: impl Fn(&Amounts) -> &[String], word: &str) -> bool {
    amounts().any(|amounts| list(amounts).iter().any(|known| known == word))
}

/// The numbers of a text, and the text with a sign in the place of each.
fn numbers_in(text: &str) -> (Vec<Found>, String) {
    let tokens: Vec<&str> = TOKENS.find_iter(text).map(|token| token.as_str()).collect();
    let (mut found, mut shape) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        match number_at(&tokens[at..]) {
            Some((number, length)) => {
                found.push(number);
                shape.push("#");
                at += length;
            }
            None => {
                shape.push(tokens[at]);
                at += 1;
            }
        }
    }
    (found, format!(" {} ", shape.join(" ")))
}

/// The number that some tokens begin with, and how many of them it takes.
fn number_at(tokens: &[&str]) -> Option<(Found, usize)> {
    let first = tokens.first()?;
    let (mut number, mut length) = if first.starts_with(|letter: char| letter.is_ascii_digit()) {
        (digits(first)?, 1)
    } else {
        let (number, length) = spelt(tokens)?;
        (number, length)
    };
    let mut is_scaled = false;
    if let Some(word) = tokens.get(length) {
        let by = match *word {
            word if any(|amounts| &amounts.thousand, word) => Some(1_000),
            word if any(|amounts| &amounts.million, word) => Some(1_000_000),
            _ => None,
        };
        if let Some(by) = by {
            number = number.times(Decimal::from(by))?;
            (is_scaled, length) = (true, length + 1);
        }
    }
    // A number that is spelt out says how large it is.
    let is_large = number >= Decimal::from(1000);
    Some((Found { number, is_scaled: is_scaled || is_large }, length))
}

/// A number in digits: a mark before three of them parts thousands.
fn digits(token: &str) -> Option<Decimal> {
    let last = token.rfind(['.', ',']);
    let is_point = last.is_some_and(|last| {
        let mark = &token[last..=last];
        token.len() - last - 1 != 3 && !token[..last].contains(mark)
    });
    let (whole, part) = match last {
        Some(last) if is_point => (&token[..last], &token[last + 1..]),
        _ => (token, ""),
    };
    let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
    format!("{whole}.{part}").parse().ok()
}

/// A number in words, without thousands and millions, and how many words it takes.
fn spelt(tokens: &[&str]) -> Option<(Decimal, usize)> {
    let value = |word: &str| amounts().find_map(|amounts| amounts.numbers.get(word).copied());
    let (mut sum, mut length) = (0_u32, 0);
    while let Some(token) = tokens.get(length) {
        match value(token) {
            // "two hundred": what is before counts hundreds.
            Some(100) if (1..10).contains(&sum) => sum *= 100,
            Some(number) => sum += number,
            // "treinta y cinco"
            None if any(|amounts| &amounts.and, token)
                && sum > 0
                && tokens.get(length + 1).is_some_and(|next| value(next).is_some_and(|next| next < 100)) => {}
            None => break,
        }
        length += 1;
    }
    // "Un" alone is no number, but "un millón" is one.
    let next = tokens.get(length).copied().unwrap_or_default();
    let is_scale = any(|amounts| &amounts.thousand, next) || any(|amounts| &amounts.million, next);
    if length == 0 && any(|amounts| &amounts.thousand, tokens.first()?) {
        return Some((Decimal::from(1), 0));
    }
    let is_half = amounts().any(|amounts| amounts.half.iter().any(|half| half == tokens[0]));
    if is_half && length == 0 {
        // "Half a million"
        let article = usize::from(tokens.get(1).is_some_and(|word| *word == "a"));
        let next = tokens.get(1 + article)?;
        return any(|amounts| &amounts.million, next).then(|| (Decimal::of_digits(5, 1), 1 + article));
    }
    (length > 0 && (sum != 1 || is_scale)).then(|| (Decimal::from(i128::from(sum)), length))
}

fn is_range(shape: &str) -> bool {
    shape.contains(" # - # ")
        || shape.contains(" # \u{2013} # ")
        || amounts().any(|amounts| amounts.to.iter().any(|to| shape.contains(&format!(" # {to} # "))))
}

/// What stands around a number, by the longest phrase that is known.
fn bound(shape: &str) -> Option<Bound> {
    let mut best: Option<(usize, Bound)> = None;
    for amounts in amounts() {
        let lists = [
            (&amounts.at_most, Bound::AtMost),
            (&amounts.at_least, Bound::AtLeast),
            (&amounts.before, Bound::Before),
            (&amounts.after, Bound::After),
            (&amounts.around, Bound::Around),
        ];
        for (phrases, bound) in lists {
            let found = phrases.iter().filter(|phrase| shape.contains(&format!(" {phrase} ")));
            for phrase in found {
                if best.is_none_or(|(length, _)| phrase.len() > length) {
                    best = Some((phrase.len(), bound));
                }
            }
        }
    }
    best.map(|(_, bound)| bound)
}

/// What is wanted where no number is said.
fn direction(shape: &str, field: &NumberField) -> Option<NumberWish> {
    let lists = [
        (&field.lower, NumberWish::Lower),
        (&field.higher, NumberWish::Higher),
        (&field.lowest, NumberWish::Lowest),
        (&field.highest, NumberWish::Highest),
    ];
    let mut best: Option<(usize, NumberWish)> = None;
    for (phrases, wish) in lists {
        for phrase in phrases.iter().map(|phrase| folded(phrase)) {
            if shape.contains(&format!(" {phrase} ")) && best.is_none_or(|(length, _)| phrase.len() > length)
            {
                best = Some((phrase.len(), wish));
            }
        }
    }
    best.map(|(_, wish)| wish)
}
