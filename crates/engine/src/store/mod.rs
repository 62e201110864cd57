//! One SQLite file: one writer that shares commits, any number of readers, and the statements.

mod events;
mod file;
mod readers;
mod rows;
mod runs;
mod steps;
mod threads;
mod writer;

pub(crate) use events::{append as append_events, attempts_made, last_number, read as read_events};
pub use file::StoreError;
pub(crate) use file::{Lock, open_for_writing, quick_check, schema_version, size_bytes};
pub(crate) use readers::Readers;
pub(crate) use rows::{NewRun, RunRow, Stopping, now_ms};
pub(crate) use runs::*;
pub(crate) use steps::{append as append_step, read as read_steps};
pub(crate) use threads::*;
pub(crate) use writer::{Batch, Writer};
