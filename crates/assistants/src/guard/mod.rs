//! The guard over what an answer says: every citation is looked up, every quotation looked for, every value compared.

mod bare;
mod borrowed;
mod fuzzy;
mod lines;
mod marks;
pub mod quote;
mod rows;
mod values;
mod warning;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use ibid_core::Scope;
use ibid_core::answer::{Citation, QuoteMatch, Warning, WarningKind};
use ibid_core::evidence::{BoundingBox, DocumentId, EvidenceError, Index, Passage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::{CitationDraft, ParsedAnswer};
use crate::language::Language;
use crate::source::{Origin, Source};
use quote::{PageText, Spans, find};
use regex::Regex;
use values::{Worth, agree, claimed, values};
pub(crate) use warning::warning;
use warning::warning_about;

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
    let (answer, marks) = marks::read(&written.answer, &known);
    for number in marks.unknown.iter().chain(written.cited.iter().map(|cited| &cited.source)) {
        if !known.contains(number) {
            let warning = warning(WarningKind::UnknownSource, &texts.unknown_source, &[("source", number)]);
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    let about = About { said, answer: &marks::without(&written.answer) };
    let mut pages = Pages { index, scope, language, read: BTreeMap::new() };
    let mut citations: Vec<Citation> = Vec::new();
    let mut cited = all_cited(&written.cited, &marks.cited);
    cited.retain(|cited| known.contains(&cited.source));
    // An answer that has its words from a source rests on it, whether it names it, another or none.
    let bears = |cited: &CitationDraft| {
        let source = sources.iter().find(|source| source.number == cited.source);
        !cited.quote.trim().is_empty()
            || source.is_some_and(|source| borrowed::from(about.answer, source.text()).is_some())
    };
    if marks.quoted.is_empty() && !cited.iter().any(bears) {
        cited.extend(borrowed::of_any(about.answer, sources));
    }
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
    citations.sort_by_key(|citation| citation.source);
    let cited: BTreeSet<u32> = citations.iter().map(|citation| citation.source).collect();
    warnings.extend(unborne_values(&marks::without(&written.claims), sources, &cited, said, language));
    if cited.is_empty() && !sources.is_empty() {
        warnings.push(warning(WarningKind::NothingCited, &texts.nothing_cited, &[]));
    }
    Ok(VerifiedAnswer { answer, citations, warnings })
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

/// What a source is cited for: what the person said, and the answer without its marks.
struct About<'a> {
    said: &'a str,
    answer: &'a str,
}

impl About<'_> {
    /// The row or sentence of a text that is nearest to it.
    fn nearest(&self, text: &str) -> (String, std::ops::Range<usize>) {
        lines::nearest_line(text, &format!("{}\n{}", self.said, self.answer))
    }
}

fn of_tool(tool: &str, text: &str, cited: &CitationDraft, about: &About<'_>) -> Citation {
    let said = [PageText { text, path: &[], follows: false }];
    let words = words_meant(cited, text, about);
    let (found, snippet) = match words.as_str() {
        "" => (QuoteMatch::Unquoted, about.nearest(text).0),
        quote => match find(quote, &said) {
            (QuoteMatch::NotFound, _) => (QuoteMatch::NotFound, quote.to_owned()),
            (found, spans) => (found, words_of(&said, &spans)),
        },
    };
    Citation {
        source: cited.source,
        document_id: tool.to_owned(),
        document_type: "tool".to_owned(),
        title: tool.to_owned(),
        page: None,
        snippet,
        found,
        boxes: Vec::new(),
        content_hash: String::new(),
        quoted: cited.quote.trim().to_owned(),
    }
}

/// The pages that were read for one answer.
struct Pages<'a> {
    index: &'a dyn Index,
    scope: &'a Scope,
    language: Language,
    read: BTreeMap<(DocumentId, u32), Vec<Passage>>,
}

