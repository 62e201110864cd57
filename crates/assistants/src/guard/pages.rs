//! Citations looked up: the pages that sources stand on, and where on them the quoted words are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use ibid_core::Scope;
use ibid_core::answer::{Citation, QuoteMatch, Warning, WarningKind};
use ibid_core::evidence::{BoundingBox, DocumentId, EvidenceError, Index, Passage};
use ibid_core::web::WebPage;

use super::bare::Bare;
use super::quote::{PageText, Spans, find};
use super::warning::{warning, warning_about};
use super::{borrowed, lines};
use crate::format::CitationDraft;
use crate::language::Language;
use crate::records;
use crate::source::{Origin, Source};

/// Boxes that share more than this of their height, in points, stand on one line.
const SAME_LINE: f32 = 3.0;

/// What a source is cited for: what the person said, and the answer without its marks.
pub(super) struct About<'a> {
    pub(super) said: &'a str,
    pub(super) answer: &'a str,
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
        location: None,
        snippet,
        found,
        boxes: Vec::new(),
        content_hash: String::new(),
        quoted: cited.quote.trim().to_owned(),
        attributed: false,
        retrieved_at: None,
    }
}

/// A citation of a page of the web, as a search showed it.
fn of_web(page: &WebPage, cited: &CitationDraft, about: &About<'_>) -> Citation {
    Citation {
        document_id: page.url.clone(),
        document_type: "web".to_owned(),
        title: page.title.clone(),
        retrieved_at: Some(page.retrieved_at.clone()),
        ..of_tool("", &page.text, cited, about)
    }
}

/// The pages that were read for one answer.
pub(super) struct Pages<'a> {
    index: &'a dyn Index,
    scope: &'a Scope,
    language: Language,
    read: BTreeMap<(DocumentId, u32), Vec<Passage>>,
}

impl<'a> Pages<'a> {
    /// Nothing was read yet.
    pub(super) fn new(index: &'a dyn Index, scope: &'a Scope, language: Language) -> Self {
        Self { index, scope, language, read: BTreeMap::new() }
    }

    async fn of(&mut self, document: &DocumentId, page: u32) -> Result<&[Passage], EvidenceError> {
        let key = (document.clone(), page);
        if !self.read.contains_key(&key) {
            let chunks = self.index.page(self.scope, document, page).await?;
            self.read.insert(key.clone(), chunks);
        }
        Ok(self.read.get(&key).map_or(&[], Vec::as_slice))
    }

