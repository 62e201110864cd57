//! What can be done to a turn or a thread from outside: stop, answer, fork, delete. Each is one commit,
//! seen through although its caller may go away.

use ibid_core::{RunId, Scope, ThreadId};
use ibid_graph::{Kind, StepEvent};
use serde_json::Value;

use super::LocalEngine;
use super::live::LiveRun;
use super::reading::read_turn;
use crate::error::Error;
use crate::nouns::RunStatus;
use crate::store::{self, Batch, Stopping, StoreError, encode};

impl LocalEngine {
    pub(super) async fn stop_run(&self, scope: Scope, run: RunId) -> Result<(), Error> {
        // The node is told before anything is written: a stop must not wait for the disk.
        let row = match self.0.live.get(run) {
            Some(_) => self.find_run(&scope, run).await?,
            None => return self.find_run(&scope, run).await.map(drop),
        };
        let engine = self.clone();
        self.whatever_happens(async move {
            if row.status == RunStatus::Queued && engine.end_queued(run, row.key).await? {
                return Ok(());
            }
            engine.stop_live(run, Stopping::Stop).await
        })
        .await
    }

    /// Stops a run that works or waits for a person.
    pub(super) async fn stop_live(&self, run: RunId, how: Stopping) -> Result<(), Error> {
        let Some(live) = self.0.live.get(run) else { return Ok(()) };
        live.stop(how);
        let note = move |connection: &_| {
            store::set_stopping(connection, run, how)?;
            store::find_any_run(connection, run)
        };
        let row = self.writer()?.write(Batch::default(), note).await?;
        if let Some(row) = row
            && row.status == RunStatus::Waiting
        {
            self.take_up(row.into(), live);
        }
        Ok(())
    }

    /// Ends a run that has not begun; false if it has begun meanwhile.
    async fn end_queued(&self, run: RunId, key: i64) -> Result<bool, Error> {
        let Some(live) = self.0.live.get(run) else { return Ok(true) };
        let log = live.log.clone();
        let end = move |connection: &_| {
            let row = store::find_any_run(connection, run)?;
            if !row.is_some_and(|row| row.status == RunStatus::Queued) {
                return Ok(false);
            }
            store::end_run(connection, key, RunStatus::Stopped, None)?;
            let status = RunStatus::Stopped.as_str().to_owned();
            log.close_with(vec![StepEvent::of_run(Kind::Ended { status, error: None })], None);
            Ok(true)
        };
        let ended = self.writer()?.write(Batch::of(&live.log), end).await?;
        if ended {
            self.0.live.remove(run);
        }
        Ok(ended)
    }

    pub(super) async fn answer_run(&self, scope: &Scope, run: RunId, answer: Value) -> Result<(), Error> {
        let row = self.find_run(scope, run).await?;
        let (RunStatus::Waiting, Some(step)) = (row.status, row.asked_step) else {
            return Err(Error::NotWaiting(run));
        };
        let program = self.assistant(&row.graph)?.program.clone();
        let key = row.key;
        let (input, records) = self.0.readers.read(move |connection| read_turn(connection, &row)).await?;
        let mut course = program.start(input)?;
        for record in &records {
            course.replay(record)?;
        }
        course.answer(&answer)?;
        let answer = encode(&answer)?;
        let engine = self.clone();
        self.whatever_happens(async move {
            let note = move |connection: &_| {
                let taken = store::set_answer(connection, key, step, &answer)?;
                Ok(if taken { store::find_any_run(connection, run)? } else { None })
            };
            let row = engine.writer()?.write(Batch::default(), note).await?.ok_or(Error::NotWaiting(run))?;
            if let Some(live) = engine.0.live.get(run) {
                live.log.add(StepEvent::of_run(Kind::Answered));
                engine.take_up(row.into(), live);
            }
            Ok(())
        })
        .await
    }

    pub(super) async fn fork_run(
        &self,
        scope: Scope,
        run: RunId,
        step: u32,
    ) -> Result<(ThreadId, RunId), Error> {
        let row = self.find_run(&scope, run).await?;
        self.assistant(&row.graph)?;
        let key = row.key;
        let records = self.0.readers.read(move |connection| store::read_steps(connection, key)).await?;
        if records.len() < step as usize || row.status == RunStatus::Queued {
            return Err(Error::NoSuchStep { run, step });
        }
        let (thread, forked, tenant) = (ThreadId::new(), RunId::new(), scope.tenant().clone());
        let engine = self.clone();
        self.whatever_happens(async move {
            let copy = move |connection: &_| {
                store::fork(connection, &scope, &row, step, thread, forked)?;
                store::find_any_run(connection, forked)
            };
            let row =
                engine.writer()?.write(Batch::default(), copy).await?.ok_or(Error::UnknownRun(forked))?;
            let live = engine.watch(forked, tenant, row.key, 0);
            engine.take_up(row.into(), live);
            Ok((thread, forked))
        })
        .await
    }

    pub(super) async fn delete(&self, scope: Scope, thread: ThreadId) -> Result<(), Error> {
        let engine = self.clone();
        self.whatever_happens(async move {
            let own = engine.clone();
            let delete = move |connection: &_| {
                let Some(row) = store::find_thread(connection, &scope, thread)? else { return Ok(None) };
                let runs = store::unfinished_of_thread(connection, row.key)?;
                let live: Vec<LiveRun> = runs.iter().filter_map(|run| own.0.live.remove(run.id)).collect();
                live.iter().for_each(|live| live.log.discard());
                store::delete_thread(connection, row.key)?;
                Ok(Some(live))
            };
            let live = engine.writer()?.write(Batch::default(), delete).await?;
            live.ok_or(Error::UnknownThread(thread))?.iter().for_each(|live| live.stop(Stopping::Rollback));
            Ok(())
        })
        .await
    }

    /// Sees something through although its caller may go away.
    async fn whatever_happens<T: Send + 'static>(
        &self,
        doing: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.0.tasks.spawn(doing).await.unwrap_or(Err(Error::Store(StoreError::Closed)))
    }
}
