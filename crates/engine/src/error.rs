//! What an engine refuses or fails with.

use ibid_core::{RunId, ThreadId};
use ibid_graph::{AnswerError, WalkError};

use crate::store::StoreError;

/// Why an engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No assistant has that name.
    #[error("there is no assistant `{0}`")]
    UnknownAssistant(String),
    /// No such thread, or one of another tenant.
    #[error("there is no thread {0}")]
    UnknownThread(ThreadId),
    /// No such run, or one of another tenant.
    #[error("there is no run {0}")]
    UnknownRun(RunId),
    /// The thread works on another turn, and the caller did not want to wait.
    #[error("the thread is busy with run {0}")]
    Busy(RunId),
    /// The run does not ask anything now.
    #[error("run {0} is not waiting for an answer")]
    NotWaiting(RunId),
    /// The answer was refused; the run goes on waiting.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The steps or events were dropped after their retention time, or have not got that far.
    #[error("run {run} has no step {step}; steps are dropped some time after a run has ended")]
    NoSuchStep {
        /// Which run.
        run: RunId,
        /// Which step was asked for.
        step: u32,
    },
    /// The events of the run were dropped after their retention time.
    #[error("the events of run {0} were dropped, as they are some time after a run has ended")]
    EventsDropped(RunId),
    /// The graph no longer fits what is stored.
    #[error("the stored run does not fit its graph any more")]
    Walk(#[from] WalkError),
    /// A turn without a message.
    #[error("a turn needs at least one message")]
    NoMessage,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
