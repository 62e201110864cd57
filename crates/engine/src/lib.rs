//! Runs turns so that none is lost.
//!
//! [`Engine`] is what the server and the terminal speak to: submit a turn to a thread, follow its
//! events, stop it, answer its question, read the conversation. [`LocalEngine`] keeps threads, runs,
//! steps and events in one SQLite file, [`PostgresEngine`] in Postgres, which any number of processes
//! share. Whatever implements [`Engine`] keeps the rules that the `conformance` suite checks.

#[cfg(feature = "conformance")]
pub mod conformance;
mod coordination;
mod copy;
mod engine;
mod error;
mod facts;
mod local;
mod postgres;
mod run;
mod store;
mod stream;
mod types;

pub use coordination::Coordination;
pub use copy::{CopyReport, FileKind, copy_from_postgres, copy_to_postgres};
pub use engine::{Engine, EventStream};
pub use error::{BackendError, Error};
pub use facts::{FactsRange, TurnFacts, TurnFilter, TurnMeasures};
pub use local::{Conversation, EngineFile, FileReport, FileSnapshot, LocalEngine, LockGuard};
pub use postgres::{PostgresEngine, PostgresError, PostgresSettings};
pub use run::{GraphEntry, Graphs, JobGraph, RunSettings, TurnGraph};
pub use stream::{LoadEvents, TurnEvents, load_events, output_of, turn_events};
pub use types::{
    ApiKey, Event, Feedback, Job, Lifetime, MOST_ID_BYTES, MOST_MESSAGE_BYTES, MOST_METADATA_BYTES,
    MOST_WINDOW_BYTES, MessageWindow, NewJob, Run, RunStatus, Stop, Submitted, Thread, ThreadCursor,
    ThreadField, ThreadFilter, ThreadMessage, ThreadOrder, ThreadPage, ThreadStatus, ThreadUpdate, Turn,
    UnfinishedJob, WhenBusy,
};
