//! Sums, differences, shares and means that an answer makes of values in its sources, made again.

use std::sync::LazyLock;

use ibid_core::answer::{Warning, WarningKind};
use ibid_core::value::{Decimal, Value, Worth, claimed};
use regex::Regex;

use super::lines::pieces;
use super::warning::{warning, warning_about};
use super::{marks, pattern};
use crate::language::Texts;

/// What is made of values and those that it is made of.
const FEWEST_VALUES: usize = 3;
/// More values in one sentence are a list.
const MOST_VALUES: usize = 12;
/// Shares are recomputed to so many places before they are rounded as the answer has them.
const EXACT: u32 = 12;

/// What an answer may have done with values.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Operation {
    Sum,
    Difference,
    Change,
    Share,
    Part,
    Mean,
    Product,
}

/// The words that tell of an operation.
static WORDS: LazyLock<Vec<(Operation, Regex)>> = LazyLock::new(|| {
    let words = [
        (
            Operation::Sum,
            r"sum|total\w*|together|combined|altogether|adds? up|added|suma\w*|juntos|juntas|conjunto|en total|soma\w*",
        ),
        (
            Operation::Difference,
            r"difference|gap|more|less|fewer|higher|lower|exceed\w*|above|below|greater|diferencia|m[a\u{e1}]s|menos|mayor|menor|supera\w*|encima|debajo|diferen[c\u{e7}]a",
        ),
        (
            Operation::Change,
            r"increase\w*|rise|rose|risen|gr[eo]w\w*|growth|fell|fall\w*|decrease\w*|drop\w*|declin\w*|chang\w*|aument\w*|crec\w*|subi\w*|baj\w*|cay\w*|ca[i\u{ed}]da|redu\w*|disminu\w*|descen\w*",
        ),
        (
            Operation::Share,
            r"share|proportion|percent|per cent|percentage|parte|proporci[o\u{f3}]n|porcentaje|por ciento|representa\w*|represents?|accounts?",
        ),
        (Operation::Part, r"(?:%|percent|por ciento) (?:of|de|del)"),
        (Operation::Mean, r"average|mean|promedio|media|m[e\u{e9}]dia"),
        (Operation::Product, r"times|multiplied|each|product|veces|multiplicad\w*|cada un[oa]|producto"),
    ];
    let word = |(operation, words): (Operation, &str)| match operation {
        Operation::Part => (operation, pattern(&format!("(?i)(?:{words})"))),
        _ => (operation, pattern(&format!(r"(?i)\b(?:{words})\b"))),
    };
    words.into_iter().map(word).collect()
});

/// What was found out about the values that an answer has made of others.
pub(super) struct Recomputed {
    /// Those that are right.
    pub(super) right: Vec<Value>,
    /// Warnings of those that are wrong.
    pub(super) warnings: Vec<Warning>,
}

/// Makes the sums and shares of an answer again. `is_borne` says whether a value is in a source or was said, `is_name` whether
/// it belongs to the name of a row or column.
pub(super) fn recompute(
    claims: &str,
    is_borne: &dyn Fn(&Value) -> bool,
    is_name: &dyn Fn(&str, &Value) -> bool,
    texts: &Texts,
) -> Recomputed {
    let mut recomputed = Recomputed { right: Vec::new(), warnings: Vec::new() };
    let claims = marks::without(claims);
    for span in pieces(&claims) {
        let sentence = &claims[span];
        let is_operand = |value: &Value| !value.worth.readings().is_empty() && !is_name(sentence, value);
        let mut all: Vec<Value> = claimed(sentence).into_iter().filter(is_operand).collect();
        // A number that looks like a year is one where there are enough others.
        if all.iter().filter(|value| !value.is_year()).count() >= FEWEST_VALUES {
            all.retain(|value| !value.is_year());
        }
        let told: Vec<Operation> = WORDS
            .iter()
            .filter(|(_, words)| words.is_match(sentence))
            .map(|(operation, _)| *operation)
            .collect();
        if told.is_empty() || !(FEWEST_VALUES..=MOST_VALUES).contains(&all.len()) {
            continue;
        }
        let made = |operands: &[&Value], result: &Value| -> Vec<Decimal> {
            told.iter().flat_map(|operation| operation.of(operands, result)).collect()
        };
        let (borne, unborne): (Vec<&Value>, Vec<&Value>) = all.iter().partition(|value| is_borne(value));
        let [result] = unborne.as_slice() else {
            // What is right may stand in a source as well.
            recomputed.right.extend(all.iter().enumerate().filter_map(|(at, result)| {
                let others: Vec<&Value> = all
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != at)
                    .map(|(_, other)| other)
                    .collect();
                let is_made = made(&others, result).iter().any(|one| is_rounded(one, result));
                is_made.then(|| result.clone())
            }));
            continue;
        };
        let results = made(&borne, result);
        if results.iter().any(|one| is_rounded(one, result)) {
            recomputed.right.push((*result).clone());
        } else if let Some(right) = results.first() {
            let written: Vec<&str> = borne.iter().map(|value| value.written.trim()).collect();
            let places = result.worth.readings().first().map_or(2, |said| said.places().max(2));
            let sign = if matches!(result.worth, Worth::Percent(_)) { "%" } else { "" };
            let right = format!("{}{sign}", right.rounded(places));
            let value = result.written.trim();
            let values: [(&str, &dyn std::fmt::Display); 3] =
                [("value", &value), ("operands", &written.join(", ")), ("right", &right)];
            let found = warning(WarningKind::WrongArithmetic, &texts.wrong_arithmetic, &values);
            recomputed.warnings.push(warning_about(found, value));
        }
    }
    recomputed
}

