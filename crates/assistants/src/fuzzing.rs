//! What a fuzzer tries of this crate: the guard over answers, and the schemas of formats.

use std::collections::BTreeSet;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use ibid_core::answer::QuoteMatch;
use ibid_core::evidence::{DocumentId, DocumentName, Evidence, EvidenceError, Index, Passage, Question};
use ibid_core::table::{BAR, CellKind, TableColumn, TableRow, TableRows, cells};
use ibid_core::{Corpus, Scope, Tenant};
use serde_json::json;

use crate::format::{AnswerFormat, Draft, TEXT, answer_so_far, inert};
use crate::guard::check;
use crate::guard::quote::{PageText, find};
use crate::language::Language;
use crate::source::{Origin, Source};

/// A line of this parts the question, the answer and each source from the next.
const BORDER: &str = "\n%%\n";
/// A longer text is cut: what is looked for are new ways through the code, not long ones.
const LONGEST: usize = 4000;

/// Has an answer checked against sources. What it cites is there, and words that are said to be exact stand on their page.
///
/// # Panics
/// Panics where one of these does not hold.
pub fn guard(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if text.len() > LONGEST {
        return;
    }
    let mut parts = text.split(BORDER);
    let (said, answer) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(corpus) = "fuzz".parse::<Corpus>() else { return };
    let sources: Vec<Source> =
        (1..).zip(parts.take(6)).map(|(number, text)| source(number, text, &corpus)).collect();
    assert_quotations_are_found(answer, &sources);
    let language = if said.len() % 2 == 0 { Some(Language::english()) } else { Language::all().nth(1) };
    let Some(language) = language else { return };
    let draft = Draft { format: TEXT.to_owned(), raw: answer.to_owned(), partial: false, cut_off: false };
    let written = draft.read(&AnswerFormat::text(), language.texts());
    let index = Sources(&sources);
    let scope = Scope::of(Tenant::local());
    let checked = check(&index, &scope, &sources, &written, said, language).now_or_never();
    assert!(matches!(checked, Some(Ok(_))), "sources that are there must be read at once");
    let Some(Ok(checked)) = checked else { return };
    let known: BTreeSet<u32> = sources.iter().map(|source| source.number).collect();
    for citation in &checked.citations {
        assert!(known.contains(&citation.source), "source {} is not there", citation.source);
        assert!(citation.found != QuoteMatch::Exact || !citation.snippet.is_empty(), "{citation:?}");
    }
    assert!(checked.warnings.iter().all(|warning| !warning.text.is_empty()));
    assert_words_act_not(&checked.answer);
}

/// Every place that a quotation is said to stand at is one of its text.
fn assert_quotations_are_found(quote: &str, sources: &[Source]) {
    let texts: Vec<PageText<'_>> =
        sources.iter().map(|source| PageText { text: source.text(), path: &[], follows: false }).collect();
    let (found, spans) = find(quote, &texts);
    assert!(found != QuoteMatch::NotFound || spans.is_empty());
    for (text, span) in spans {
        assert!(texts[text].text.get(span.clone()).is_some(), "{span:?} is not in the text");
    }
}

/// What is shown of a text makes no link, is the same when it is made once more, and changes nothing that was shown before.
fn assert_words_act_not(text: &str) {
    let shown = inert(text);
    assert!(!shown.contains("](") && !shown.contains("]:") && !shown.contains("</"), "{shown}");
    assert_eq!(inert(&shown), shown);
    let half = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    assert!(shown.starts_with(inert(&text[..half]).as_ref()));
}

/// A text as a source: of a tool if it begins with `!`, else of a page.
fn source(number: u32, text: &str, corpus: &Corpus) -> Source {
    let origin = match text.strip_prefix('!') {
        Some(text) => Origin::Tool { tool: "tool".to_owned(), text: text.to_owned() },
        None => Origin::Passage(Box::new(passage(number, text, corpus))),
    };
    Source { number, origin }
}

