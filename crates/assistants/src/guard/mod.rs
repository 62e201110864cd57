//! The guard over what an answer says: every citation is looked up, every quotation looked for, every value compared.

mod arithmetic;
mod attribution;
mod bare;
mod borrowed;
mod cells;
mod claims;
mod fuzzy;
mod lines;
mod marks;
mod pages;
pub mod quote;
mod rows;
mod sentences;
mod warning;

use std::collections::BTreeSet;
use std::fmt::Display;

use ibid_core::Scope;
use ibid_core::answer::{Citation, QuoteMatch, Warning, WarningKind};
use ibid_core::evidence::{EvidenceError, Index};
use ibid_core::value::{Value, agree, values};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::{CitationDraft, ParsedAnswer};
use crate::language::Language;
use crate::records;
use crate::source::{Origin, Source};
use arithmetic::recompute;
use attribution::{Attribution, attribute, unrelated, with_marks};
pub(crate) use bare::is_negation;
pub(crate) use cells::{AskedCells, unit_name};
use cells::{misplaced, names_in};
use claims::{borne_values, unborne_values};
pub(crate) use lines::pieces;
use pages::{About, Pages};
pub(crate) use sentences::{Sentences, marked, sentences};
pub(crate) use warning::{warning, warning_about};

/// What is done about what the guard finds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// It is told with the answer.
    #[default]
    Warn,
    /// The model is told and writes once more; what is found then is told with the answer.
    Repair,
    /// The answer is withheld.
    Block,
}

/// An answer after it was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerifiedAnswer {
    /// The answer, without marks of sources that there are not.
    pub answer: String,
    /// What it cites.
    pub citations: Vec<Citation>,
    /// What is wrong with it.
    pub warnings: Vec<Warning>,
}

#[expect(clippy::expect_used, reason = "the patterns are written in this folder and tested")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern that can be read")
}

/// Whether all values of some words are in a text, or were said by the person.
pub(crate) fn bears_out(text: &str, words: &str, said: &str, language: Language) -> bool {
    unborne_values(words, &values(text), said, language).is_empty()
}

