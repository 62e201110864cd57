//! What is to be loaded, and how far loading got.

use std::collections::BTreeSet;

use ibid_core::catalogue::CATALOGUE;
use ibid_core::evidence::DocumentId;
use ibid_core::load::{LoadOutcome, LoadSummary};
use ibid_core::{Corpus, Label, QueueId, RunId, Tenant};
use ibid_graph::{END, State};
use ibid_reading::FileFormat;
use serde::{Deserialize, Serialize};

use crate::ChunkSize;
use crate::document::{Document, DocumentOrigin, count, document_id};
use crate::{ContentHash, DocumentState, LoadResult};

/// A document to be loaded.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LoadRequest {
    /// Whose it is.
    pub tenant: Tenant,
    /// The set that it belongs to.
    pub corpus: Corpus,
    /// What tells it apart in its corpus: a document that has this key is replaced.
    pub key: String,
    /// Its file name or URL.
    pub source: String,
    /// Its content, if it was kept already; otherwise it is fetched from its source.
    #[serde(rename = "version")]
    pub content: Option<ContentHash>,
    /// How it is treated.
    pub settings: LoadSettings,
}

/// How a document is treated.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct LoadSettings {
    /// Its type.
    pub kind: String,
    /// Its title; none means the one that it gives itself, else its file name.
    pub title: Option<String>,
    /// Its language, as ISO 639-1 has it; none means that it is found out.
    pub language: Option<String>,
    /// Who may see it; empty means everybody at the tenant.
    pub labels: BTreeSet<Label>,
    /// How long its chunks are.
    pub size: ChunkSize,
    /// A page with fewer characters has no content.
    pub least_characters: usize,
    /// Where it came from, if it is kept in step with a source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<DocumentOrigin>,
}

impl LoadRequest {
    /// What was about to be loaded of a document, as far as the ledger knows it.
    pub fn pending(document: &Document) -> Self {
        let content = document.state.pending().unwrap_or(&document.content);
        Self {
            tenant: document.tenant.clone(),
            corpus: document.corpus.clone(),
            key: document.key.clone(),
            source: document.source.clone(),
            content: content.is_known().then(|| content.clone()),
            settings: LoadSettings::default(),
        }
    }

    /// The name of the document.
    pub fn document(&self) -> DocumentId {
        document_id(&self.tenant, &self.corpus, &self.key)
    }

    /// The queue of a document: what is loaded under one name is loaded one after the other.
    pub fn queue(DocumentId(name): &DocumentId) -> QueueId {
        let mut bytes = [0; 16];
        for (byte, digits) in bytes.iter_mut().zip(name.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(&String::from_utf8_lossy(digits), 16).unwrap_or_default();
        }
        QueueId::from_bytes(bytes)
    }

    /// What loading it would come to, if its content is there already and was loaded in this way.
    pub fn unchanged(&self, known: &Document) -> Option<LoadSummary> {
        let content = self.content.as_ref()?;
        self.settings.made(known, content).then(|| LoadSummary {
            document: known.id.clone(),
            source: self.source.clone(),
            outcome: LoadOutcome::Unchanged,
            pages: count(known.pages.len()),
            skipped: known.skipped(),
            tables: known.tables,
            chunks: known.chunks,
            milliseconds: 0,
        })
    }
}

impl LoadSettings {
    /// Whether what is known was loaded from this content, and in this way.
    pub(crate) fn made(&self, known: &Document, content: &ContentHash) -> bool {
        known.state == DocumentState::settled(LoadResult::Ready)
            && known.content == *content
            && self.treats_alike(known)
    }

    /// Whether a document was treated in this way, as far as the ledger tells.
    pub fn treats_alike<P>(&self, known: &Document<P>) -> bool {
        known.kind == self.kind && known.labels == self.labels && self.reads_alike(known)
    }

    /// Whether it was read in this way: the rest of what is said of it can be changed as it is.
    pub fn reads_alike<P>(&self, known: &Document<P>) -> bool {
        (known.kind == CATALOGUE) == (self.kind == CATALOGUE)
            && known.size == self.size
            && self.title.as_ref().is_none_or(|title| *title == known.title)
            && self.language.as_ref().is_none_or(|language| *language == known.language)
    }
}

/// Where what a run finds on its way is staged. It begins with the name of the document.
pub(crate) fn work_of(job: &LoadRequest, run: RunId) -> String {
    format!("{}-{run}", job.document())
}

