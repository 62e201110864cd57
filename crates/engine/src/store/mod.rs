//! One SQLite file: one writer that shares commits, any number of readers, the growing journals of
//! unfinished runs, and the statements.

mod api_keys;
#[cfg(test)]
mod conforms;
mod datasets;
mod error;
mod facts;
mod feedback;
mod file;
mod journal;
mod large;
mod latency;
mod listing;
mod pending_events;
mod readers;
mod rows;
mod runs;
mod spending;
mod threads;
mod traces;
mod visibility;
mod writer;

pub(crate) use api_keys::{add_api_key, api_key_tenants, delete_api_key, find_api_key, list_api_keys};
pub(crate) use datasets::{delete_items, list_datasets, put_item, read_items};
pub(crate) use error::StoreError;
pub(crate) use facts::{add_facts, read_facts};
pub(crate) use feedback::{add_feedback, read_feedback};
pub(crate) use file::{
    Lock, copy_pages, is_current, log_bytes, make_private, migrate_copy, migrated_copy, open_for_writing,
    open_to_look, quick_check, reclaim_space, remove_copies_older_than, schema_of, size_bytes,
};
pub(crate) use journal::{last_number, read_events, read_steps, summary};
pub(crate) use listing::{count_threads, list_threads};
#[cfg(test)]
pub(crate) use pending_events::fold_all_into_journal;
pub(crate) use pending_events::trim_pending_events;
pub(crate) use readers::Readers;
pub(crate) use runs::*;
pub(crate) use spending::{spend, spent};
pub(crate) use threads::*;
pub(crate) use traces::{drop_journals, drop_traces_before, pack_ended_before};
pub(crate) use visibility::ThreadUse;
pub(crate) use writer::{Batch, Writer};
