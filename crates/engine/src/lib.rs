//! Runs turns so that none is lost.
//!
//! [`Engine`] is what the server and the terminal speak to: submit a turn to a thread, follow its
//! events, stop it, answer its question, read the conversation. [`LocalEngine`] keeps threads, runs,
//! steps and events in one SQLite file. Whatever implements [`Engine`] keeps the rules that the
//! `conformance` suite checks.

#[cfg(feature = "conformance")]
pub mod conformance;
mod engine;
mod error;
mod local;
mod nouns;
mod store;

pub use engine::{Engine, EventStream};
pub use error::Error;
pub use local::{
    Assistant, Assistants, Conversation, EngineFile, FileReport, Held, LocalEngine, LocalSettings,
    TurnProgram, Unfinished,
};
pub use nouns::{
    Event, Feedback, Lifetime, MessageWindow, Run, RunStatus, Said, Stop, Submitted, Thread, ThreadField,
    ThreadFilter, ThreadOrder, ThreadPage, ThreadPlace, ThreadStatus, Turn, WhenBusy,
};
pub use store::StoreError;
