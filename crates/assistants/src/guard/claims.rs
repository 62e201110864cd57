//! The codes, rates, amounts and dates of an answer that no source has.

use std::collections::BTreeSet;

use ibid_core::answer::{Warning, WarningKind};

use super::lines::pieces;
use super::marks;
use super::values::{Value, Worth, agree, claimed, values};
use super::warning::{warning, warning_about};
use crate::language::Language;
use crate::source::Source;

/// Values that stand so close together are marked together.
const LONGEST_MARKED: usize = 60;

/// What of an answer's codes, rates, amounts and dates is in no source that it cites: one warning for each sentence. What the
/// person has said may be said again, except for codes and rates: who asks whether it is 3.9 % has not said that it is.
pub(super) fn unborne_values(
    claims: &str,
    sources: &[Source],
    cited: &BTreeSet<u32>,
    said: &str,
    language: Language,
) -> Vec<Warning> {
    let mut borne = Vec::new();
    for source in sources.iter().filter(|source| cited.contains(&source.number)) {
        borne.extend(values(source.text()));
        borne.extend(values(&source.over()));
    }
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
