//! Following a run: what is stored first, then what becomes safe, without a gap between.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::unfold;
use ibid_core::{RunId, Scope};
use ibid_graph::Kind;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::LocalEngine;
use crate::engine::EventStream;
use crate::error::Error;
use crate::nouns::Event;
use crate::store;

struct Following {
    engine: LocalEngine,
    run: RunId,
    key: i64,
    /// Number of the last event that was handed out or is in `ready`.
    last: u64,
    ready: VecDeque<Event>,
    /// Whether the file may hold more than was read.
    behind: bool,
    /// Becomes `None` when nothing more will be told.
    told: Option<Receiver<Arc<[Event]>>>,
    over: bool,
}

impl LocalEngine {
    pub(super) async fn follow(&self, scope: &Scope, run: RunId, after: u64) -> Result<EventStream, Error> {
        // Listening begins before the file is read, so nothing can fall between.
        let told = self.0.live.get(run).map(|live| live.log.listen());
        let row = self.find_run(scope, run).await?;
        if !row.kept {
            return Err(Error::EventsDropped(run));
        }
        let following = Following {
            engine: self.clone(),
            run,
            key: row.key,
            last: after,
            ready: VecDeque::new(),
            behind: true,
            told,
            over: false,
        };
        Ok(unfold(following, Following::next).boxed())
    }
}

impl Following {
    async fn next(mut self) -> Option<(Result<Event, Error>, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.over = matches!(event.what.kind, Kind::Ended { .. });
                return Some((Ok(event), self));
            }
            if self.over {
                return None;
            }
            if self.behind {
                if let Err(error) = self.catch_up().await {
                    self.over = true;
                    return Some((Err(error), self));
                }
                continue;
            }
            match self.told.as_mut()?.recv().await {
                Ok(batch) => self.take(&batch),
                Err(RecvError::Lagged(_)) => self.behind = true,
                Err(RecvError::Closed) => {
                    self.told = None;
                    self.behind = true;
                }
            }
        }
    }

    async fn catch_up(&mut self) -> Result<(), Error> {
        let (key, run, after) = (self.key, self.run, self.last);
        let read = move |connection: &_| store::read_events(connection, key, run, after);
        let found = self.engine.0.readers.read(read).await?;
        self.behind = !found.is_empty();
        self.last = found.last().map_or(self.last, |event| event.seq);
        self.ready.extend(found);
        Ok(())
    }

    fn take(&mut self, batch: &[Event]) {
        let Some(first) = batch.first() else { return };
        if first.seq > self.last + 1 {
            self.behind = true;
            return;
        }
        let fresh = batch.iter().filter(|event| event.seq > self.last).cloned();
        self.ready.extend(fresh);
        self.last = self.last.max(batch.last().map_or(0, |event| event.seq));
    }
}
