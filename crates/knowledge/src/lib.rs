//! From documents to evidence.
//!
//! A [`Store`] at a folder or on object storage holds the chunks of documents in a Lance table, the
//! ledger of what was read of them, and their originals. [`Ingestion`] loads documents into it as a graph
//! of steps, each safe once it is done; [`Search`] finds what they say to a question.
#![recursion_limit = "256"]

mod cache;
mod calibrate;
mod catalogue;
mod chunk;
mod content;
mod document;
mod error;
mod fuse;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod ingest;
mod language;
mod search;
mod state;
mod store;
mod tables;
mod terms;

pub use cache::CachedAnswers;
pub use calibrate::Calibration;
pub use catalogue::StoredCatalogues;
pub use chunk::{Chunk, ChunkSize};
pub use content::ContentHash;
pub use document::{Document, DocumentOrigin, PageCounts, PageRecord, document_id};
pub use error::Error;
pub use fuse::Weight;
pub use ibid_core::load::{LoadOutcome, LoadSummary};
pub use ingest::{Download, Ingestion, LoadRequest, LoadSettings};
pub use search::{Search, SearchMode};
pub use state::{DocumentState, DocumentStatus, LoadResult};
pub use store::fsck::{ActiveLoads, FsckReport, StoreProblem};
pub use store::{
    BlobInfo, BlobPin, BlobStore, Content, Disk, DocumentChange, DocumentEdit, DocumentRow,
    MaintenanceReport, MaintenanceSettings, SnapshotObjects, Store, StoreSnapshot,
};
