//! What a run tells while it works. The engine numbers these, keeps them and passes them on.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that happened in a step. Step 0 is the run itself.
///
/// Whoever shows events throws away what it has shown of a step when it sees a higher `attempt` of
/// that step: the earlier attempt did not finish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepEvent {
    /// Number of the step, from 1; 0 for the run itself.
    pub step: u32,
    /// Which attempt at the step, from 1; 0 for the run itself.
    pub attempt: u32,
    /// What happened.
    #[serde(flatten)]
    pub kind: Kind,
}

impl StepEvent {
    /// An event of the run itself.
    pub fn of_run(kind: Kind) -> Self {
        Self { step: 0, attempt: 0, kind }
    }
}

/// The kinds of events. Engines store them, so a kind may gain fields but never lose one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// A node begins an attempt.
    Started {
        /// Path of the node.
        node: Arc<str>,
    },
    /// What the node is doing, in words for a person.
    Status {
        /// The words.
        text: String,
    },
    /// A piece of the answer, as the model wrote it.
    Token {
        /// The piece.
        text: String,
    },
    /// Anything else that a node tells: a tool call, sources, usage.
    Data {
        /// What it is.
        name: String,
        /// Its content.
        value: Value,
    },
    /// The attempt failed, and another follows.
    Retrying {
        /// Why it failed.
        error: String,
        /// How long the next attempt waits.
        after_ms: u64,
    },
    /// The step is written down. It will not run again.
    Finished {
        /// How long it took, with all its attempts.
        #[serde(default)]
        milliseconds: u64,
    },
    /// The run waits for a person.
    Asked {
        /// What is asked.
        question: Value,
    },
    /// The answer came, and the run goes on.
    Answered,
    /// The run goes on after the process that ran it had ended.
    Resumed,
    /// The run begins again from its input, because its records no longer fit the graph.
    Restarted {
        /// What did not fit.
        reason: String,
    },
    /// The run is over. No event follows.
    Ended {
        /// How it ended, in the engine's words.
        status: String,
        /// What went wrong, if something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl Kind {
    pub(crate) fn retrying(error: &dyn std::error::Error, after: Duration) -> Self {
        let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        Self::Retrying { error: error.to_string(), after_ms }
    }
}

/// Where events go. `emit` is called from inside nodes, so it must neither block nor fail.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn emit(&self, event: StepEvent);
}

/// A sink for callers that do not listen.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl EventSink for Silent {
    fn emit(&self, _event: StepEvent) {}
}
