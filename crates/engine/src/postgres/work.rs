//! Working on runs that this process has, and what running them needs of the database.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::trace::{self, RunSpan};
use ibid_core::{Message, RunId, Tenant};
use ibid_graph::{EventKind, Record, StepEvent, Version};
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument;

use super::PostgresEngine;
use super::bound::bind;
use super::journal::{last_number, read_input, summary};
use super::threads::read_messages;
use crate::run::event_list::JournalSummary;
use crate::run::{
    DrainGate, Graphs, LiveRun, Outcome, RunClaim, RunInput, RunLog, RunRow, RunStore, Started, Stopping,
    run_turn,
};
use crate::store::StoreError;

/// How long to wait before a run is taken up again after something failed that should not have.
const PAUSE: Duration = Duration::from_secs(1);

const RESTART: &str = "
    WITH claimed AS (
        UPDATE runs SET version = $10, interrupted_step = NULL, interrupt = NULL, resume_value = NULL
        WHERE key = $2 AND owner = $1 AND epoch = $3 AND ended_ms IS NULL RETURNING key, journal_day),
    steps AS (
        UPDATE journal SET step = NULL, node = NULL, state_update = NULL FROM claimed
        WHERE journal.run = claimed.key AND journal.day = claimed.journal_day AND step IS NOT NULL),
    told AS (
        INSERT INTO journal (day, run, last, step, node, state_update, events)
        SELECT claimed.journal_day, told.* FROM claimed,
            unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[])
                AS told (run, last, step, node, state_update, events)
        ON CONFLICT DO NOTHING)
    SELECT true FROM claimed";

impl PostgresEngine {
    /// Notes that this process has a run, of which events up to `told` are stored. What it did for an earlier claim of it is void.
    pub(super) fn watch(&self, run: RunId, tenant: Tenant, key: i64, claim: RunClaim, told: u64) -> LiveRun {
        let log = RunLog::claimed(run, key, claim.epoch, told, self.flush_queue().clone());
        let live = LiveRun::new(tenant, log);
        self.stop_working_on(run, None);
        self.live().add(run, live.clone());
        self.run_taken().notify_waiters();
        live
    }

    /// Works on a run until it ends or waits for a person.
    pub(super) fn take_up(&self, turn: Started, live: LiveRun, slot: OwnedSemaphorePermit) {
        if live.claim() {
            let span = trace::run_span(&RunSpan {
                run: turn.run,
                thread: (!turn.is_job()).then_some(turn.thread),
                graph: &turn.graph,
                tenant: &live.tenant,
                parent: turn.trace,
            });
            self.spawn(self.clone().work(turn, live, slot).instrument(span));
        }
    }

