//! The parts of a sentence that each say something of their own, and the values that they claim.

use std::ops::Range;
use std::sync::LazyLock;

use ibid_core::value::{Value, Worth, claimed};
use regex::Regex;

use super::super::pattern;
use super::subject::Subjects;

/// A value that a clause claims.
#[derive(Clone)]
pub(super) struct Claim {
    pub(super) worth: ClaimedValue,
    pub(super) written: String,
    /// Where it stands in its clause.
    pub(super) stands: Range<usize>,
}

/// What is claimed.
#[derive(Clone)]
pub(super) enum ClaimedValue {
    /// A number, a share, a day.
    Quantity(Value),
    /// That something is free.
    Free,
}

/// What may part two clauses.
static PARTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:;\s|,\s|\s(?:and|but|while|whereas|versus|vs\.?|y|e|pero|mientras(?:\sque)?|frente\sa|mas|enquanto)\s)",
    )
});

static FREE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:free|duty-free|libre|exent[oa]|gratis|livre|isent[oa])\b"));

/// Whether a cell says that something is free.
pub(super) fn is_free(cell: &str) -> bool {
    FREE.find(cell).is_some_and(|found| found.start() == 0)
}

/// The clauses of a sentence, each with where it begins: it is cut where both sides claim a value.
pub(super) fn clauses<'a>(sentence: &'a str, subjects: &Subjects) -> Vec<(usize, &'a str)> {
    let claims = claims_of(sentence, subjects);
    let mut cut = Vec::new();
    let mut begins = 0;
    for part in PARTS.find_iter(sentence) {
        let inside =
            claims.iter().any(|claim| claim.stands.start < part.end() && part.start() < claim.stands.end);
        let before = claims.iter().any(|claim| (begins..part.start()).contains(&claim.stands.start));
        let after = claims.iter().any(|claim| claim.stands.start >= part.end());
        if before && after && !inside {
            cut.push((begins, &sentence[begins..part.start()]));
            begins = part.end();
        }
    }
    cut.push((begins, &sentence[begins..]));
    cut
}

/// The values that a clause claims: not the codes and names of rows and columns in it.
pub(super) fn claims_of(clause: &str, subjects: &Subjects) -> Vec<Claim> {
    let values = claimed(clause).into_iter().filter(|value| !subjects.is_name(clause, value));
    let values = values.filter(|value| !matches!(value.worth, Worth::Code(_)));
    let mut claims: Vec<Claim> = values
        .map(|value| Claim {
            written: value.written.clone(),
            stands: value.stands.clone(),
            worth: ClaimedValue::Quantity(value),
        })
        .collect();
    if subjects.has_free {
        claims.extend(FREE.find_iter(clause).map(|found| Claim {
            worth: ClaimedValue::Free,
            written: found.as_str().to_owned(),
            stands: found.range(),
        }));
    }
    claims.sort_by_key(|claim| claim.stands.start);
    claims
}
