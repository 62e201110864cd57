//! What an engine refuses or fails with.

use std::path::PathBuf;

use ibid_core::{RunId, ThreadId};
use ibid_graph::{ResumeError, WalkError};

use crate::store::StoreError;

/// Why an engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No graph has that name.
    #[error("there is no assistant `{0}`")]
    UnknownAssistant(String),
    /// No such thread, or one of another tenant.
    #[error("there is no thread {0}")]
    UnknownThread(ThreadId),
    /// A thread of somebody else, who shares it.
    #[error("thread {0} is somebody else's and shared to be read; copy it to go on with it")]
    ReadOnly(ThreadId),
    /// The tenant has a key of that name.
    #[error("there is a key `{0}` already; delete it first, or choose another name")]
    KeyExists(String),
    /// The tenant has no key of that name.
    #[error("there is no key `{0}`")]
    UnknownKey(String),
    /// No such run, or one of another tenant.
    #[error("there is no run {0}")]
    UnknownRun(RunId),
    /// The thread works on another turn, and the caller did not want to wait.
    #[error("the thread is busy with run {0}")]
    Busy(RunId),
    /// The run does not ask anything now.
    #[error("run {0} is not waiting for an answer")]
    NotInterrupted(RunId),
    /// The answer was refused; the run goes on waiting.
    #[error(transparent)]
    Resume(#[from] ResumeError),
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
    /// A message that is longer than any may be.
    #[error(
        "a message has {0} bytes, and may have {most}: load what is longer as a document, and ask about it",
        most = crate::types::MOST_MESSAGE_BYTES
    )]
    MessageTooLong(usize),
    /// More is to be kept with a thread or turn than may be.
    #[error("metadata and options have {0} bytes, and may have {most}", most = crate::types::MOST_METADATA_BYTES)]
    MetadataTooLarge(usize),
    /// A turn without a message.
    #[error("a turn needs at least one message")]
    NoMessage,
    /// Another process runs turns and jobs from the same file.
    #[error("another process is using {path}; stop it, or give this one a file of its own")]
    InUse {
        /// Which file.
        path: PathBuf,
    },
    /// The engine was shut down. Another one takes its runs up.
    #[error("the engine is closed")]
    Closed,
    /// What the engine keeps its runs in does not answer or has no room at the moment.
    #[error(transparent)]
    Unavailable(BackendError),
    /// What the engine keeps its runs in failed.
    #[error(transparent)]
    Backend(BackendError),
}

/// A failure of what an engine keeps its runs in. What that is, is the engine's business.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BackendError(Box<dyn std::error::Error + Send + Sync>);

impl BackendError {
    /// Wraps the failure of a backend.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }

    /// The failure underneath, if it is of a type that the caller knows.
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Closed => Self::Closed,
            StoreError::Locked { path } => Self::InUse { path },
            error if error.may_pass() => Self::Unavailable(BackendError::new(error)),
            error => Self::Backend(BackendError::new(error)),
        }
    }
}
