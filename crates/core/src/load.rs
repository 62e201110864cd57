//! What loading a document came to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::DocumentId;

/// How loading ended.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadOutcome {
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
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct LoadSummary {
    /// The document.
    pub document: DocumentId,
    /// Its file name or URL.
    pub source: String,
    /// How it ended.
    pub outcome: LoadOutcome,
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
