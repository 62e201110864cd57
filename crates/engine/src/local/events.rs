//! Following a run: what is stored first, then what becomes safe, without a gap between.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::unfold;
use ibid_core::{RunId, Scope};
use ibid_graph::EventKind;
use tokio::sync::watch;

use super::LocalEngine;
use crate::engine::EventStream;
use crate::error::Error;
use crate::run::RunLog;
use crate::store;
use crate::types::Event;

/// The file counts in signed numbers.
const LARGEST: u64 = i64::MAX as u64;

struct Following {
    engine: LocalEngine,
    run: RunId,
    key: i64,
    /// Number of the last event that was handed out or is in `ready`.
    last: u64,
    ready: VecDeque<Event>,
    /// The run's journal as it grows, if the run has not ended.
    live: Option<(Arc<RunLog>, watch::Receiver<u64>)>,
    over: bool,
}

impl LocalEngine {
    pub(super) async fn follow(&self, scope: &Scope, run: RunId, after: u64) -> Result<EventStream, Error> {
        let (key, live) = loop {
            let row = self.find_run(scope, run).await?;
            if let Some(live) = self.0.live.get(run) {
                let heard = live.log.listen();
                break (live.log.key(), Some((live.log, heard)));
            }
            if !row.kept {
                return Err(Error::EventsDropped(run));
            }
            if row.status.is_final() {
                break (row.key, None);
            }
            // It is stored, and the engine is about to take it up.
            self.writer()?;
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let ready = VecDeque::new();
        let (engine, last) = (self.clone(), after.min(LARGEST));
        // In a box, since it is handed from event to event.
        let following = Box::new(Following { engine, run, key, last, ready, live, over: false });
        Ok(unfold(following, Following::next).boxed())
    }
}

impl Following {
    async fn next(mut self: Box<Self>) -> Option<(Result<Event, Error>, Box<Self>)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.over = matches!(event.what.kind, EventKind::RunEnded { .. });
                return Some((Ok(event), self));
            }
            if self.over {
                return None;
            }
            if let Err(error) = self.catch_up().await {
                self.over = true;
                return Some((Err(error), self));
            }
            if self.ready.is_empty() {
                let (_, heard) = self.live.as_mut()?;
                // Whoever closes the engine says so first, and wakes those who wait then.
                if self.engine.0.closed.load(Ordering::SeqCst) || heard.changed().await.is_err() {
                    self.over = true;
                    return Some((Err(Error::Closed), self));
                }
            }
        }
    }

    /// Takes what is safe by now, from memory if it is at hand.
    async fn catch_up(&mut self) -> Result<(), Error> {
        if let Some((log, heard)) = &mut self.live {
            heard.mark_unchanged();
            if let Some((found, ended)) = log.after(self.last) {
                if ended {
                    self.live = None;
                }
                self.take(found);
                return Ok(());
            }
            if log.is_discarded() {
                // Deleted, with what was not at hand any more.
                return Err(Error::UnknownRun(self.run));
            }
        }
        let (key, run, after) = (self.key, self.run, self.last);
        let rows = self.live.as_ref().map(|(log, _)| log.rows_after(after)).transpose()?.unwrap_or_default();
        if rows.first().is_some_and(|event| event.seq == after + 1) {
            self.take(rows);
            return Ok(());
        }
        let read = move |connection: &_| store::read_events(connection, key, run, after);
        let found = self.engine.0.readers.read(read).await?;
        self.take(found);
        Ok(())
    }

    fn take(&mut self, found: Vec<Event>) {
        self.last = found.last().map_or(self.last, |event| event.seq);
        self.ready.extend(found);
    }
}
