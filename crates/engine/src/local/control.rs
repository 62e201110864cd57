//! What can be done to a turn from outside: stop, answer, fork, delete. Each is one commit,
//! and what follows from it is done by the engine, also if the caller has gone away.

use ibid_core::trace::{self, TraceParent};
use ibid_core::{RunId, Scope, ThreadId};
use ibid_graph::{EventKind, StepEvent};
use serde_json::Value;

use super::LocalEngine;
use super::reading::own_run;
use crate::error::Error;
use crate::run::{LiveRun, RunCommit, RunRow, RunStore, Stopping, encode, replayed};
use crate::store::{self, Batch, RunEnd};
use crate::types::{RunStatus, Stop};

impl LocalEngine {
    pub(super) async fn stop_run(&self, scope: &Scope, run: RunId, how: Stop) -> Result<(), Error> {
        let how = match how {
            Stop::Keep => Stopping::Stop,
            Stop::Forget => Stopping::Rollback,
        };
        self.find_own_run(scope, run).await?;
        // Of one that has ended there is nothing to stop.
        let Some(live) = self.0.live.get(run) else { return Ok(()) };
        if !live.is_working() && self.end_queued(run, how, &live).await? {
            return Ok(());
        }
        // The node is told before anything is written.
        live.stop(how);
        let note = move |connection: &_| {
            store::set_stopping(connection, run, how)?;
            store::find_any_run(connection, run)
        };
        let engine = self.clone();
        let then = move |row| {
            if let Some(row) = row {
                engine.end_if_waiting(row, live);
            }
        };
        Ok(self.writer()?.write_then(Batch::default(), note, then).await?)
    }

    /// Brings a stopped run to its end if it waits for a person; a task that works on it does so itself.
    pub(super) fn end_if_waiting(&self, row: RunRow, live: LiveRun) {
        if row.status == RunStatus::Waiting {
            self.take_up(row.into(), live);
        }
    }

    /// Ends a run that has not begun; false if it has.
    async fn end_queued(&self, run: RunId, how: Stopping, live: &LiveRun) -> Result<bool, Error> {
        let status = match how {
            Stopping::Stop => RunStatus::Stopped,
            Stopping::Rollback => RunStatus::RolledBack,
        };
        let end = move |connection: &_| {
            let row = store::find_any_run(connection, run)?;
            let Some(row) = row.filter(|row| row.status == RunStatus::Queued) else {
                return Ok(RunCommit::quiet(false));
            };
            store::end_run(connection, row.key, status, &RunEnd::default())?;
            let ended = EventKind::RunEnded { status: status.as_str().to_owned(), error: None };
            Ok(RunCommit::with_events(true, vec![StepEvent::of_run(ended)]))
        };
        let engine = self.clone();
        let then = move |ended: bool| {
            if ended {
                engine.0.live.remove(run);
            }
            ended
        };
        Ok(self.writer()?.write_run_then(&live.log, end, then).await?)
    }

    pub(super) async fn resume_run(&self, scope: &Scope, run: RunId, answer: Value) -> Result<(), Error> {
        let row = self.find_own_run(scope, run).await?;
        let (RunStatus::Waiting, Some(step), Some(live)) =
            (row.status, row.interrupted_step, self.0.live.get(run))
        else {
            return Err(Error::NotInterrupted(run));
        };
        let graph = self.graph(&row.graph)?;
        let key = row.key;
        let (input, records) = self.stored(&row).await?;
        replayed(&graph, input, &records)?.resume(&answer)?;
        let answer = encode(&answer)?;
        let note = move |connection: &_| {
            if !store::set_answer(connection, key, step, &answer)? {
                return Ok(RunCommit::quiet(None));
            }
            let row = store::find_any_run(connection, run)?;
            Ok(RunCommit::with_events(row, vec![StepEvent::of_run(EventKind::RunResumed)]))
        };
        let (engine, log) = (self.clone(), live.log.clone());
        let then = move |row: Option<RunRow>| {
            let row = row.ok_or(Error::NotInterrupted(run))?;
            engine.take_up(row.into(), live);
            Ok(())
        };
        self.writer()?.write_run_then(&log, note, then).await?
    }

    pub(super) async fn fork_run(
        &self,
        scope: Scope,
        run: RunId,
        step: u32,
    ) -> Result<(ThreadId, RunId), Error> {
        let row = self.find_started_run(&scope, run, step).await?;
        self.graph(&row.graph)?;
        let key = row.key;
        let records = self.0.readers.read(move |connection| store::read_steps(connection, key)).await?;
        if records.len() < step as usize {
            return Err(Error::NoSuchStep { run, step });
        }
        let trace = trace::current().unwrap_or_else(TraceParent::begin);
        let (thread, forked, tenant) = (ThreadId::new(), RunId::new(), scope.tenant().clone());
        let copy = move |connection: &_| {
            store::fork(connection, &scope, &row, step, thread, forked, trace)?;
            store::find_any_run(connection, forked)
        };
        let engine = self.clone();
        let then = move |row: Option<RunRow>| {
            let row = row.ok_or(Error::UnknownRun(forked))?;
            let live = engine.watch(forked, tenant, row.key, 0);
            engine.take_up(row.into(), live);
            Ok((thread, forked))
        };
        self.writer()?.write_then(Batch::default(), copy, then).await?
    }

    pub(super) async fn delete_finished_run(&self, scope: Scope, run: RunId) -> Result<(), Error> {
        let delete = move |connection: &_| {
            let row = match own_run(connection, &scope, run)? {
                Ok(row) if row.status.is_final() => row,
                Ok(_) => return Ok(Err(Error::Busy(run))),
                Err(error) => return Ok(Err(error)),
            };
            Ok(Ok(store::delete_run(connection, row.key)?))
        };
        self.writer()?.write(Batch::default(), delete).await?
    }
}
