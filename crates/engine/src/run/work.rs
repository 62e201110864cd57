//! What a turn is taken up with, and how far it came.

use std::ops::Range;

use ibid_core::trace::TraceParent;
use ibid_core::{Message, RunId, Scope, ThreadId, TurnOptions};
use serde_json::Value;

use super::graphs::RunOutput;
use super::journal::Unflushed;
use super::rows::RunRow;

/// A turn that has been started, in this process or an earlier one.
pub(crate) struct Started {
    pub(crate) key: i64,
    pub(crate) run: RunId,
    pub(crate) thread_key: i64,
    pub(crate) thread: ThreadId,
    pub(crate) graph: String,
    /// The place in its trace.
    pub(crate) trace: Option<TraceParent>,
    pub(crate) input: Input,
    /// Whether a process had begun it and did not end it.
    pub(crate) left: bool,
}

impl Started {
    /// Whether it is a job, and no turn.
    pub(crate) fn is_job(&self) -> bool {
        match &self.input {
            Input::Turn { .. } => false,
            Input::Job { .. } => true,
            Input::Stored(row) => row.request.is_some(),
        }
    }
}

/// Where the input of a turn is.
pub(crate) enum Input {
    /// Here, except for the history.
    Turn { scope: Scope, messages: Vec<Message>, options: TurnOptions, history: Range<i64> },
    /// Here.
    Job { scope: Scope, request: Value },
    /// In the file, perhaps with steps.
    Stored(Box<RunRow>),
}

impl From<RunRow> for Started {
    fn from(row: RunRow) -> Self {
        Self {
            key: row.key,
            run: row.id,
            thread_key: row.thread_key,
            thread: row.thread,
            graph: row.graph.clone(),
            trace: row.trace,
            input: Input::Stored(Box::new(row)),
            left: false,
        }
    }
}

/// How far a turn came.
pub(crate) enum Outcome {
    /// It reached its end and says this; its last step may not be written down yet.
    Done(RunOutput, Option<Unflushed>),
    /// It was stopped and had this; its last step may not be written down yet.
    Stopped(RunOutput, Option<Unflushed>),
    /// It failed; the last step that it finished may not be written down yet.
    Failed(String, Option<Unflushed>),
    /// It waits for a person.
    Interrupted { step: u32, question: Value },
}
