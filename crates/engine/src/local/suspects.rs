//! Runs that may end the process that works on them: they are told apart from others, and set aside.
//!
//! A process that ends without a word leaves its runs where they are, and the next one takes them up. Each time, it is written
//! down before anything else is done. A run that was at work whenever the process ended, and never got past that step, is set
//! aside. Where others were at work as well, those that were take that step one after the other, so that the next end tells
//! which it was.

use std::sync::atomic::Ordering;

use super::LocalEngine;
use crate::run::{Input, LiveRun, RunRow, SET_ASIDE, Started};
use crate::store::{self, Batch, StoreError};
use crate::types::RunStatus;

/// Whether a run that an earlier process left may be worked on.
pub(super) enum Admission {
    /// It may.
    Free,
    /// It may, once this is noted.
    Counted(Attempt),
    /// It may not, for this reason.
    SetAside(String),
}

/// What is noted of a run that is taken up: the step, and how many processes ended at it.
#[derive(Clone, Copy)]
pub(super) struct Attempt {
    key: i64,
    step: i64,
    crashes: i64,
}

impl LocalEngine {
    /// Decides on a run, and lets it wait for others that may have ended the process. One that was not told of was not at
    /// work.
    pub(super) async fn admit(&self, turn: &Started, live: &LiveRun) -> Result<Admission, StoreError> {
        let Input::Stored(row) = &turn.input else { return Ok(Admission::Free) };
        if !turn.left || row.status != RunStatus::Running || live.stopping().is_some() {
            return Ok(Admission::Free);
        }
        let key = row.key;
        let step = self.0.readers.read(move |connection| store::next_step(connection, key)).await?;
        let crashes = if live.log.is_new() { 0 } else { row.crashes_at(step) };
        let most = self.0.settings.crashes.max(1);
        let alone = self.0.suspects.at_work.load(Ordering::Relaxed) <= 1;
        if crashes > most || (crashes == most && alone) {
            let set_aside = move |connection: &_| store::set_crashes(connection, key, step, SET_ASIDE);
            self.writer()?.write(Batch::default(), set_aside).await?;
            let (what, crashes) = (if turn.is_job() { "job" } else { "turn" }, crashes.min(most + 1));
            tracing::error!(run = %turn.run, step, crashes, "a {what} was set aside");
            return Ok(Admission::SetAside(format!(
                "it was set aside: {crashes} times the process ended without a word while it was at step {step} of this {what}"
            )));
        }
        if crashes > 0 && self.0.suspects.are_there.load(Ordering::Relaxed) {
            // Whoever is stopped meanwhile does nothing at this step.
            let lane = self.0.suspects.lane.clone().acquire_owned();
            if let Some(Ok(lane)) = live.cancel.run_until_cancelled(lane).await {
                live.take_lane(step, lane);
            }
        }
        Ok(Admission::Counted(Attempt { key, step, crashes }))
    }

    /// Notes that a run is worked on now.
    pub(super) async fn count_attempt(&self, attempt: Attempt) -> Result<(), StoreError> {
        let Attempt { key, step, crashes } = attempt;
        let count = move |connection: &_| store::set_crashes(connection, key, step, crashes);
        self.writer()?.write(Batch::default(), count).await
    }

    /// Looks which runs may have ended the process, among those that it left, with their step and whether they were told of.
    pub(super) fn look_for_suspects<'r>(&self, rows: impl Iterator<Item = (&'r RunRow, i64, bool)>) {
        let (mut at_work, mut are_there) = (0, false);
        for (row, step, is_told) in rows.filter(|(row, _, _)| row.status == RunStatus::Running) {
            let crashes = if is_told { row.crashes_at(step) } else { 0 };
            at_work += usize::from(crashes > 0);
            are_there |= crashes >= self.0.settings.crashes.max(1);
        }
        self.0.suspects.at_work.store(at_work, Ordering::Relaxed);
        self.0.suspects.are_there.store(are_there, Ordering::Relaxed);
    }

    /// Writes down that this process ends in order, so that nothing it leaves is suspected.
    pub(super) async fn clear_suspects(&self) {
        let cleared = match self.writer() {
            Ok(writer) => writer.write(Batch::default(), store::clear_crashes).await,
            Err(error) => Err(error),
        };
        if let Err(error) = cleared {
            tracing::warn!(error = &error as &dyn std::error::Error, "the end of this process was not noted");
        }
    }
}
