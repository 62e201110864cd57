//! How far a turn may go.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a turn may go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// How many earlier messages a turn begins with.
    pub history_messages: usize,
    /// How many tokens of them a model is shown.
    pub history_tokens: usize,
    /// How many seconds a model on this machine, or beside it, may read before it begins to answer. It is shown what fits
    /// the question best of what it cannot read in that time.
    pub patience_seconds: u64,
    /// How many tokens an answer may have; as the model is configured if not set.
    pub answer_tokens: Option<usize>,
    /// How many rounds of tools.
    pub rounds: u32,
    /// How many tools are called in one round.
    pub calls: usize,
    /// How many tokens the rounds of tools may take; after that the answer is written.
    pub tokens: u64,
    /// How many seconds the rounds of tools may take; after that the answer is written.
    pub seconds: u64,
    /// How many seconds one tool may take.
    pub tool_seconds: u64,
}

impl Limits {
    /// How long a model may read.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.patience_seconds)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            history_messages: 20,
            history_tokens: 2000,
            patience_seconds: 20,
            answer_tokens: None,
            rounds: 5,
            calls: 8,
            tokens: 100_000,
            seconds: 300,
            tool_seconds: 60,
        }
    }
}
