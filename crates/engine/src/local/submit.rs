//! Taking turns, new ones and those that an earlier process left. Taking one is one commit; what
//! follows from it is done by the engine, so that a caller who goes away leaves nothing half done.

use std::sync::Arc;

use ibid_core::{RunId, Scope, Tenant};
use rusqlite::Connection;

use super::LocalEngine;
use super::live::LiveRun;
use super::work::{Input, Started};
use crate::error::Error;
use crate::nouns::{RunStatus, Submitted, Turn, WhenBusy};
use crate::store::{self, Batch, NewRun, RunLog, RunRow, Stopping, StoreError, encode, encode_all};

/// What became of a submitted turn.
enum Placed {
    UnknownThread,
    Duplicate(RunId),
    Busy(RunId),
    Queued { key: i64, stop: Option<(Box<RunRow>, Stopping)> },
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
        let messages = encode_all(&turn.messages)?;
        let (options, metadata) = (encode(&turn.options)?, encode(&turn.metadata)?);
        let seen = encode(&scope)?;
        let turn = Arc::new(turn);
        let (asked, whose) = (turn.clone(), scope.clone());
        let place = move |connection: &Connection| {
            let new = NewRun {
                id: run,
                thread_key: 0,
                graph: &asked.assistant,
                version: &version,
                options: &options,
                metadata: &metadata,
                scope: &seen,
                idempotency: asked.idempotency_key.as_deref(),
            };
            place(connection, &whose, &asked, new, &messages, window)
        };
        let engine = self.clone();
        let then = move |placed| engine.follow_up(run, &turn, scope, placed);
        self.writer()?.write_then(Batch::default(), place, then).await?
    }

    /// Does what follows from a turn's place, once that is safe.
    fn follow_up(&self, run: RunId, turn: &Turn, scope: Scope, placed: Placed) -> Result<Submitted, Error> {
        let tenant = scope.tenant().clone();
        match placed {
            Placed::UnknownThread => return Err(Error::UnknownThread(turn.thread)),
            Placed::Busy(run) => return Err(Error::Busy(run)),
            Placed::Duplicate(run) => return Ok(Submitted { run, duplicate: true }),
            Placed::Queued { key, stop } => {
                self.watch(run, tenant, key, 0);
                if let Some((other, how)) = stop
                    && let Some(live) = self.0.live.get(other.id)
                {
                    live.stop(how);
                    self.end_if_waiting(*other, live);
                }
            }
            Placed::Started { key, thread_key, history } => {
                let live = self.watch(run, tenant, key, 0);
                let (messages, options) = (turn.messages.clone(), turn.options.clone());
                let input = Input::Here { scope, messages, options, history };
                let (thread, assistant) = (turn.thread, turn.assistant.clone());
                self.take_up(Started { key, run, thread_key, thread, assistant, input, left: false }, live);
            }
        }
        Ok(Submitted { run, duplicate: false })
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
            let version = self.0.assistants.version(&row.graph).map(|version| version.to_string());
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
        let live = LiveRun::new(tenant, RunLog::new(run, key, told, self.0.unwritten.clone()));
        self.0.live.add(run, live.clone());
        live
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
    let active = match &thread {
        Some(row) => {
            if let Some(key) = new.idempotency
                && let Some(run) = store::run_of_key(connection, row.key, key)?
            {
                return Ok(Placed::Duplicate(run));
            }
            store::active_of_thread(connection, row.key)?
        }
        None if store::thread_exists(connection, turn.thread)? => return Ok(Placed::UnknownThread),
        None => None,
    };
    let when_busy = match (&active, turn.when_busy) {
        (Some(active), WhenBusy::Reject) => return Ok(Placed::Busy(active.id)),
        // Whoever says something new instead of answering a question has moved on: nothing waits behind a question.
        (Some(active), WhenBusy::Enqueue) if active.status == RunStatus::Waiting => WhenBusy::Interrupt,
        (_, wanted) => wanted,
    };
    let title = turn.messages.first().map_or("", |message| message.text.as_str());
    new.thread_key = match thread {
        Some(row) => {
            store::touch_thread(connection, row.key, title)?;
            row.key
        }
        None => store::create_thread(connection, scope, turn.thread, title, "{}")?,
    };
    let Some(active) = active else {
        let key = store::enqueue(connection, &new, None, false)?;
        let history = store::start_run(connection, key, new.thread_key, messages, window)?;
        return Ok(Placed::Started { key, thread_key: new.thread_key, history });
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
    Ok(Placed::Queued { key, stop: how.map(|how| (Box::new(active), how)) })
}
