//! Whether a value belongs to what a sentence says of it, where the source is prose: a sentence of the source that says the same
//! but for the value, its unit or its year.

use std::collections::BTreeSet;

use ibid_core::answer::WarningKind;
use ibid_core::value::{Value, Worth, agree, claimed};

use super::super::lines::pieces;
use super::clauses::{Claim, ClaimedValue};
use super::{subject, units};
use crate::records;
use crate::source::Source;

/// A sentence of a source says the same as one of the answer if it has this share of its words.
const SAME: f64 = 0.7;
/// Fewer words say too little to tell.
const FEWEST: usize = 4;
/// So many words in common with a sentence that has the value: it may be from there.
const FROM_HERE: usize = 2;

/// The sentences of prose in some sources.
pub(super) struct Prose(Vec<Sentence>);

struct Sentence {
    text: String,
    values: Vec<Value>,
    words: BTreeSet<String>,
}

/// What prose says to a value.
pub(super) enum Verdict {
    /// Nothing.
    Unclear,
    /// It has it so.
    Right,
    /// It says something else.
    Wrong { kind: WarningKind, says: String },
}

/// The words of a text that are no numbers.
fn plain(text: &str) -> BTreeSet<String> {
    subject::telling(text)
        .into_iter()
        .filter(|word| !word.chars().any(|letter| letter.is_ascii_digit()))
        .collect()
}

impl Prose {
    pub(super) fn of(sources: &[&Source]) -> Self {
        let mut all = Vec::new();
        for source in sources {
            let text = source.text();
            for span in pieces(text).filter(|span| !records::is_row(&text[span.clone()])) {
                let sentence = &text[span];
                all.push(Sentence {
                    text: sentence.to_owned(),
                    values: claimed(sentence),
                    words: plain(sentence),
                });
            }
        }
        Self(all)
    }

    /// What it says to a value in a sentence of the answer.
    pub(super) fn verdict(&self, said: &str, claim: &Claim) -> Verdict {
        let ClaimedValue::Quantity(value) = &claim.worth else { return Verdict::Unclear };
        let words = plain(said);
        let shared = |sentence: &Sentence| sentence.words.intersection(&words).count();
        let has = |sentence: &&Sentence| sentence.values.iter().any(|own| agree(value, own));
        let best = self.0.iter().max_by_key(|sentence| (shared(sentence), has(sentence)));
        let Some(best) =
            best.filter(|best| words.len() >= FEWEST && shared(best) as f64 >= SAME * words.len() as f64)
        else {
            let may_be = self.0.iter().filter(has).any(|sentence| shared(sentence) >= FROM_HERE);
            return if may_be { Verdict::Right } else { Verdict::Unclear };
        };
        if let Some(own) = best.values.iter().find(|own| agree(value, own)) {
            let after = best.text[own.stands.end..].split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            return match units::conflict(said, claim, &units::first_known([after.as_str()])) {
                Some((_, own)) => Verdict::Wrong { kind: WarningKind::WrongUnit, says: own },
                None => Verdict::Right,
            };
        }
        let like = |own: &&Value| match value.is_year() {
            true => own.is_year(),
            false => is_alike(&value.worth, &own.worth) && !own.is_year(),
        };
        let kind = if value.is_year() { WarningKind::WrongPeriod } else { WarningKind::WrongRow };
        let stands = self.0.iter().any(|sentence| has(&sentence));
        match best.values.iter().find(like).filter(|_| stands) {
            Some(own) => Verdict::Wrong { kind, says: own.written.trim().to_owned() },
            None => Verdict::Unclear,
        }
    }
}

fn is_alike(one: &Worth, other: &Worth) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}