    /// A citation of a source, looked up.
    pub(super) async fn of_source(
        &mut self,
        source: &Source,
        cited: &CitationDraft,
        about: &About<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Citation, EvidenceError> {
        match &source.origin {
            Origin::Tool { tool, text } => Ok(of_tool(tool, text, cited, about)),
            Origin::Web(page) => Ok(of_web(page, cited, about)),
            Origin::Passage(passage) => self.of_passage(passage, cited, about, warnings).await,
        }
    }

    /// Words that are quoted, from the source that has them: one that they may be from, else any that is cited, else any.
    pub(super) async fn of_quotation(
        &mut self,
        sources: &[Source],
        quote: &str,
        of: &[CitationDraft],
        cited: &[CitationDraft],
        about: &About<'_>,
    ) -> Result<Option<Citation>, EvidenceError> {
        let any = sources.iter().map(|source| CitationDraft {
            source: source.number,
            page: None,
            quote: String::new(),
        });
        let named = of.len() + cited.len();
        for (number, one) in of.iter().chain(cited).cloned().chain(any).enumerate() {
            let Some(source) = sources.iter().find(|source| source.number == one.source) else { continue };
            let asked = CitationDraft { quote: quote.to_owned(), ..one };
            let mut citation = self.of_source(source, &asked, about, &mut Vec::new()).await?;
            if citation.found != QuoteMatch::NotFound {
                citation.attributed = number >= named;
                return Ok(Some(citation));
            }
        }
        Ok(None)
    }

    /// A quotation that no source has, with the source that it was said to be from.
    pub(super) fn missed(
        &self,
        sources: &[Source],
        quote: &str,
        of: Option<&CitationDraft>,
    ) -> Option<Citation> {
        let of = of?;
        let source = sources.iter().find(|source| source.number == of.source)?;
        let mut citation = match &source.origin {
            Origin::Tool { tool, text } => of_tool(tool, text, of, &About { said: "", answer: quote }),
            Origin::Web(page) => of_web(page, of, &About { said: "", answer: quote }),
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
            citation.boxes = boxes_of(&passage.places, &with_row(&passage.text, &span));
            locate(&mut citation, passage);
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
        let (mut found, mut spans) = find(&citation.snippet, &said);
        if found == QuoteMatch::NotFound
            && let Some(cells) = without_columns(&citation.snippet, &said)
        {
            (found, spans) = find(&cells, &said);
        }
        citation.found = found;
        if found == QuoteMatch::NotFound {
            if page != passage.page {
                let values: [(&str, &dyn Display); 3] =
                    [("page", &page), ("title", &passage.title), ("quote", &citation.snippet)];
                let text = &self.language.texts().page_does_not_say;
                let found = warning(WarningKind::WrongPage, text, &values);
                warnings.push(warning_about(found, &citation.snippet));
            }
            return Ok(citation);
        }
        citation.page = Some(page);
        citation.snippet = words_of(&said, &spans);
        citation.boxes = spans
            .iter()
            .flat_map(|(text, span)| boxes_of(&on_page[*text].places, &with_row(&on_page[*text].text, span)))
            .collect();
        if let Some((text, _)) = spans.first() {
            locate(&mut citation, on_page[*text]);
        }
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

/// A quotation of a row without the names of its columns, if it has any: models are shown rows with them.
fn without_columns(quote: &str, said: &[PageText<'_>]) -> Option<String> {
    let words = |text: &str| Bare::of(text).words().into_iter().map(|(word, _)| word).collect::<Vec<_>>();
    let headers = said.iter().filter_map(|text| text.text.lines().find(|line| line.contains(" | ")));
    let mut columns: BTreeSet<String> = headers.flat_map(words).collect();
    columns.insert("column".to_owned());
    let mut is_named = false;
    let cells = quote.split(['\n', ';']).map(|part| match part.split_once(':') {
        Some((name, cell)) if words(name).iter().all(|word| columns.contains(word)) => {
            is_named = true;
            cell
        }
        _ => part,
    });
    let cells: Vec<&str> = cells.collect();
    is_named.then(|| cells.join(" "))
}

/// A citation of a passage before it was looked for.
fn citation_of(passage: &Passage, cited: &CitationDraft) -> Citation {
    Citation {
        source: cited.source,
        document_id: passage.document.to_string(),
        document_type: passage.kind.clone(),
        title: passage.title.clone(),
        page: Some(passage.page),
        location: passage.location.clone(),
        snippet: cited.quote.trim().to_owned(),
        found: QuoteMatch::NotFound,
        boxes: Vec::new(),
        content_hash: passage.version.clone(),
        quoted: cited.quote.trim().to_owned(),
        attributed: false,
        retrieved_at: None,
    }
}

/// Says where the words of a citation stand in the terms of their format.
fn locate(citation: &mut Citation, passage: &Passage) {
    let location = passage.location.as_ref();
    citation.location = location.map(|location| location.of_words(&passage.path, &citation.boxes));
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

/// What is marked for some words: in a table the whole row, which tells what they are about.
fn with_row(text: &str, span: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let begins = text[..span.start].rfind('\n').map_or(0, |end| end + 1);
    let ends = text[span.end..].find('\n').map_or(text.len(), |end| span.end + end);
    if records::is_row(&text[begins..ends]) { begins..ends } else { span.clone() }
}

/// The boxes of what stands at some bytes of a text; those beside each other, as the cells of a row, as one. Words
/// without a box, as a heading or the columns of a table that began on the page before, have that of what follows.
pub(super) fn boxes_of(places: &[BoundingBox], span: &std::ops::Range<usize>) -> Vec<[f32; 4]> {
    let mut hit: Vec<[f32; 4]> = boxes(places, span).collect();
    if hit.is_empty() {
        let follows = places.iter().find(|place| place.at as usize >= span.end);
        hit.extend(follows.map(|place| place.sides));
    }
    let mut merged: Vec<[f32; 4]> = Vec::new();
    for next in hit {
        match merged.last_mut() {
            Some(last) if last[1].max(next[1]) + SAME_LINE < last[3].min(next[3]) => {
                *last =
                    [last[0].min(next[0]), last[1].min(next[1]), last[2].max(next[2]), last[3].max(next[3])];
            }
            _ => merged.push(next),
        }
    }
    merged
}

fn boxes(places: &[BoundingBox], span: &std::ops::Range<usize>) -> impl Iterator<Item = [f32; 4]> {
    let ends = places.iter().skip(1).map(|next| next.at as usize).chain([usize::MAX]);
    let (start, end) = (span.start, span.end.max(span.start + 1));
    let hit =
        places.iter().zip(ends).filter(move |(place, until)| (place.at as usize) < end && *until > start);
    hit.map(|(place, _)| place.sides)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_is_marked_by_what_follows_it() {
        let place = |at, top| BoundingBox { at, sides: [0.0, top, 1.0, top + 0.1] };
        let places = [place(20, 0.2), place(40, 0.4)];
        assert_eq!(boxes_of(&places, &(0..0)), [places[0].sides]);
        assert_eq!(boxes_of(&places, &(5..12)), [places[0].sides]);
        assert_eq!(boxes_of(&places, &(45..50)), [places[1].sides]);
        assert_eq!(boxes_of(&[], &(0..5)), Vec::<[f32; 4]>::new());
    }

    #[test]
    fn the_names_of_columns_are_no_part_of_a_row() {
        let text = "Code | Article | Rates of Duty 1 General | Rates of Duty 2\n8539.51.00 | LED modules | Free | 35%";
        let said = [PageText { text, path: &[], follows: false }];
        for quote in [
            "Code: 8539.51.00; Column 1 General Rates of Duty: Free",
            "Column 2 Rates of Duty: 35%",
            "Article: LED modules\nColumn 1 General Rates of Duty: Free",
        ] {
            let cells = without_columns(quote, &said).unwrap();
            assert_eq!(find(&cells, &said).0, QuoteMatch::Exact, "{quote}");
        }
        let wrong = without_columns("Column 1 General Rates of Duty: 7%", &said).unwrap();
        assert_eq!(find(&wrong, &said).0, QuoteMatch::NotFound);
        assert_eq!(without_columns("Note: LED modules", &said), None);
    }
}
