//! Taking turns, stops, answers and forks. Each is one commit; what follows from it is done by the
//! engine, so that a caller who goes away leaves nothing half done.

use std::sync::Arc;

use ibid_core::{Message, RunId, Scope, Tenant, ThreadId};
use ibid_graph::{Kind, StepEvent};
use rusqlite::Connection;
use serde_json::Value;

use super::LocalEngine;
use super::live::LiveRun;
use super::log::RunLog;
use super::reading::read_turn;
use super::turn::{Input, Started};
use crate::error::Error;
use crate::nouns::{RunStatus, Submitted, Turn, WhenBusy};
use crate::store::{self, Batch, NewRun, Stopping, StoreError};

/// What became of a submitted turn.
enum Placed {
    UnknownThread,
    Duplicate(RunId),
    Busy(RunId),
    Queued { key: i64, stop: Option<(RunId, Stopping)> },
    Started { key: i64, thread_key: i64, history: std::ops::Range<i64> },
}

impl LocalEngine {
    pub(super) async fn submit_turn(&self, scope: Scope, turn: Turn) -> Result<Submitted, Error> {
        if turn.messages.is_empty() {
            return Err(Error::NoMessage);
        }
        self.assistant(&turn.assistant)?;
        let run = RunId::new();
        let version = self.0.assistants.version(&turn.assistant);
        let version = version.map(|version| version.to_string()).unwrap_or_default();
        let window = self.0.assistants.window(&turn.assistant);
        let messages = encode(&turn.messages)?;
        let options = encode_one(&turn.options)?;
        let turn = Arc::new(turn);
        let (asked, whose) = (turn.clone(), scope.clone());
        let place = move |connection: &Connection| {
            let new = NewRun {
                id: run,
                thread_key: 0,
                graph: &asked.assistant,
                version: &version,
                options: &options,
                idempotency: asked.idempotency_key.as_deref(),
            };
            place(connection, &whose, &asked, new, &messages, window)
        };
        let engine = self.clone();
        let then = move |placed| engine.follow_up(run, &turn, scope.tenant().clone(), placed);
        self.writer()?.write_then(Batch::default(), place, then).await?
    }

    /// Does what follows from a turn's place, once that is safe.
    fn follow_up(&self, run: RunId, turn: &Turn, tenant: Tenant, placed: Placed) -> Result<Submitted, Error> {
        match placed {
            Placed::UnknownThread => return Err(Error::UnknownThread(turn.thread)),
            Placed::Busy(run) => return Err(Error::Busy(run)),
            Placed::Duplicate(run) => return Ok(Submitted { run, duplicate: true }),
            Placed::Queued { key, stop } => {
                self.watch(run, tenant, key, 0);
                if let Some((other, how)) = stop {
                    let engine = self.clone();
                    self.spawn(async move { engine.stop_reported(other, how).await });
                }
            }
            Placed::Started { key, thread_key, history } => {
                let live = self.watch(run, tenant, key, 0);
                let (messages, options) = (turn.messages.clone(), turn.options.clone());
                let input = Input::Here { messages, options, history };
                let (thread, assistant) = (turn.thread, turn.assistant.clone());
                self.take_up(Started { key, run, thread_key, thread, assistant, input }, live);
            }
        }
        Ok(Submitted { run, duplicate: false })
    }

    /// Stops a run on behalf of a turn that takes over, whose caller is not there to be told of trouble.
    async fn stop_reported(&self, run: RunId, how: Stopping) {
        if let Err(error) = self.stop_live(run, how).await {
            tracing::error!(error = &error as &dyn std::error::Error, %run, "the run could not be stopped");
        }
    }

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
    async fn stop_live(&self, run: RunId, how: Stopping) -> Result<(), Error> {
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
        let answer = encode_one(&answer)?;
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

    /// Takes up every turn that an earlier process did not end.
    pub(super) async fn resume(&self) -> Result<(), Error> {
        let read = |connection: &Connection| {
            let rows = store::unfinished(connection)?.into_iter();
            rows.map(|(tenant, row)| Ok((tenant, store::last_number(connection, row.key)?, row))).collect()
        };
        let rows: Vec<_> = self.0.readers.read(read).await?;
        for (tenant, told, row) in rows {
            let live = self.watch(row.id, tenant, row.key, told);
            if let Some(how) = row.stopping {
                live.stop(how);
            }
            if row.status == RunStatus::Running
                || (row.status == RunStatus::Waiting && row.stopping.is_some())
            {
                self.take_up(row.into(), live);
            }
        }
        Ok(())
    }

    fn watch(&self, run: RunId, tenant: Tenant, key: i64, told: u64) -> LiveRun {
        let live = LiveRun::new(tenant, RunLog::new(run, key, told, self.0.unwritten.clone()));
        self.0.live.add(run, live.clone());
        live
    }

    /// Sees something through although its caller may go away.
    async fn whatever_happens<T: Send + 'static>(
        &self,
        doing: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.0.tasks.spawn(doing).await.unwrap_or(Err(Error::Store(StoreError::Closed)))
    }
}

fn place(
    connection: &Connection,
    scope: &Scope,
    turn: &Turn,
    mut new: NewRun<'_>,
    messages: &[String],
    window: usize,
) -> Result<Placed, StoreError> {
    let thread = store::find_thread(connection, scope, turn.thread)?;
    let unfinished = match &thread {
        Some(row) => {
            if let Some(key) = new.idempotency
                && let Some(run) = store::run_of_key(connection, row.key, key)?
            {
                return Ok(Placed::Duplicate(run));
            }
            store::unfinished_of_thread(connection, row.key)?
        }
        None if store::thread_exists(connection, turn.thread)? => return Ok(Placed::UnknownThread),
        None => Vec::new(),
    };
    let active = unfinished.first();
    if let (Some(active), WhenBusy::Reject) = (active, turn.when_busy) {
        return Ok(Placed::Busy(active.id));
    }
    let title = turn.messages.first().map_or("", |message| message.text.as_str());
    new.thread_key = match thread {
        Some(row) => {
            store::touch_thread(connection, row.key)?;
            row.key
        }
        None => store::create_thread(connection, scope, turn.thread, title)?,
    };
    let Some(active) = active else {
        let key = store::enqueue(connection, &new, None, false)?;
        let history = store::start_run(connection, key, new.thread_key, messages, window)?;
        return Ok(Placed::Started { key, thread_key: new.thread_key, history });
    };
    let how = match turn.when_busy {
        WhenBusy::Interrupt => Some(Stopping::Stop),
        WhenBusy::Rollback => Some(Stopping::Rollback),
        WhenBusy::Enqueue | WhenBusy::Reject => None,
    };
    let key = store::enqueue(connection, &new, Some(messages), how.is_some())?;
    if let Some(how) = how {
        store::set_stopping(connection, active.id, how)?;
    }
    Ok(Placed::Queued { key, stop: how.map(|how| (active.id, how)) })
}

pub(super) fn encode(messages: &[Message]) -> Result<Vec<String>, StoreError> {
    messages.iter().map(encode_one).collect()
}

fn encode_one(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::damaged)
}