/// A text as a passage, with the rows of a table if it has some: the first of them names the columns.
fn passage(number: u32, text: &str, corpus: &Corpus) -> Passage {
    let begins = |line: &str| u32::try_from(line.as_ptr().addr() - text.as_ptr().addr()).unwrap_or(u32::MAX);
    let mut rows = text.lines().filter(|line| line.contains(BAR));
    let tables = rows.next().map(|names| {
        let kind = CellKind::Rate;
        let column = |name: &str| TableColumn { name: name.to_owned(), kind };
        TableRows {
            table: 1,
            columns: cells(names, 0).iter().map(|cell| column(&cell.text)).collect(),
            paths: vec![Vec::new()],
            rows: rows
                .map(|line| TableRow { at: begins(line), path: 0, inherited: Default::default() })
                .collect(),
        }
    });
    Passage {
        document: DocumentId(format!("document-{number}")),
        version: String::new(),
        corpus: corpus.clone(),
        title: "A document".to_owned(),
        source: "document.pdf".to_owned(),
        kind: "general".to_owned(),
        language: String::new(),
        page: number,
        location: None,
        chunks: (0, 0),
        path: vec!["A heading".to_owned()],
        text: text.to_owned(),
        places: Vec::new(),
        tables: tables.into_iter().collect(),
        score: 1.0,
        relevance: None,
    }
}

/// The pages that some sources stand on.
struct Sources<'a>(&'a [Source]);

#[async_trait]
impl Index for Sources<'_> {
    async fn retrieve(&self, _: &Scope, _: &Question) -> Result<Evidence, EvidenceError> {
        Ok(Evidence { passages: Vec::new() })
    }

    async fn page(&self, _: &Scope, document: &DocumentId, page: u32) -> Result<Vec<Passage>, EvidenceError> {
        let passages = self.0.iter().cloned().filter_map(Source::into_passage);
        Ok(passages.filter(|passage| passage.document == *document && passage.page == page).collect())
    }

    async fn relevance(&self, _: &Scope, _: &str) -> Result<Option<f32>, EvidenceError> {
        Ok(None)
    }

    async fn documents(&self, _: &Scope, _: usize) -> Result<Vec<DocumentName>, EvidenceError> {
        Ok(Vec::new())
    }
}

/// Reads a file as a format and, behind a line of `%%`, what a model wrote in it. What is read as a format can be filled, is
/// read again as it is, and an answer is shown no further than it has come.
///
/// # Panics
/// Panics where one of these does not hold.
pub fn format_schema(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (schema, written) = text.split_once(BORDER).unwrap_or((text, ""));
    let half = (0..=written.len() / 2).rev().find(|at| written.is_char_boundary(*at)).unwrap_or_default();
    assert!(answer_so_far(written).starts_with(&answer_so_far(&written[..half])), "an answer must only grow");
    let Ok(format) = AnswerFormat::read("fuzz", schema) else { return };
    let closed = format.schema().map(ToString::to_string).unwrap_or_default();
    assert_eq!(
        AnswerFormat::read("fuzz", &closed),
        Ok(format.clone()),
        "a format must be read as it was kept"
    );
    let names = |fields: &serde_json::Value| -> Vec<String> {
        fields.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let blank = format.blank("nothing").unwrap_or_default();
    assert_eq!(blank["answer"], "nothing");
    let draft = Draft { format: "fuzz".to_owned(), raw: written.to_owned(), partial: false, cut_off: false };
    let read = draft.read(&format, Language::english().texts());
    let filled = format.fill(&read.fields, &read.answer, json!([])).unwrap_or_default();
    if read.fields.is_object() {
        assert_eq!(names(&filled), names(&blank), "every field must be there, in its place");
    }
    let asked = format.for_model().map(|asked| asked.schema).unwrap_or_default();
    let known = names(&asked["properties"]);
    assert!(names(&blank).iter().all(|name| name == "schema_version" || known.contains(name)));
}