/// Whether a value is a number, rounded as it is written.
fn is_rounded(exact: &Decimal, value: &Value) -> bool {
    value.worth.readings().iter().any(|said| exact.rounded(said.places()) == *said)
}

impl Operation {
    /// What it makes of some values, in every way that makes sense.
    fn of(self, operands: &[&Value], result: &Value) -> Vec<Decimal> {
        let numbers: Vec<Decimal> =
            operands.iter().filter_map(|value| value.worth.readings().first().copied()).collect();
        let is_share = matches!(result.worth, Worth::Percent(_));
        let sum = || numbers.iter().copied().map(Some).reduce(|one, other| one?.plus(other?)).flatten();
        let hundred = |number: Decimal| number.times(Decimal::from(100));
        let found: Vec<Option<Decimal>> = match (self, numbers.as_slice()) {
            (Self::Sum, _) => vec![sum()],
            (Self::Difference, [one, other]) => vec![one.apart(*other)],
            (Self::Change, [one, other]) if is_share && !matches!(operands[0].worth, Worth::Percent(_)) => {
                let of = |from: &Decimal| hundred(one.apart(*other)?)?.over(*from, EXACT);
                vec![of(one), of(other)]
            }
            (Self::Change, [one, other]) => vec![one.apart(*other)],
            (Self::Share, [one, other]) if is_share => {
                vec![
                    hundred(*one).and_then(|one| one.over(*other, EXACT)),
                    hundred(*other).and_then(|other| other.over(*one, EXACT)),
                ]
            }
            (Self::Part, [one, other]) if !is_share => {
                let product = one.times(*other).and_then(|product| product.over(Decimal::from(100), EXACT));
                vec![product]
            }
            (Self::Mean, [_, _, ..]) => {
                let count = Decimal::from(i128::try_from(numbers.len()).unwrap_or(i128::MAX));
                vec![sum().and_then(|sum| sum.over(count, EXACT))]
            }
            (Self::Product, [one, other]) => vec![one.times(*other)],
            _ => Vec::new(),
        };
        found.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    #[track_caller]
    fn check(answer: &str, expected: Option<bool>) {
        let known = ["12.5", "8.4", "20%", "1,500", "40", "50"];
        let is_borne = |value: &Value| known.contains(&value.written.trim());
        let found = recompute(answer, &is_borne, &|_, _| false, Language::english().texts());
        let told = match (found.right.is_empty(), found.warnings.is_empty()) {
            (false, true) => Some(true),
            (true, false) => Some(false),
            _ => None,
        };
        assert_eq!(told, expected, "{answer}: {:?}", found.warnings);
    }

    #[test]
    fn what_is_made_of_values_is_made_again() {
        check("North had 12.5 and South 8.4, together 20.9.", Some(true));
        check("North had 12.5 and South 8.4, together 21.9.", Some(false));
        check("La suma de 12.5 y 8.4 es 20,9.", Some(true));
        check("The difference between 12.5 and 8.4 is 4.1.", Some(true));
        check("The difference between 12.5 and 8.4 is 3.9.", Some(false));
        check("It grew from 40 to 50, an increase of 25%.", Some(true));
        check("It grew from 40 to 50, an increase of 22%.", Some(false));
        check("20% of 1,500 is 300.", Some(true));
        check("20% of 1,500 is 350.", Some(false));
        check("The average of 40 and 50 is 45.", Some(true));
        check("There are 40, 50 and 61 of them.", None);
        check("The sum of 40 and 50 in 2019 is 90.", Some(true));
    }
}
