//! From documents to evidence.
//!
//! A [`Store`] at a folder or on object storage holds the chunks of documents in a Lance table, the
//! ledger of what was read of them, and their originals. [`Ingestion`] loads documents into it as a graph
//! of steps, each safe once it is done; [`Search`] finds what they say to a question.
#![recursion_limit = "256"]

mod chunk;
mod document;
mod error;
mod fuse;
mod ingest;
mod language;
mod search;
mod store;
mod terms;

pub use chunk::{Chunk, ChunkSize};
pub use document::{Document, PageRecord, Status, Tally, document_id};
pub use error::Error;
pub use fuse::Weight;
pub use ingest::{Download, Ingestion, Job, Outcome, Settings, Summary};
pub use search::{Search, Way};
pub use store::fsck::{Problem, Report, Underway};
pub use store::{Content, Hold, Kept, Store, Upkeep};
