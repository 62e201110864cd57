//! The codes, rates, amounts and dates of an answer that no source has.

use ibid_core::answer::{Warning, WarningKind};

use super::cells::is_share;
use super::lines::pieces;
use super::marks;
use super::warning::{warning, warning_about};
use crate::language::Language;
use crate::records;
use crate::source::Source;
use ibid_core::value::{Value, Worth, agree, claimed, values};

/// The values in some sources. A number in a column of shares is a share.
pub(super) fn borne_values(sources: &[&Source]) -> Vec<Value> {
    let mut borne = Vec::new();
    for source in sources {
        borne.extend(values(source.text()));
        borne.extend(values(&source.over()));
        for record in records::of(source) {
            // What a row has from the one that governs it may stand on another page.
            let inherited = record.cells.iter().filter(|cell| cell.is_inherited);
            borne.extend(inherited.flat_map(|cell| values(&cell.text)));
            let cells = record.cells.iter().enumerate();
            let shares = cells.filter(|(column, _)| record.columns.name(*column).is_some_and(is_share));
            borne.extend(shares.flat_map(|(_, cell)| values(&cell.text)).filter_map(Value::as_share));
        }
    }
    borne
}

/// Values that stand so close together are marked together.
const LONGEST_MARKED: usize = 60;

/// What of an answer's codes, rates, amounts and dates is in no source that it cites: one warning for each sentence. What the
/// person has said may be said again, except for codes and rates: who asks whether it is 3.9 % has not said that it is.
pub(super) fn unborne_values(claims: &str, borne: &[Value], said: &str, language: Language) -> Vec<Warning> {
    let (said, texts) = (values(said), language.texts());
    let mut missing: Vec<Value> = Vec::new();
    let mut warnings = Vec::new();
    let claims = marks::without(claims);
    for span in pieces(&claims) {
        let sentence = &claims[span];
        let mut unborne: Vec<Value> = Vec::new();
        let mut only_asked = true;
        for value in claimed(sentence) {
            let known = missing.iter().any(|other| other.worth == value.worth);
            if known || borne.iter().any(|source| agree(&value, source)) {
                continue;
            }
            let asked = said.iter().any(|said| agree(&value, said));
            let is_rule = matches!(value.worth, Worth::Code(_) | Worth::Percent(_));
            if asked && !is_rule {
                continue;
            }
            only_asked &= asked;
            missing.push(value.clone());
            unborne.push(value);
        }
        if let [first, .., last] | [first @ last] = unborne.as_slice() {
            let text = if only_asked { &texts.value_in_question_only } else { &texts.value_in_no_source };
            let all: Vec<&str> = unborne.iter().map(|value| value.written.trim()).collect();
            let found = warning(WarningKind::ValueNotFound, text, &[("value", &all.join(", "))]);
            let together = &sentence[first.stands.start..last.stands.end];
            let is_plain = together.len() <= LONGEST_MARKED && !together.contains(['*', '|', '_', '`']);
            warnings.push(warning_about(found, if is_plain { together } else { first.written.trim() }));
        }
    }
    warnings
}
