//! What documents say to a question, and the port through which it is asked.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::location::{Location, place_in_words};
use crate::table::{TableRecord, TableRows};
use crate::table_query::{TableAnswer, TableQuery};
use crate::{Corpus, Scope};

/// Names a document: the same tenant, corpus and key always give the same name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct DocumentId(pub String);

impl std::fmt::Display for DocumentId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(&self.0)
    }
}

/// A part of a page, in points from its upper left corner, and the part of a text that stands there. On a sheet, columns and rows
/// are counted instead; in a text without pages, the paragraphs under a heading.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundingBox {
    /// Left, top, right, bottom.
    pub sides: [f32; 4],
    /// Where in the text of its passage it begins, in bytes; it goes on to where the next one begins.
    #[serde(default)]
    pub at: u32,
}

/// A piece of a document that may answer a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Passage {
    /// Which document it is from.
    pub document: DocumentId,
    /// Which version of that document: the SHA-256 of its content.
    pub version: String,
    /// The corpus of that document.
    pub corpus: Corpus,
    /// The title of that document.
    pub title: String,
    /// Its file or URL.
    pub source: String,
    /// Its type, such as `hts_schedule`.
    pub kind: String,
    /// Its language, as ISO 639-1 has it; empty if unknown.
    pub language: String,
    /// The page, from 1.
    pub page: u32,
    /// What that page is in the terms of its format: a sheet, a slide. None for a page of a PDF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The first and last chunk of the document that it holds, counted from 0.
    pub chunks: (u32, u32),
    /// The headings over it, from the highest.
    pub path: Vec<String>,
    /// What it says.
    pub text: String,
    /// Where on the page it stands.
    pub places: Vec<BoundingBox>,
    /// The rows of tables in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableRows>,
    /// How well it fits the question; greater is better. Only scores of one answer compare.
    pub score: f32,
    /// How relevant a reranker finds it, from 0 to 1, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevance: Option<f32>,
}

impl Passage {
    /// Where it stands, in words.
    pub fn place(&self) -> String {
        place_in_words(self.location.as_ref(), self.page)
    }

    /// The rows of its tables with their cells, in their order.
    pub fn records(&self) -> impl Iterator<Item = TableRecord<'_>> {
        self.tables.iter().flat_map(|table| table.records(&self.text))
    }
}

/// What to look for.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The question, and other ways to put it.
    pub phrasings: Vec<String>,
    /// How many passages at most.
    pub top: usize,
    /// How many chunks before and after each hit come along.
    pub neighbours: u32,
    /// Only documents of these types; empty means all.
    pub kinds: Vec<String>,
    /// Only these documents; empty means all.
    pub documents: Vec<DocumentId>,
    /// Only documents in these languages; empty means all.
    pub languages: Vec<String>,
    /// Documents whose beginning comes along, so that a reader knows what they are about.
    pub introduce: Vec<DocumentId>,
    /// How many chunks such a beginning has.
    pub introduction: u32,
    /// How many hits, at least, a reranker has to put in order; none if it is not asked.
    pub reranked: usize,
    /// Hits that fit less than this are left out, unless they hold a code of the question: from 0, as texts that have
    /// nothing to do with each other, to 1, as a passage that answers.
    pub floor: f32,
}

impl Question {
    /// A question put in one way, with the usual options.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            phrasings: vec![text.into()],
            top: 5,
            neighbours: 1,
            kinds: Vec::new(),
            documents: Vec::new(),
            languages: Vec::new(),
            introduce: Vec::new(),
            introduction: 3,
            reranked: 20,
            floor: 0.0,
        }
    }
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Passages, the best first; then the beginnings of documents that were asked for.
    pub passages: Vec<Passage>,
}

/// A document by its names, as a person may call it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentName {
    /// Which document.
    pub id: DocumentId,
    /// Its title.
    pub title: String,
    /// Its file or URL.
    pub source: String,
    /// Its type.
    pub kind: String,
}

/// Why nothing could be looked for.
#[derive(Debug, thiserror::Error)]
#[error("the documents cannot be searched: {message}")]
pub struct EvidenceError {
    /// What happened, and what to do.
    pub message: String,
    /// Whether it may work if it is tried again.
    pub may_pass: bool,
}

/// Finds what documents say.
#[async_trait]
pub trait Index: Send + Sync {
    /// The passages that fit a question best, of those that the scope may see.
    ///
    /// # Errors
    /// Fails when the store or the embedding model cannot be reached.
    async fn retrieve(&self, scope: &Scope, question: &Question) -> Result<Evidence, EvidenceError>;

    /// What one page says, chunk by chunk in reading order. Empty if the scope sees no such page.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    async fn page(
        &self,
        scope: &Scope,
        document: &DocumentId,
        page: u32,
    ) -> Result<Vec<Passage>, EvidenceError>;

    /// How well the nearest passage fits a text in meaning, from 0 (as texts that have nothing to do with each other) to 1
    /// (as a passage that answers); none if the scope sees no passage.
    ///
    /// # Errors
    /// Fails when the store or the embedding model cannot be reached.
    async fn relevance(&self, scope: &Scope, text: &str) -> Result<Option<f32>, EvidenceError>;

    /// A table of a document, chunk by chunk in reading order. Empty if the scope sees no such table, or it is longer than
    /// `most` chunks.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    async fn table(
        &self,
        scope: &Scope,
        document: &DocumentId,
        table: u32,
        most: usize,
    ) -> Result<Vec<Passage>, EvidenceError> {
        // Where no tables are kept as data.
        let _ = (scope, document, table, most);
        Ok(Vec::new())
    }

    /// What the table says that fits a query best, of those that the scope may see.
    ///
    /// # Errors
    /// Fails when the store or the embedding model cannot be reached.
    async fn query_tables(&self, scope: &Scope, query: &TableQuery) -> Result<TableAnswer, EvidenceError> {
        let _ = (scope, query);
        Ok(TableAnswer::default())
    }

    /// The documents that the scope sees and that can be searched, at most `most`, by title.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    async fn documents(&self, scope: &Scope, most: usize) -> Result<Vec<DocumentName>, EvidenceError>;
}