    /// Works on a run that is stored, if this process has it and does not work on it yet.
    pub(super) async fn take_up_if_own(&self, row: RunRow, slot: Option<OwnedSemaphorePermit>) {
        if row.claim.owner != Some(self.worker_id()) {
            if row.claim.owner.is_none() {
                self.hint_work();
            }
            return;
        }
        // Another task may be at it already.
        let Some(_lock) = self.run_locks().try_lock(row.id) else { return };
        let known = self.live().get(row.id).is_some_and(|live| live.log.epoch() == row.claim.epoch);
        if known || row.ended_ms.is_some() {
            return;
        }
        let prepared = async {
            let tenant = tenant_of(&row)?;
            let slot = match slot {
                Some(slot) => slot,
                None => self.slot().await.ok_or(StoreError::Closed)?,
            };
            // After whatever there was to wait for: others may have taken it over meanwhile.
            let told = last_number(self.database(), &row).await?;
            Ok::<_, StoreError>(told.map(|told| (tenant, told, slot)))
        };
        match prepared.await {
            Ok(None) => {}
            Ok(Some((tenant, told, slot))) => {
                let live = self.watch(row.id, tenant, row.key, row.claim, told);
                // How long it takes says something only of a run that nobody had, and that did not wait for a person.
                if told > 0 || row.claim.left {
                    live.stop_clock();
                }
                if let Some(how) = row.stopping {
                    live.stop(how);
                }
                self.suspect(&row);
                self.take_up(Started { left: row.claim.left, ..row.into() }, live, slot);
            }
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, run = %row.id, "a run could not be taken up");
                self.give_back(row.key, row.claim.epoch).await;
            }
        }
    }

    async fn work(self, mut turn: Started, live: LiveRun, slot: OwnedSemaphorePermit) {
        let mut slot = Some(slot);
        if live.log.is_new() {
            let trace_id = turn.trace.map(|trace| trace.trace_id());
            live.log.add(StepEvent::of_run(EventKind::RunStarted { trace_id }));
        }
        let set_aside = self.why_set_aside(&turn);
        let came = match &set_aside {
            Some(why) => Ok(Outcome::Failed(why.clone(), None)),
            None => run_turn(&self, &mut turn, &live).await,
        };
        let worked = match came {
            Ok(outcome) => self.conclude(&turn, &live, outcome, &mut slot).await,
            Err(error) => Err(error),
        };
        if let Err(error) = worked {
            // Whatever it told and did not write is void; whoever takes it up reads what is stored.
            let is_lost = live.log.is_discarded() || matches!(error, StoreError::Gone | StoreError::Closed);
            self.lost(&live.log);
            if !is_lost {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the turn is taken up again in {PAUSE:?}"
                );
                tokio::time::sleep(PAUSE).await;
                self.give_back(turn.key, live.log.epoch()).await;
            }
        }
        drop(slot);
        self.has_room();
        self.is_past(turn.key);
    }

    /// A run is another's now, or was deleted: nothing more that this claim of it tells counts.
    pub(super) fn lost(&self, log: &RunLog) {
        log.discard();
        if self.live().get(log.run()).is_some_and(|live| live.log.epoch() == log.epoch()) {
            self.stop_working_on(log.run(), None);
        }
    }

    /// Stops this process's work on a run that is another's now, or nobody's.
    pub(super) fn stop_working_on(&self, run: RunId, how: Option<Stopping>) {
        if let Some(live) = self.live().remove(run) {
            live.log.discard();
            live.stop(how.unwrap_or(Stopping::Stop));
        }
    }

    /// Forgets a run that rests, so that whoever follows it reads what is stored.
    pub(super) fn release(&self, run: RunId) {
        if let Some(live) = self.live().remove(run) {
            live.log.discard();
        }
    }
}

fn tenant_of(row: &RunRow) -> Result<Tenant, StoreError> {
    let scope: ibid_core::Scope = serde_json::from_str(&row.scope).map_err(StoreError::damaged)?;
    Ok(scope.tenant().clone())
}

#[async_trait]
impl RunStore for PostgresEngine {
    fn graphs(&self) -> &Graphs {
        self.registered_graphs()
    }

    fn drain(&self) -> &Arc<DrainGate> {
        self.drain_gate()
    }

    fn stop_grace(&self) -> Duration {
        self.settings().runs.stop_grace
    }

    async fn history(&self, thread: i64, range: Range<i64>) -> Result<Vec<Message>, StoreError> {
        read_messages(self.database(), thread, range).await
    }

    async fn stored(&self, row: &RunRow) -> Result<(RunInput, Vec<Record>), StoreError> {
        read_input(self.database(), row).await
    }

    async fn summary(&self, row: &RunRow) -> Result<JournalSummary, StoreError> {
        summary(self.database(), row).await
    }

    async fn restart(
        &self,
        _row: &RunRow,
        live: &LiveRun,
        version: Version,
        reason: String,
    ) -> Result<(), StoreError> {
        let _writing = live.log.writing().lock_owned().await;
        let restarted = StepEvent::of_run(EventKind::RunRestarted { reason });
        let more = bind![version.to_string()].to_vec();
        let written = self.write_claimed(&live.log, RESTART, vec![restarted], None, more).await?;
        written.map(|_| ()).ok_or(StoreError::Gone)
    }
}
