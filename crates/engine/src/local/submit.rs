//! Taking turns and jobs, new ones and those that an earlier process left. Taking one is one commit; what
//! follows from it is done by the engine, so that a caller who goes away leaves nothing half done.

use std::sync::Arc;

use ibid_core::trace::{self, TraceParent};
use ibid_core::{RunId, Scope, Tenant};
use rusqlite::Connection;

use super::LocalEngine;
use super::reading::own_thread;
use crate::error::Error;
use crate::run::{
    Encoded, Input, LiveRun, NewRun, Requested, RunLog, RunRow, RunStore, Started, Stopping, check_length,
    check_metadata, encode,
};
use crate::store::{self, Batch, StoreError};
use crate::types::{NewJob, RunStatus, Submitted, Turn, WhenBusy};

/// What became of a submission.
enum Submission {
    Refused(Error),
    Duplicate(RunId),
    Busy(RunId),
    Queued { key: i64, stop: Option<(Box<RunRow>, Stopping)> },
    Started { key: i64, thread_key: i64, history: std::ops::Range<i64>, scope: Scope },
}

impl LocalEngine {
    pub(super) async fn submit_turn(&self, scope: Scope, mut turn: Turn) -> Result<Submitted, Error> {
        if turn.messages.is_empty() {
            return Err(Error::NoMessage);
        }
        check_length(&turn.messages)?;
        turn.assistant = self.0.graphs.answering(&turn.assistant, turn.thread);
        self.submit_run(scope, Requested::Turn(turn)).await
    }

    pub(super) async fn submit_new_job(&self, scope: Scope, job: NewJob) -> Result<RunId, Error> {
        Ok(self.submit_run(scope, Requested::Job(job)).await?.run)
    }

    async fn submit_run(&self, scope: Scope, requested: Requested) -> Result<Submitted, Error> {
        self.graph(requested.graph())?;
        let run = RunId::new();
        let trace = requested.trace().or_else(trace::current).unwrap_or_else(TraceParent::begin);
        let version = self.0.graphs.version(requested.graph());
        let version = version.map(|version| version.to_string()).unwrap_or_default();
        let window = self.0.graphs.history(requested.graph());
        let encoded = Encoded::of(&requested, &scope, version)?;
        check_metadata(encoded.kept_bytes())?;
        let bytes = encoded.messages.iter().map(String::len).sum();
        let requested = Arc::new(requested);
        let (asked, whose) = (requested.clone(), scope.clone());
        let place = move |connection: &Connection| {
            let new = encoded.run(run, asked.graph(), trace);
            place(connection, &whose, &asked, new, &encoded.messages, window)
        };
        let engine = self.clone();
        let tenant = scope.tenant().clone();
        let then = move |submission| engine.follow_up(run, &requested, tenant, trace, submission);
        self.writer()?.write_then(Batch::of_bytes(bytes), place, then).await?
    }

    /// Does what follows from a submission, once that is safe.
    fn follow_up(
        &self,
        run: RunId,
        requested: &Requested,
        tenant: Tenant,
        trace: TraceParent,
        submission: Submission,
    ) -> Result<Submitted, Error> {
        let thread = requested.thread();
        match submission {
            Submission::Refused(error) => return Err(error),
            Submission::Busy(run) => return Err(Error::Busy(run)),
            Submission::Duplicate(run) => return Ok(Submitted { run, duplicate: true }),
            Submission::Queued { key, stop } => {
                self.watch(run, tenant, key, 0);
                if let Some((other, how)) = stop
                    && let Some(live) = self.0.live.get(other.id)
                {
                    live.stop(how);
                    self.end_if_waiting(*other, live);
                }
            }
            Submission::Started { key, thread_key, history, scope } => {
                let live = self.watch(run, tenant, key, 0);
                let input = match requested {
                    Requested::Turn(turn) => {
                        let (messages, options) = (turn.messages.clone(), turn.options.clone());
                        Input::Turn { scope, messages, options, history }
                    }
                    Requested::Job(job) => Input::Job { scope, request: job.request.clone() },
                };
                let graph = requested.graph().to_owned();
                let trace = Some(trace);
                self.take_up(
                    Started { key, run, thread_key, thread, graph, trace, input, left: false },
                    live,
                );
            }
        }
        Ok(Submitted { run, duplicate: false })
    }

