//! How answers are checked, and how often the documents are searched again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How answers are checked, and how often the documents are searched again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Corrective {
    /// How many rounds of searching and answering; after that the best answer is given with what is wrong with it.
    pub rounds: u32,
    /// Whether it searches the web where the documents hold nothing that is relevant, if a search is set up and the corpora allow
    /// it.
    pub web_search: bool,
    /// How sure a grounding model must be, if one is configured, so that its word counts: from 0.5 to 1. The small model is asked
    /// about the rest.
    pub sure: f32,
    /// A passage that a reranker finds at least so relevant needs no grade of a model, and is kept: from 0 to 1.
    pub clearly_relevant: f32,
    /// A passage that a reranker finds at most so relevant needs none, and is left out.
    pub clearly_irrelevant: f32,
    /// How many passages a model grades in one call.
    pub passages_per_call: usize,
    /// How many such calls are made at once.
    pub parallel_calls: usize,
}

impl Default for Corrective {
    fn default() -> Self {
        Self {
            rounds: 3,
            web_search: false,
            sure: 0.8,
            clearly_relevant: 0.95,
            clearly_irrelevant: 0.01,
            passages_per_call: 1,
            parallel_calls: 4,
        }
    }
}
