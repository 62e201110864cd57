//! What is to be loaded, and how far loading got.

use std::collections::BTreeSet;

use ibid_core::evidence::DocumentId;
use ibid_core::{Corpus, Label, Message, RunId, Tenant, ThreadId};
use ibid_graph::{END, State};
use ibid_reading::Kind;
use serde::{Deserialize, Serialize};

use crate::ChunkSize;
use crate::document::{Document, Status, count, document_id};

/// A document to be loaded.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Job {
    /// Whose it is.
    pub tenant: Tenant,
    /// The set that it belongs to.
    pub corpus: Corpus,
    /// What tells it apart in its corpus: a document that has this key is replaced.
    pub key: String,
    /// Its file name or URL.
    pub source: String,
    /// The name of its content, if it was kept already; otherwise it is fetched from its source.
    pub version: Option<String>,
    /// How it is treated.
    pub settings: Settings,
}

/// How a document is treated.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Settings {
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
}

impl Job {
    /// The name of the document.
    pub fn document(&self) -> DocumentId {
        document_id(&self.tenant, &self.corpus, &self.key)
    }

    /// The thread of a document: what is loaded under one name is loaded one after the other.
    pub fn thread(DocumentId(name): &DocumentId) -> ThreadId {
        let mut bytes = [0; 16];
        for (byte, digits) in bytes.iter_mut().zip(name.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(&String::from_utf8_lossy(digits), 16).unwrap_or_default();
        }
        ThreadId::from_bytes(bytes)
    }

    /// What a turn is asked to load: a job as JSON in its first message.
    ///
    /// # Errors
    /// Fails when it is no job.
    pub fn asked(messages: &[Message]) -> Result<Self, serde_json::Error> {
        serde_json::from_str(messages.first().map(|message| message.text.as_str()).unwrap_or_default())
    }

    /// What loading it would come to, if its content is there already and was loaded in this way.
    pub fn unchanged(&self, known: &Document) -> Option<Summary> {
        let version = self.version.as_ref()?;
        self.settings.made(known, version).then(|| Summary {
            document: known.id.clone(),
            source: self.source.clone(),
            outcome: Outcome::Unchanged,
            pages: count(known.pages.len()),
            skipped: known.skipped(),
            tables: known.tables,
            chunks: known.chunks,
            milliseconds: 0,
        })
    }
}

impl Settings {
    /// Whether what is known was loaded from this content, and in this way.
    pub(crate) fn made(&self, known: &Document, version: &str) -> bool {
        known.status == Status::Ready
            && known.pending.is_empty()
            && known.version == version
            && known.kind == self.kind
            && known.labels == self.labels
            && known.size == self.size
            && known.problem.is_none()
            && self.title.as_ref().is_none_or(|title| *title == known.title)
            && self.language.as_ref().is_none_or(|language| *language == known.language)
    }
}

/// Where what a run finds on its way is staged. It begins with the name of the document.
pub(crate) fn work_of(job: &Job, run: RunId) -> String {
    format!("{}-{run}", job.document())
}

/// How loading ended.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It can be searched.
    Loaded,
    /// It was there already, in the same version.
    Unchanged,
    /// Its content is there already, as another document of the corpus.
    Duplicate {
        /// The source of that document.
        of: String,
    },
    /// There is nothing in it to search.
    Empty,
    /// It could not be read.
    Failed {
        /// Why.
        why: String,
    },
    /// It was stopped.
    Stopped,
}

/// What loading came to.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Summary {
    /// The document.
    pub document: DocumentId,
    /// Its file name or URL.
    pub source: String,
    /// How it ended.
    pub outcome: Outcome,
    /// How many pages it has.
    pub pages: u32,
    /// How many of them are left out of the search.
    pub skipped: u32,
    /// How many tables it has.
    pub tables: u32,
    /// How many chunks it has.
    pub chunks: u32,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
}

/// A document on its way into the store.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Loading {
    pub(crate) job: Job,
    /// The run, so that two that load the same document do not mix what they stage.
    pub(crate) run: RunId,
    pub(crate) fetched: Option<Fetched>,
    pub(crate) read: Vec<Batch>,
    pub(crate) cut: Option<Cut>,
    /// How many parts of the chunks have vectors.
    pub(crate) embedded: u32,
    /// The version that the commit found in the ledger.
    pub(crate) replaced: Option<String>,
    /// How the commit ended.
    pub(crate) committed: Option<Outcome>,
    pub(crate) ended: Option<(Outcome, u64)>,
}

/// The content of a document.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Fetched {
    pub(crate) version: String,
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    /// The version that it replaces.
    pub(crate) before: Option<String>,
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
pub(crate) struct Cut {
    pub(crate) parts: u32,
    pub(crate) chunks: u32,
    pub(crate) skipped: u32,
    pub(crate) tables: u32,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Change {
    Fetched(Fetched),
    Read(Batch),
    Cut(Cut),
    Embedded(u32),
    Committed { outcome: Outcome, replaced: Option<String> },
    Ended { outcome: Outcome, milliseconds: u64 },
}

impl State for Loading {
    type Change = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Fetched(fetched) => self.fetched = Some(fetched),
            Change::Read(batch) => self.read.push(batch),
            Change::Cut(cut) => self.cut = Some(cut),
            Change::Embedded(parts) => self.embedded = parts,
            Change::Committed { outcome, replaced } => {
                self.committed = Some(outcome);
                self.replaced = replaced;
            }
            Change::Ended { outcome, milliseconds } => self.ended = Some((outcome, milliseconds)),
        }
    }
}

impl Loading {
    pub(crate) fn new(job: Job, run: RunId) -> Self {
        Self {
            job,
            run,
            replaced: None,
            committed: None,
            fetched: None,
            read: Vec::new(),
            cut: None,
            embedded: 0,
            ended: None,
        }
    }

    /// What comes next.
    pub(crate) fn next(&self) -> &'static str {
        if self.ended.is_some() {
            return END;
        }
        match &self.cut {
            Some(cut) if self.embedded < cut.parts => "embed",
            Some(_) => "commit",
            None if self.read.last().is_some_and(|batch| batch.end >= batch.count) => "cut",
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

    pub(crate) fn summary(&self) -> Summary {
        let (outcome, milliseconds) = self.ended.clone().unwrap_or((Outcome::Stopped, 0));
        let cut = self.cut.as_ref();
        Summary {
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
