//! One SQLite file: one writer that shares commits, any number of readers, and the statements.

mod file;
mod journal;
mod readers;
mod rows;
mod runs;
mod threads;
mod writer;

pub use file::StoreError;
pub(crate) use file::{Lock, open_for_writing, quick_check, schema_version, size_bytes};
pub(crate) use journal::{append, attempts_made, last_number, read_events, read_steps};
pub(crate) use readers::Readers;
pub(crate) use rows::{NewRun, RunRow, Stopping, now_ms};
pub(crate) use runs::*;
pub(crate) use threads::*;
pub(crate) use writer::{Batch, Writer};
