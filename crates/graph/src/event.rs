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
    pub kind: EventKind,
}

impl StepEvent {
    /// An event of the run itself.
    pub fn of_run(kind: EventKind) -> Self {
        Self { step: 0, attempt: 0, kind }
    }
}

/// The kinds of events. Engines store them: a kind may gain fields and never lose one, and what an earlier
/// version called a kind or a field is read for ever (the aliases).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The run begins.
    RunStarted {
        /// Its trace, for whoever looks for it in the log or where traces are kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace_id: Option<String>,
    },
    /// A node begins an attempt.
    #[serde(alias = "started")]
    StepStarted {
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
    /// An event that the graph defines itself, such as a tool call, sources or usage.
    #[serde(alias = "data")]
    Custom {
        /// Its name.
        name: String,
        /// Its content.
        value: Value,
    },
    /// The attempt failed, and another follows.
    #[serde(alias = "retrying")]
    StepRetrying {
        /// Why it failed.
        error: String,
        /// How long the next attempt waits.
        after_ms: u64,
    },
    /// The step is recorded. It will not run again.
    #[serde(alias = "finished")]
    StepFinished {
        /// How long it took, with all its attempts.
        #[serde(default)]
        milliseconds: u64,
    },
    /// The run waits for a person.
    #[serde(alias = "asked")]
    Interrupted {
        /// What is asked.
        #[serde(alias = "question")]
        value: Value,
    },
    /// The person answered, and the run goes on.
    #[serde(alias = "answered")]
    RunResumed,
    /// The run goes on after the process that ran it had ended.
    #[serde(alias = "resumed")]
    RunRecovered,
    /// The run begins again from its input, because its records no longer fit the graph.
    #[serde(alias = "restarted")]
    RunRestarted {
        /// What did not fit.
        reason: String,
    },
    /// The run is over. No event follows.
    #[serde(alias = "ended")]
    RunEnded {
        /// How it ended, in the engine's words.
        status: String,
        /// What went wrong, if something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl EventKind {
    pub(crate) fn retrying(error: &dyn std::error::Error, after: Duration) -> Self {
        let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        Self::StepRetrying { error: error.to_string(), after_ms }
    }
}

/// Where events go. `emit` is called from inside nodes, so it must neither block nor fail.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn emit(&self, event: StepEvent);
}

/// A sink for callers that do not listen.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullSink;

impl EventSink for NullSink {
    fn emit(&self, _event: StepEvent) {}
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_of_earlier_versions_are_read() {
        let stored = json!([
            { "step": 1, "attempt": 1, "kind": "started", "node": "say" },
            { "step": 1, "attempt": 1, "kind": "data", "name": "sources", "value": [] },
            { "step": 1, "attempt": 1, "kind": "retrying", "error": "busy", "after_ms": 5 },
            { "step": 1, "attempt": 2, "kind": "finished" },
            { "step": 2, "attempt": 1, "kind": "asked", "question": "Which one?" },
            { "step": 0, "attempt": 0, "kind": "answered" },
            { "step": 0, "attempt": 0, "kind": "resumed" },
            { "step": 0, "attempt": 0, "kind": "restarted", "reason": "another graph" },
            { "step": 0, "attempt": 0, "kind": "ended", "status": "done" },
        ]);
        let read: Vec<StepEvent> = serde_json::from_value(stored).unwrap();
        assert_eq!(read[4].kind, EventKind::Interrupted { value: json!("Which one?") });
        assert_eq!((&read[5].kind, &read[6].kind), (&EventKind::RunResumed, &EventKind::RunRecovered));
    }
}
