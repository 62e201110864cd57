//! Errors of nodes, of building, and of running. A node says whether trying again may help by the
//! type of its error: [`Retryable`] or [`Terminal`].

use std::error::Error;
use std::time::Duration;

use crate::record::RecordError;

type Source = Box<dyn Error + Send + Sync>;

/// An error told in words, with the error underneath.
macro_rules! failure {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, thiserror::Error)]
        #[error("{message}")]
        pub struct $name {
            message: String,
            #[source]
            source: Option<Source>,
        }

        impl $name {
            /// What went wrong, in words.
            pub fn new(message: impl Into<String>) -> Self {
                Self { message: message.into(), source: None }
            }

            /// The error underneath.
            #[must_use]
            pub fn caused_by(mut self, source: impl Into<Source>) -> Self {
                self.source = Some(source.into());
                self
            }
        }
    };
}

failure! {
    /// A node failed and would fail again: the run ends.
    Terminal
}

failure! {
    /// A journal could not read or write.
    JournalError
}

/// A node failed in a way that may pass: the runner tries again as the node's retry policy says.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Retryable {
    message: String,
    #[source]
    source: Option<Source>,
    after: Option<Duration>,
}

impl Retryable {
    /// A passing failure, in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, after: None }
    }

    /// The error underneath.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The next attempt waits at least this long, as a provider's `Retry-After` asks.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.after = Some(delay);
        self
    }

    pub(crate) fn delay(&self) -> Option<Duration> {
        self.after
    }
}

/// What a node may fail with. Both kinds convert with `?`.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// Trying again may help.
    #[error(transparent)]
    Retryable(#[from] Retryable),
    /// Trying again will not help.
    #[error(transparent)]
    Terminal(#[from] Terminal),
}

/// Says of any error whether trying again may help, so that `?` can carry it out of a node.
pub trait ErrorExt<T> {
    /// The failure may pass.
    ///
    /// # Errors
    /// Returns the failure as [`Retryable`], with `doing` as what was attempted.
    fn retryable(self, doing: &str) -> Result<T, Retryable>;

    /// The failure is for good.
    ///
    /// # Errors
    /// Returns the failure as [`Terminal`], with `doing` as what was attempted.
    fn terminal(self, doing: &str) -> Result<T, Terminal>;
}

impl<T, E: Into<Source>> ErrorExt<T> for Result<T, E> {
    fn retryable(self, doing: &str) -> Result<T, Retryable> {
        self.map_err(|source| Retryable::new(format!("{doing} failed")).caused_by(source))
    }

    fn terminal(self, doing: &str) -> Result<T, Terminal> {
        self.map_err(|source| Terminal::new(format!("{doing} failed")).caused_by(source))
    }
}

/// Why a walk cannot go on: the graph's own code contradicts the graph or its records.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// A route returned a name that its branch does not list.
    #[error("the route after `{node}` named `{target}`, which is not one of its targets")]
    Route {
        /// Where the branch starts.
        node: String,
        /// What the route returned.
        target: String,
    },
    /// The record belongs to another node than the one whose turn it is.
    #[error("step {step} was recorded for `{recorded}`, but the graph is at `{expected}`, step {at}")]
    OtherNode {
        /// Number of the step.
        step: u32,
        /// The node in the record.
        recorded: String,
        /// The node that the graph would run.
        expected: String,
        /// Number of the step that the graph would run.
        at: u32,
    },
    /// The recorded update is not one that this state knows.
    #[error("the recorded update of step {step} (`{node}`) does not fit the state any more")]
    Update {
        /// Number of the step.
        step: u32,
        /// The node in the record.
        node: String,
        /// Why it could not be read.
        #[source]
        source: serde_json::Error,
    },
    /// Someone applied an update of another graph's state.
    #[error("the update applied at `{node}` belongs to another state")]
    ForeignUpdate {
        /// Where the walk stands.
        node: String,
    },
    /// Someone applied an update after the end.
    #[error("the walk has ended, no further step fits")]
    Ended,
    /// The beginning of an inner graph refused its input.
    #[error("the inner graph `{graph}` cannot begin")]
    InvalidInput {
        /// Name of the inner graph.
        graph: String,
        /// Why.
        #[source]
        source: Source,
    },
}

/// Why an answer was not taken. The run goes on waiting.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The run does not wait for an answer now.
    #[error("nothing is being asked at this point")]
    NotInterrupted,
    /// The answer has another form than the question wants.
    #[error("the answer does not have the form that `{node}` asked for: {source}")]
    Form {
        /// The node that asks.
        node: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Why a step did not end with an update.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The run was stopped while the node worked, and the node gave nothing back.
    #[error("the step was stopped")]
    Stopped,
    /// The node failed for good, or used up its attempts.
    #[error("`{node}` failed after {attempts} attempt(s): {error}")]
    Failed {
        /// Path of the node.
        node: String,
        /// How often it was tried in this process.
        attempts: u32,
        /// Its last error.
        error: NodeError,
    },
    /// What the node changed cannot be written down.
    #[error("`{node}` finished, but its update cannot be recorded: {error}")]
    Record {
        /// Path of the node.
        node: String,
        /// Why not.
        error: RecordError,
    },
    /// The journal could not read or write.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Why a run ended without reaching END.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A step failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The records do not fit the graph, or a route left it.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// The run was stopped.
    #[error("the run was stopped")]
    Stopped,
    /// The run waits for a person, and there is no journal to keep it meanwhile.
    #[error("`{node}` asks a person; run the graph with a journal that can take the answer")]
    Interrupted {
        /// The node that asks.
        node: String,
    },
}