/// A document on its way into the store.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Loading {
    pub(crate) job: LoadRequest,
    /// The run, so that two that load the same document do not mix what they stage.
    pub(crate) run: RunId,
    pub(crate) fetched: Option<Fetched>,
    pub(crate) read: Vec<Batch>,
    pub(crate) chunked: Option<ChunkStats>,
    /// How many parts of the chunks have vectors.
    pub(crate) embedded: u32,
    /// The content that the commit found in the ledger.
    pub(crate) replaced: Option<ContentHash>,
    /// How the commit ended.
    pub(crate) committed: Option<LoadOutcome>,
    pub(crate) ended: Option<(LoadOutcome, u64)>,
}

/// The content of a document.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Fetched {
    #[serde(rename = "version")]
    pub(crate) content: ContentHash,
    pub(crate) bytes: u64,
    pub(crate) kind: FileFormat,
    /// The content that it replaces.
    pub(crate) before: Option<ContentHash>,
    /// When it began, in milliseconds since 1970.
    pub(crate) began: u64,
}

/// Some pages that were read.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Batch {
    pub(crate) first: u32,
    pub(crate) end: u32,
    /// How many pages the document has.
    pub(crate) count: u32,
    pub(crate) title: Option<String>,
    /// How much was said of its pages, in bytes.
    #[serde(default)]
    pub(crate) said: u64,
    /// How often the reading process ended before its time.
    #[serde(default)]
    pub(crate) crashes: usize,
}

/// The chunks of a document.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct ChunkStats {
    pub(crate) parts: u32,
    pub(crate) chunks: u32,
    pub(crate) skipped: u32,
    pub(crate) tables: u32,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum LoadUpdate {
    Fetched(Fetched),
    Read(Batch),
    #[serde(alias = "Cut")]
    Chunked(ChunkStats),
    Embedded(u32),
    Committed {
        outcome: LoadOutcome,
        replaced: Option<ContentHash>,
    },
    Ended {
        outcome: LoadOutcome,
        milliseconds: u64,
    },
}

impl State for Loading {
    type Update = LoadUpdate;

    fn apply(&mut self, change: LoadUpdate) {
        match change {
            LoadUpdate::Fetched(fetched) => self.fetched = Some(fetched),
            LoadUpdate::Read(batch) => self.read.push(batch),
            LoadUpdate::Chunked(cut) => self.chunked = Some(cut),
            LoadUpdate::Embedded(parts) => self.embedded = parts,
            LoadUpdate::Committed { outcome, replaced } => {
                self.committed = Some(outcome);
                self.replaced = replaced;
            }
            LoadUpdate::Ended { outcome, milliseconds } => self.ended = Some((outcome, milliseconds)),
        }
    }
}

impl Loading {
    pub(crate) fn new(job: LoadRequest, run: RunId) -> Self {
        Self {
            job,
            run,
            replaced: None,
            committed: None,
            fetched: None,
            read: Vec::new(),
            chunked: None,
            embedded: 0,
            ended: None,
        }
    }

    /// What comes next.
    pub(crate) fn next(&self) -> &'static str {
        if self.ended.is_some() {
            return END;
        }
        match &self.chunked {
            Some(cut) if self.embedded < cut.parts => "embed",
            Some(_) => "commit",
            None if self.read.last().is_some_and(|batch| batch.end >= batch.count) => "chunk",
            None => "read",
        }
    }

    /// Where what steps find is staged.
    pub(crate) fn work(&self) -> String {
        work_of(&self.job, self.run)
    }

    /// How often the reading process ended before its time.
    pub(crate) fn crashes(&self) -> usize {
        self.read.iter().map(|batch| batch.crashes).sum()
    }

    pub(crate) fn pages(&self) -> u32 {
        self.read.last().map_or(0, |batch| batch.count)
    }

    pub(crate) fn summary(&self) -> LoadSummary {
        let (outcome, milliseconds) = self.ended.clone().unwrap_or((LoadOutcome::Stopped, 0));
        let cut = self.chunked.as_ref();
        LoadSummary {
            document: self.job.document(),
            source: self.job.source.clone(),
            outcome,
            pages: self.pages(),
            skipped: cut.map_or(0, |cut| cut.skipped),
            tables: cut.map_or(0, |cut| cut.tables),
            chunks: cut.map_or(0, |cut| cut.chunks),
            milliseconds,
        }
    }
}
