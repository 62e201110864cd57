//! One SQLite file: one writer that shares commits, any number of readers, the growing journals of
//! unfinished runs, and the statements.

mod feedback;
mod file;
mod journal;
mod listing;
mod log;
mod pace;
mod readers;
mod rows;
mod runs;
mod spending;
mod threads;
mod told;
mod writer;

pub(crate) use feedback::{add_feedback, read_feedback};
pub use file::StoreError;
pub(crate) use file::{Lock, open_for_writing, quick_check, schema_of, size_bytes};
pub(crate) use journal::{attempts_made, last_number, read_events, read_steps};
pub(crate) use listing::{count_threads, list_threads};
pub(crate) use log::{RunLog, Sink, Unwritten};
pub(crate) use readers::Readers;
pub(crate) use rows::{NewRun, RunRow, Stopping, encode, encode_all, now_ms};
pub(crate) use runs::*;
pub(crate) use spending::{spend, spent};
pub(crate) use threads::*;
#[cfg(test)]
pub(crate) use told::gather_all;
pub(crate) use told::trim_told;
pub(crate) use writer::{Batch, Writer};
