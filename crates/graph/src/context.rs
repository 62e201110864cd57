//! What a node is handed besides the state: the event sink and the cancel token.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::event::{EventKind, EventSink, NullSink, StepEvent};
use crate::record::StepRef;

/// What the caller of a run hands in: where events go, and how the run is stopped.
#[derive(Clone)]
pub struct RunHost {
    /// Takes the events of the run.
    pub sink: Arc<dyn EventSink>,
    /// Stops the run when cancelled.
    pub cancel: CancellationToken,
    /// How long a stopped node may take to give back what it has.
    pub grace: Duration,
}

impl RunHost {
    /// How long a stopped node may take unless the caller says otherwise.
    pub const GRACE: Duration = Duration::from_secs(2);

    /// A host that sends events to `sink`.
    pub fn new(sink: Arc<dyn EventSink>) -> Self {
        Self { sink, cancel: CancellationToken::new(), grace: Self::GRACE }
    }
}

impl Default for RunHost {
    fn default() -> Self {
        Self::new(Arc::new(NullSink))
    }
}

/// One attempt at one step, as its node sees it.
#[derive(Clone)]
pub struct Context {
    step: StepRef,
    attempt: u32,
    sink: Arc<dyn EventSink>,
    cancel: CancellationToken,
}

impl Context {
    pub(crate) fn new(step: StepRef, attempt: u32, host: &RunHost) -> Self {
        Self { step, attempt, sink: host.sink.clone(), cancel: host.cancel.clone() }
    }

    /// Number of the step in its run, from 1.
    pub fn step(&self) -> u32 {
        self.step.number
    }

    /// Path of the node.
    pub fn node(&self) -> &str {
        &self.step.node
    }

    /// Which attempt at this step, from 1, over all processes that tried.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Says in words what the node is doing.
    pub fn status(&self, text: impl Into<String>) {
        self.emit(EventKind::Status { text: text.into() });
    }

    /// Passes on a piece of the answer.
    pub fn token(&self, text: impl Into<String>) {
        self.emit(EventKind::Token { text: text.into() });
    }

    /// Tells anything else.
    pub fn custom(&self, name: impl Into<String>, value: Value) {
        self.emit(EventKind::Custom { name: name.into(), value });
    }

    /// The token that a stop cancels. Hand it to whatever must end at once, such as a model's request.
    ///
    /// A node that sees it cancelled returns what it has as its update; the run then ends as stopped
    /// and keeps it.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    pub(crate) fn emit(&self, kind: EventKind) {
        self.sink.emit(StepEvent { step: self.step.number, attempt: self.attempt, kind });
    }
}
