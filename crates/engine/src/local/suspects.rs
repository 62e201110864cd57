//! Runs that may end the process that works on them: they are told apart from others, and set aside.
//!
//! A process that ends without a word leaves its runs where they are, and the next one takes them up. Each time, it is written
//! down before anything else is done. A run that was at work whenever the process ended, and never got past that step, is set
//! aside. Where several fit that, they are taken up one after the other, so that the next end tells which it was.

use std::sync::atomic::Ordering;

use tokio::sync::OwnedSemaphorePermit;

use super::LocalEngine;
use super::live::LiveRun;
use super::work::{Input, Started};
use crate::store::{self, Batch, RunRow, SET_ASIDE, StoreError};
use crate::types::RunStatus;

/// Whether a run that an earlier process left may be worked on.
pub(super) enum Admission {
    /// It may, as long as this is held.
    Admitted(Option<OwnedSemaphorePermit>),
    /// It may not, for this reason.
    SetAside(String),
}

impl LocalEngine {
    /// Decides on a run before it is worked on. A new one only waited to be.
    pub(super) async fn admit(
        &self,
        turn: &Started,
        live: &LiveRun,
        is_new: bool,
    ) -> Result<Admission, StoreError> {
        let Input::Stored(row) = &turn.input else { return Ok(Admission::Admitted(None)) };
        if is_new || !turn.left || row.status != RunStatus::Running || live.stopping().is_some() {
            return Ok(Admission::Admitted(None));
        }
        let key = row.key;
        let step = self.0.readers.read(move |connection| store::next_step(connection, key)).await?;
        let (crashes, most) = (row.crashes_at(step), self.0.settings.crashes.max(1));
        let alone = self.0.suspects.load(Ordering::Relaxed) <= 1;
        if crashes > most || (crashes == most && alone) {
            let set_aside = move |connection: &_| store::set_crashes(connection, key, step, SET_ASIDE);
            self.writer()?.write(Batch::default(), set_aside).await?;
            let what = if turn.is_job() { "job" } else { "turn" };
            tracing::error!(run = %turn.run, step, crashes, "a {what} was set aside");
            return Ok(Admission::SetAside(format!(
                "it was set aside: {crashes} times the process ended without a word while it was at step {step} of this {what}"
            )));
        }
        let lane = if crashes == most { self.0.lane.clone().acquire_owned().await.ok() } else { None };
        let count = move |connection: &_| store::set_crashes(connection, key, step, crashes);
        self.writer()?.write(Batch::default(), count).await?;
        Ok(Admission::Admitted(lane))
    }

    /// Counts the runs that may have ended the process, among those that it left.
    pub(super) fn count_suspects<'r>(&self, rows: impl Iterator<Item = (&'r RunRow, i64)>) {
        let most = self.0.settings.crashes.max(1);
        let suspect =
            |(row, step): &(&RunRow, i64)| row.status == RunStatus::Running && row.crashes_at(*step) >= most;
        self.0.suspects.store(rows.filter(suspect).count(), Ordering::Relaxed);
    }

    /// Writes down that this process ends in order, so that nothing it leaves is suspected.
    pub(super) async fn clear_suspects(&self) -> Result<(), StoreError> {
        self.writer()?.write(Batch::default(), store::clear_crashes).await
    }
}
