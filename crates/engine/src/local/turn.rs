//! Working on turns and jobs of this process, and what running them needs of the file.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::Message;
use ibid_core::trace::{self, RunSpan};
use ibid_graph::{EventKind, Record, StepEvent, Version};
use tracing::Instrument;

use super::LocalEngine;
use super::reading::read_input;
use super::suspects::Admission;
use crate::run::event_list::JournalSummary;
use crate::run::{
    DrainGate, Graphs, LiveRun, Outcome, RunCommit, RunInput, RunLog, RunRow, RunStore, Started, StepWriter,
    TenantSlot, Unflushed, run_turn,
};
use crate::store::{self, StoreError};

/// How long to wait before a turn is taken up again when the store failed, at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl LocalEngine {
    /// Works on a turn until it ends or waits for a person, unless a task is at it already.
    pub(super) fn take_up(&self, turn: Started, live: LiveRun) {
        if live.claim() {
            let span = trace::run_span(&RunSpan {
                run: turn.run,
                thread: (!turn.is_job()).then_some(turn.thread),
                graph: &turn.graph,
                tenant: &live.tenant,
                parent: turn.trace,
            });
            self.spawn(self.clone().work(turn, live).instrument(span));
        }
    }

    /// Waits until few enough others are worked on. A turn that is stopped does not wait.
    async fn slot(&self, live: &LiveRun) -> Option<TenantSlot> {
        let slots = self.0.slots.clone()?;
        live.cancel.run_until_cancelled(slots.wait(&live.tenant)).await?
    }

    async fn work(self, mut turn: Started, live: LiveRun) {
        let admitted = self.admit(&turn, &live).await;
        let _slot = self.slot(&live).await;
        if live.log.is_new() {
            let trace_id = turn.trace.map(|trace| trace.trace_id());
            live.log.add(StepEvent::of_run(EventKind::RunStarted { trace_id }));
        }
        let set_aside = match admitted {
            Ok(Admission::SetAside(why)) => Ok(Some(why)),
            Ok(Admission::Counted(attempt)) => self.count_attempt(attempt).await.map(|()| None),
            Ok(Admission::Free) => Ok(None),
            Err(error) => Err(error),
        };
        let set_aside = set_aside.unwrap_or_else(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "a turn was not counted as taken up");
            None
        });
        self.work_until_it_rests(&mut turn, &live, set_aside).await;
        live.leave_lane();
    }

    async fn work_until_it_rests(&self, turn: &mut Started, live: &LiveRun, set_aside: Option<String>) {
        let mut pause = Duration::from_secs(1);
        loop {
            let came = match &set_aside {
                Some(why) => Ok(Outcome::Failed(why.clone(), None)),
                None => run_turn(self, turn, live).await,
            };
            let worked = match came {
                Ok(outcome) => self.conclude(turn, live, outcome).await,
                Err(error) => Err(error),
            };
            let Err(error) = worked else { return };
            live.claim();
            // Nothing is lost: what is written down stays, and the turn is taken up from there.
            loop {
                if live.log.is_discarded() {
                    return;
                }
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the turn is taken up again in {pause:?}"
                );
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                if let Ok(row) = self.read_again(turn, live).await {
                    let Some(row) = row else { return };
                    *turn = Started { left: false, ..row.into() };
                    break;
                }
            }
        }
    }

    /// What is stored of a turn, after all that it told stands in its journal: which attempts it made is read from there.
    async fn read_again(&self, turn: &Started, live: &LiveRun) -> Result<Option<RunRow>, StoreError> {
        let recovered =
            |_: &_| Ok(RunCommit::with_events((), vec![StepEvent::of_run(EventKind::RunRecovered)]));
        self.writer()?.write_run(&live.log, recovered).await?;
        let run = turn.run;
        self.0.readers.read(move |connection| store::find_any_run(connection, run)).await
    }
}

#[async_trait]
impl StepWriter for LocalEngine {
    async fn write_step(&self, log: &Arc<RunLog>, step: Unflushed) -> Result<(), StoreError> {
        self.writer()?.write_step(log, step).await
    }
}

#[async_trait]
impl RunStore for LocalEngine {
    fn graphs(&self) -> &Graphs {
        &self.0.graphs
    }

    fn drain(&self) -> &Arc<DrainGate> {
        &self.0.drain
    }

    fn stop_grace(&self) -> Duration {
        self.0.settings.stop_grace
    }

    async fn history(&self, thread: i64, range: Range<i64>) -> Result<Vec<Message>, StoreError> {
        let read = move |connection: &_| store::read_messages(connection, thread, range.start, range.end);
        self.0.readers.read(read).await
    }

    async fn stored(&self, row: &RunRow) -> Result<(RunInput, Vec<Record>), StoreError> {
        let own = row.clone();
        self.0.readers.read(move |connection| read_input(connection, &own)).await
    }

    async fn summary(&self, row: &RunRow) -> Result<JournalSummary, StoreError> {
        let key = row.key;
        self.0.readers.read(move |connection| store::summary(connection, key)).await
    }

    async fn restart(
        &self,
        row: &RunRow,
        live: &LiveRun,
        version: Version,
        reason: String,
    ) -> Result<(), StoreError> {
        let key = row.key;
        let restart = move |connection: &_| {
            store::restart_run(connection, key, &version.to_string())?;
            let restarted = EventKind::RunRestarted { reason: reason.clone() };
            Ok(RunCommit::with_events((), vec![StepEvent::of_run(restarted)]))
        };
        self.writer()?.write_run(&live.log, restart).await
    }
}