/// Looks at an answer. `said` is what the person said: amounts and dates in it need no source.
///
/// # Errors
/// Fails when the pages that are cited cannot be read.
pub async fn check(
    index: &dyn Index,
    scope: &Scope,
    sources: &[Source],
    written: &ParsedAnswer,
    said: &str,
    language: Language,
) -> Result<VerifiedAnswer, EvidenceError> {
    let mut warnings = Vec::new();
    let texts = language.texts();
    let known: BTreeSet<u32> = sources.iter().map(|source| source.number).collect();
    let (mut answer, mut marks) = marks::read(&written.answer, &known);
    if marks.quoted.is_empty() && written.cited.is_empty() {
        let unrelated = unrelated(&answer, said, sources, language);
        let related = known.iter().filter(|number| !unrelated.contains(number)).copied().collect();
        let unknown = std::mem::take(&mut marks.unknown);
        (answer, marks) = marks::read(&written.answer, &related);
        marks.unknown = unknown;
    }
    for number in marks.unknown.iter().chain(written.cited.iter().map(|cited| &cited.source)) {
        if !known.contains(number) {
            let warning = warning(WarningKind::UnknownSource, &texts.unknown_source, &[("source", number)]);
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    let about = About { said, answer: &marks::without(&written.answer) };
    let mut pages = Pages::new(index, scope, language);
    let mut citations: Vec<Citation> = Vec::new();
    let mut cited = all_cited(&written.cited, &marks.cited);
    cited.retain(|cited| known.contains(&cited.source));
    for cited in cited {
        let Some(source) = sources.iter().find(|source| source.number == cited.source) else { continue };
        let citation = pages.of_source(source, &cited, &about, &mut warnings).await?;
        if citation.found == QuoteMatch::NotFound {
            let (source, quote) = (cited.source, cited.quote.trim());
            let values: [(&str, &dyn Display); 2] = [("source", &source), ("quote", &quote)];
            let found = warning(WarningKind::QuoteNotFound, &texts.source_does_not_say, &values);
            warnings.push(warning_about(found, quote));
        }
        citations.push(citation);
    }
    for (quote, of) in &marks.quoted {
        let known = |citation: &Citation| citation.quoted == *quote;
        if said.contains(quote.as_str()) || citations.iter().any(known) {
            continue;
        }
        let citation = pages.of_quotation(sources, quote, of, &marks.cited, &about).await?;
        match citation {
            Some(citation) => {
                citations.retain(|other| other.source != citation.source || !other.quoted.is_empty());
                citations.push(citation);
            }
            None => {
                let found = warning(WarningKind::QuoteNotFound, &texts.no_source_says, &[("quote", quote)]);
                warnings.push(warning_about(found, quote));
                citations.extend(pages.missed(sources, quote, of.first()));
                let missed = of.first().map(|one| one.source);
                citations.retain(|other| {
                    Some(other.source) != missed
                        || !other.quoted.is_empty()
                        || other.found == QuoteMatch::NotFound
                });
            }
        }
    }
    let attributed = attribute(&answer, said, sources, language);
    for Attribution { source: number, quote, .. } in &attributed {
        let cited = citations.iter().any(|citation| citation.source == *number);
        let Some(source) = sources.iter().find(|source| source.number == *number && !cited) else { continue };
        let asked = CitationDraft { source: *number, page: None, quote: quote.clone() };
        let citation = pages.of_source(source, &asked, &about, &mut Vec::new()).await?;
        citations.push(Citation { attributed: true, quoted: String::new(), ..citation });
    }
    let answer = with_marks(&answer, &attributed);
    citations.sort_by_key(|citation| citation.source);
    let cited: BTreeSet<u32> = citations.iter().map(|citation| citation.source).collect();
    let shown: Vec<&Source> = sources.iter().filter(|source| cited.contains(&source.number)).collect();
    let mut borne = borne_values(&shown);
    let asked = values(said);
    let is_borne = |value: &Value| borne.iter().chain(&asked).any(|own| agree(value, own));
    let recomputed = recompute(&written.claims, &is_borne, &names_in(&shown), texts);
    // The row that a sentence speaks of may stand in a source that it does not cite.
    let all: Vec<&Source> = sources.iter().collect();
    let made: Vec<Value> = recomputed.right.into_iter().chain(computed_values(&shown)).collect();
    warnings.extend(misplaced(&written.claims, &all, said, &made, language));
    borne.extend(made);
    warnings.extend(recomputed.warnings);
    warnings.extend(unborne_values(&written.claims, &borne, said, language));
    if cited.is_empty() && !sources.is_empty() {
        warnings.push(warning(WarningKind::NothingCited, &texts.nothing_cited, &[]));
    }
    Ok(VerifiedAnswer { answer, citations, warnings: one_a_sentence(warnings, &written.claims) })
}

/// What tools have computed, by sources: values that belong to no one row.
fn computed_values(sources: &[&Source]) -> Vec<Value> {
    let is_computed =
        |source: &&&Source| matches!(source.origin, Origin::Tool { .. }) && records::of(source).is_empty();
    sources.iter().filter(is_computed).flat_map(|source| values(source.text())).collect()
}

/// One warning for each sentence, the gravest, and the gravest first of all.
fn one_a_sentence(mut warnings: Vec<Warning>, claims: &str) -> Vec<Warning> {
    warnings.sort_by_key(|warning| gravity(warning.kind));
    let sentences: Vec<&str> = pieces(claims).map(|span| &claims[span]).collect();
    let is_of = |sentence: &str, warning: &Warning| {
        warning.about.as_deref().is_some_and(|about| sentence.contains(about))
    };
    let mut kept: Vec<Warning> = Vec::new();
    for warning in warnings {
        let is_same = |other: &Warning| {
            let in_one = sentences.iter().any(|one| is_of(one, other) && is_of(one, &warning));
            in_one || (other.about.is_some() && other.about == warning.about)
        };
        if !kept.iter().any(is_same) {
            kept.push(warning);
        }
    }
    kept
}

/// How grave a finding is; the gravest first.
fn gravity(kind: WarningKind) -> u8 {
    match kind {
        WarningKind::QuoteNotFound => 0,
        WarningKind::WrongColumn
        | WarningKind::WrongRow
        | WarningKind::WrongPeriod
        | WarningKind::WrongUnit
        | WarningKind::WrongArithmetic => 1,
        WarningKind::ValueNotFound => 2,
        WarningKind::WrongPage => 3,
        WarningKind::UnknownSource => 4,
        _ => 5,
    }
}

/// What is cited in fields and in the words. Who is cited with a quotation, or with a page, is not cited again without.
fn all_cited(in_fields: &[CitationDraft], in_words: &[CitationDraft]) -> Vec<CitationDraft> {
    let mut all: Vec<CitationDraft> = Vec::new();
    let telling = |cited: &&CitationDraft| (cited.quote.trim().is_empty(), cited.page.is_none());
    let mut sorted: Vec<&CitationDraft> = in_fields.iter().chain(in_words).collect();
    sorted.sort_by_key(telling);
    for cited in sorted {
        let told = |other: &CitationDraft| {
            let same_words = cited.quote.trim().is_empty() || cited.quote == other.quote;
            other.source == cited.source && same_words && (cited.page.is_none() || cited.page == other.page)
        };
        if !all.iter().any(told) {
            all.push(cited.clone());
        }
    }
    all
}
