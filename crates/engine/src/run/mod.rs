//! Running a run, whichever store keeps it: its graph, its log, its journal, and what it is measured by.

mod drain;
pub(crate) mod event_list;
mod graphs;
mod journal;
mod live;
mod log;
mod measure;
pub(crate) mod packing;
mod request;
mod rows;
mod settings;
mod slots;
mod turn;
mod work;

pub(crate) use drain::DrainGate;
pub use graphs::{GraphEntry, Graphs, JobGraph, TurnGraph};
pub(crate) use graphs::{RunInput, RunKind};
#[cfg(test)]
pub(crate) use journal::RunJournal;
pub(crate) use journal::{StepWriter, Unflushed};
pub(crate) use live::{Live, LiveRun};
#[cfg(test)]
pub(crate) use log::Sink;
pub(crate) use log::{EventTable, FlushQueue, RunCommit, RunLog};
pub(crate) use measure::{measured, run_ended};
pub(crate) use request::{Encoded, Requested, check_length, check_metadata};
pub(crate) use rows::*;
pub use settings::RunSettings;
pub(crate) use slots::{TenantSlot, TenantSlots};
pub(crate) use turn::{Conclusion, RunStore, replayed, run_turn};
pub(crate) use work::{Input, Outcome, Started};
