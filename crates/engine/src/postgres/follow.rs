//! Following a run, wherever it is worked on: of one of this process, what becomes safe is at hand; of others, what is stored is
//! read whenever there may be more.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::unfold;
use ibid_core::{RunId, Scope};
use ibid_graph::EventKind;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use super::PostgresEngine;
use super::bound::bind;
use super::journal::read_events;
use super::rows::{JOINED, RUN_COLUMNS, first_run};
use crate::engine::EventStream;
use crate::error::Error;
use crate::run::{RunLog, RunRow};
use crate::store::StoreError;
use crate::types::{Event, RunStatus};

/// Postgres counts in signed numbers.
const LARGEST: u64 = i64::MAX as u64;
/// How long whoever follows a run of another process waits before looking by itself: where hints arrive and where they do not,
/// and while the run waits for a person or for another run.
const LOOK: Duration = Duration::from_millis(500);
const LOOK_WITHOUT_HINTS: Duration = Duration::from_millis(50);
const LOOK_AT_RESTING: Duration = Duration::from_secs(1);
/// How often the process that has a run is asked for hints again.
const ASK: Duration = Duration::from_secs(10);

struct Following {
    engine: PostgresEngine,
    row: RunRow,
    /// Number of the last event that was handed out or is in `ready`.
    last: u64,
    ready: VecDeque<Event>,
    /// The run's log as it grows, while this process works on it.
    live: Option<(Arc<RunLog>, watch::Receiver<u64>)>,
    hinted: watch::Receiver<()>,
    /// Whom hints were asked of, and when.
    asked: Option<(Uuid, Instant)>,
    over: bool,
}

impl PostgresEngine {
    pub(super) async fn follow(&self, scope: &Scope, run: RunId, after: u64) -> Result<EventStream, Error> {
        let row = self.find_run(scope, run).await?;
        if !row.kept {
            return Err(Error::EventsDropped(run));
        }
        let following = Box::new(Following {
            engine: self.clone(),
            row,
            last: after.min(LARGEST),
            ready: VecDeque::new(),
            live: None,
            hinted: self.listen_to(run),
            asked: None,
            over: false,
        });
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
            let found =
                if self.is_live() { self.catch_up_here().await } else { self.catch_up_elsewhere().await };
            if let Err(error) = found {
                self.over = true;
                return Some((Err(error), self));
            }
        }
    }

    /// Whether this process works on the run.
    fn is_live(&mut self) -> bool {
        let engine = &self.engine;
        if self.live.as_ref().is_some_and(|(log, _)| log.is_discarded()) {
            self.live = None;
        }
        if self.live.is_none() {
            let live = engine.live().get(self.row.id).filter(|live| !live.log.is_discarded());
            self.live = live.map(|live| {
                let heard = live.log.listen();
                (live.log, heard)
            });
        }
        self.live.is_some()
    }

    async fn catch_up_here(&mut self) -> Result<(), Error> {
        if self.engine.is_closed() {
            return Err(Error::Closed);
        }
        let Some((log, heard)) = &mut self.live else { return Ok(()) };
        heard.mark_unchanged();
        let Some((found, ended)) = log.after(self.last) else { return self.read().await.map(drop) };
        if found.is_empty() && !ended && heard.changed().await.is_err() {
            return Err(Error::Closed);
        }
        if ended {
            self.live = None;
        }
        self.take(found);
        Ok(())
    }

    async fn catch_up_elsewhere(&mut self) -> Result<(), Error> {
        if self.engine.is_closed() {
            return Err(Error::Closed);
        }
        self.hinted.mark_unchanged();
        if self.read().await? {
            return Ok(());
        }
        let row = self.read_again().await?.ok_or(Error::UnknownRun(self.row.id))?;
        self.row = row;
        if self.row.status.is_final() {
            // It may have ended between the two looks.
            self.over = !self.read().await?;
            return Ok(());
        }
        self.ask_for_hints();
        let pause = match self.row.status {
            RunStatus::Running if self.engine.gets_hints() => LOOK,
            RunStatus::Running => LOOK_WITHOUT_HINTS,
            _ if self.engine.gets_hints() => LOOK_AT_RESTING,
            _ => LOOK_WITHOUT_HINTS * 4,
        };
        let started = self.engine.run_taken();
        tokio::select! {
            _ = self.hinted.changed() => {}
            () = started.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
        Ok(())
    }

    /// Asks the process that has the run for hints, once in a while.
    fn ask_for_hints(&mut self) {
        let owner = self.row.claim.owner;
        let is_known = |asked: &(Uuid, Instant)| Some(asked.0) == owner && asked.1.elapsed() < ASK;
        if !self.asked.as_ref().is_some_and(is_known) {
            self.engine.ask_for_hints(owner, self.row.id);
            self.asked = owner.map(|owner| (owner, Instant::now()));
        }
    }

    async fn read_again(&self) -> Result<Option<RunRow>, StoreError> {
        let sql = format!("SELECT {RUN_COLUMNS} FROM {JOINED} WHERE runs.key = $1");
        first_run(&self.engine.database().query(&sql, bind![self.row.key]).await?)
    }

    /// Reads what is stored; whether there was more.
    async fn read(&mut self) -> Result<bool, Error> {
        let found = read_events(self.engine.database(), &self.row, self.last).await?;
        let more = !found.is_empty();
        self.take(found);
        Ok(more)
    }

    fn take(&mut self, found: Vec<Event>) {
        self.last = found.last().map_or(self.last, |event| event.seq);
        self.ready.extend(found);
    }
}