    /// Takes up every run that an earlier process did not end.
    pub(super) async fn take_up_unfinished(&self) -> Result<(), Error> {
        let read = |connection: &Connection| {
            let rows = store::unfinished(connection)?.into_iter();
            rows.map(|(tenant, row)| {
                let told = store::last_number(connection, row.key)?;
                Ok((tenant, (told, store::next_step(connection, row.key)?), row))
            })
            .collect()
        };
        let rows: Vec<_> = self.0.readers.read(read).await?;
        self.look_for_suspects(rows.iter().map(|(_, (told, step), row)| (row, *step, *told > 0)));
        for (tenant, (told, _), row) in rows {
            let live = self.watch(row.id, tenant, row.key, told);
            live.stop_clock();
            if let Some(how) = row.stopping {
                live.stop(how);
            }
            let version = self.0.graphs.version(&row.graph).map(|version| version.to_string());
            let take_up = match row.status {
                RunStatus::Running => true,
                // It may have to begin again, which its listeners should learn before anyone answers.
                RunStatus::Waiting => row.stopping.is_some() || version.as_ref() != Some(&row.version),
                _ => false,
            };
            if take_up {
                self.take_up(Started { left: true, ..row.into() }, live);
            }
        }
        Ok(())
    }

    pub(super) fn watch(&self, run: RunId, tenant: Tenant, key: i64, told: u64) -> LiveRun {
        let live = LiveRun::new(tenant, RunLog::new(run, key, told, self.0.flush_queue.clone()));
        self.0.live.add(run, live.clone());
        live
    }
}

fn place(
    connection: &Connection,
    scope: &Scope,
    requested: &Requested,
    new: NewRun<'_>,
    messages: &[String],
    window: usize,
) -> Result<Submission, StoreError> {
    let thread = match own_thread(connection, scope, requested.thread())? {
        Ok(row) => Some(row),
        Err(Error::UnknownThread(id)) if !store::thread_exists(connection, id)? => None,
        Err(error) => return Ok(Submission::Refused(error)),
    };
    let active = match &thread {
        Some(row) => {
            if let Some(key) = new.idempotency
                && let Some(run) = store::run_of_key(connection, row.key, key)?
            {
                return Ok(Submission::Duplicate(run));
            }
            store::active_of_thread(connection, row.key)?
        }
        None => None,
    };
    let when_busy = match (&active, requested.when_busy()) {
        (Some(active), WhenBusy::Reject) => return Ok(Submission::Busy(active.id)),
        // Whoever says something new instead of answering a question has moved on: nothing waits behind a question.
        (Some(active), WhenBusy::Enqueue) if active.status == RunStatus::Waiting => WhenBusy::Interrupt,
        (_, wanted) => wanted,
    };
    let title = requested.title();
    let (limited, encoded);
    let (mut scope, mut new) = (scope, new);
    new.thread_key = match (thread, requested) {
        (Some(row), Requested::Turn(_)) => {
            store::touch_thread(connection, row.key, title)?;
            limited = row.limit(scope)?;
            if limited != *scope {
                encoded = encode(&limited)?;
                (scope, new.scope) = (&limited, &encoded);
            }
            row.key
        }
        (Some(row), Requested::Job(_)) => row.key,
        (None, Requested::Turn(turn)) => store::create_thread(connection, scope, turn.thread, title, "{}")?,
        // A queue quotes nothing, and is nobody's.
        (None, Requested::Job(_)) => {
            let queue = Scope::of(scope.tenant().clone()).within([]);
            store::create_thread(connection, &queue, requested.thread(), title, "{}")?
        }
    };
    let Some(active) = active else {
        let key = store::enqueue(connection, &new, None, false)?;
        let history = store::start_run(connection, key, new.thread_key, messages, window)?;
        let (thread_key, scope) = (new.thread_key, scope.clone());
        return Ok(Submission::Started { key, thread_key, history, scope });
    };
    let how = match when_busy {
        WhenBusy::Interrupt => Some(Stopping::Stop),
        WhenBusy::Rollback => Some(Stopping::Rollback),
        WhenBusy::Enqueue | WhenBusy::Reject => None,
    };
    let key = store::enqueue(connection, &new, Some(messages), how.is_some())?;
    if let Some(how) = how {
        store::set_stopping(connection, active.id, how)?;
    }
    Ok(Submission::Queued { key, stop: how.map(|how| (Box::new(active), how)) })
}