impl Pages<'_> {
    async fn of(&mut self, document: &DocumentId, page: u32) -> Result<&[Passage], EvidenceError> {
        let key = (document.clone(), page);
        if !self.read.contains_key(&key) {
            let chunks = self.index.page(self.scope, document, page).await?;
            self.read.insert(key.clone(), chunks);
        }
        Ok(self.read.get(&key).map_or(&[], Vec::as_slice))
    }

    async fn of_source(
        &mut self,
        source: &Source,
        cited: &CitationDraft,
        about: &About<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Citation, EvidenceError> {
        match &source.origin {
            Origin::Tool { tool, text } => Ok(of_tool(tool, text, cited, about)),
            Origin::Passage(passage) => self.of_passage(passage, cited, about, warnings).await,
        }
    }

    /// Words that are quoted, from the source that has them: one that they may be from, else any that is cited.
    async fn of_quotation(
        &mut self,
        sources: &[Source],
        quote: &str,
        of: &[CitationDraft],
        cited: &[CitationDraft],
        about: &About<'_>,
    ) -> Result<Option<Citation>, EvidenceError> {
        for one in of.iter().chain(cited) {
            let Some(source) = sources.iter().find(|source| source.number == one.source) else { continue };
            let asked = CitationDraft { quote: quote.to_owned(), ..one.clone() };
            let citation = self.of_source(source, &asked, about, &mut Vec::new()).await?;
            if citation.found != QuoteMatch::NotFound {
                return Ok(Some(citation));
            }
        }
        Ok(None)
    }

    /// A quotation that no source has, with the source that it was said to be from.
    fn missed(&self, sources: &[Source], quote: &str, of: Option<&CitationDraft>) -> Option<Citation> {
        let of = of?;
        let source = sources.iter().find(|source| source.number == of.source)?;
        let mut citation = match &source.origin {
            Origin::Tool { tool, text } => of_tool(tool, text, of, &About { said: "", answer: quote }),
            Origin::Passage(passage) => citation_of(passage, of),
        };
        citation.found = QuoteMatch::NotFound;
        citation.snippet = quote.to_owned();
        Some(citation)
    }

    async fn of_passage(
        &mut self,
        passage: &Passage,
        cited: &CitationDraft,
        about: &About<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Citation, EvidenceError> {
        let mut citation = citation_of(passage, cited);
        if cited.page.is_none_or(|page| page == passage.page) {
            citation.snippet = words_meant(cited, &passage.text, about);
        }
        if citation.snippet.is_empty() {
            let (line, span) = about.nearest(&passage.text);
            (citation.snippet, citation.found) = (line, QuoteMatch::Unquoted);
            citation.boxes = boxes(&passage.places, &span).collect();
        }
        let page = cited.page.unwrap_or(passage.page);
        if citation.found == QuoteMatch::Unquoted {
            if page != passage.page {
                let values: [(&str, &dyn Display); 3] =
                    [("source", &cited.source), ("own", &passage.page), ("page", &page)];
                warnings.push(warning(WarningKind::WrongPage, &self.language.texts().other_page, &values));
            }
            return Ok(citation);
        }
        // A document that was replaced meanwhile is looked up as it was read for this answer.
        let now = self.of(&passage.document, page).await?;
        let now: Vec<&Passage> = now.iter().filter(|chunk| chunk.version == passage.version).collect();
        let on_page: Vec<&Passage> =
            if page == passage.page { std::iter::once(passage).chain(now).collect() } else { now };
        let goes_on =
            |at: usize| at > 0 && on_page[at].chunks.0 == on_page[at - 1].chunks.1.saturating_add(1);
        let chunks = on_page.iter().enumerate();
        let said: Vec<PageText<'_>> = chunks
            .map(|(at, chunk)| PageText { text: &chunk.text, path: &chunk.path, follows: goes_on(at) })
            .collect();
        let (found, spans) = find(&citation.snippet, &said);
        citation.found = found;
        if found == QuoteMatch::NotFound {
            if page != passage.page {
                let values: [(&str, &dyn Display); 3] =
                    [("page", &page), ("title", &passage.title), ("quote", &citation.snippet)];
                let text = &self.language.texts().page_does_not_say;
                warnings.push(warning(WarningKind::WrongPage, text, &values));
            }
            return Ok(citation);
        }
        citation.page = Some(page);
        citation.snippet = words_of(&said, &spans);
        citation.boxes = spans.iter().flat_map(|(text, span)| boxes(&on_page[*text].places, span)).collect();
        Ok(citation)
    }
}

/// The words that a citation means: those that are quoted, else those that the answer has from the text.
fn words_meant(cited: &CitationDraft, text: &str, about: &About<'_>) -> String {
    match cited.quote.trim() {
        "" => borrowed::from(about.answer, text).unwrap_or_default(),
        quote => quote.to_owned(),
    }
}

/// A citation of a passage before it was looked for.
fn citation_of(passage: &Passage, cited: &CitationDraft) -> Citation {
    Citation {
        source: cited.source,
        document_id: passage.document.to_string(),
        document_type: passage.kind.clone(),
        title: passage.title.clone(),
        page: Some(passage.page),
        snippet: cited.quote.trim().to_owned(),
        found: QuoteMatch::NotFound,
        boxes: Vec::new(),
        content_hash: passage.version.clone(),
        quoted: cited.quote.trim().to_owned(),
    }
}

/// The words at some spans; where a heading was quoted, the headings.
fn words_of(said: &[PageText<'_>], spans: &Spans) -> String {
    let words = spans
        .iter()
        .filter(|(_, span)| !span.is_empty())
        .map(|(text, span)| said[*text].text[span.clone()].split_whitespace().collect::<Vec<_>>().join(" "));
    let words: Vec<String> = words.collect();
    match (words.is_empty(), spans.first()) {
        (true, Some((text, _))) => said[*text].path.join(" > "),
        _ => words.join(" \u{2026} "),
    }
}

/// The boxes of what stands at some bytes of a text.
fn boxes(places: &[BoundingBox], span: &std::ops::Range<usize>) -> impl Iterator<Item = [f32; 4]> {
    let ends = places.iter().skip(1).map(|next| next.at as usize).chain([usize::MAX]);
    let (start, end) = (span.start, span.end.max(span.start + 1));
    let hit =
        places.iter().zip(ends).filter(move |(place, until)| (place.at as usize) < end && *until > start);
    hit.map(|(place, _)| place.sides)
}

/// What of an answer's codes, rates, amounts and dates is in no source that it cites. What the person has said may be said
/// again, except for codes and rates: who asks whether it is 3.9 % has not said that it is.
fn unborne_values(
    claims: &str,
    sources: &[Source],
    cited: &BTreeSet<u32>,
    said: &str,
    language: Language,
) -> Vec<Warning> {
    let mut borne = Vec::new();
    for source in sources.iter().filter(|source| cited.contains(&source.number)) {
        borne.extend(values(source.text()));
        if let Origin::Passage(passage) = &source.origin {
            borne.extend(values(&format!("{}\n{}", passage.title, passage.path.join("\n"))));
        }
    }
    let said = values(said);
    let mut missing: Vec<values::Value> = Vec::new();
    let mut warnings = Vec::new();
    for value in claimed(claims) {
        let known = missing.iter().any(|other| other.worth == value.worth);
        if known || borne.iter().any(|source| agree(&value, source)) {
            continue;
        }
        let asked = said.iter().any(|said| agree(&value, said));
        let is_rule = matches!(value.worth, Worth::Code(_) | Worth::Percent(_));
        if asked && !is_rule {
            continue;
        }
        let written = value.written.trim();
        let texts = language.texts();
        let text = if asked { &texts.value_in_question_only } else { &texts.value_in_no_source };
        let found = warning(WarningKind::ValueNotFound, text, &[("value", &written)]);
        warnings.push(warning_about(found, written));
        missing.push(value);
    }
    warnings
}
