//! The events of one unfinished run: numbered when they happen, told when they are safe.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibid_core::RunId;
use ibid_graph::{EventSink, Kind, StepEvent};
use rusqlite::Connection;
use tokio::sync::{Notify, broadcast};

use crate::nouns::Event;
use crate::store::{StoreError, append_events};

/// How many commits a listener may lag behind before it reads from the file.
const LAG: usize = 32;

/// Runs with events that wait for a commit.
#[derive(Default)]
pub(super) struct Unwritten {
    logs: Mutex<Vec<Arc<RunLog>>>,
    some: Notify,
}

impl Unwritten {
    fn add(&self, log: Arc<RunLog>) {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).push(log);
        self.some.notify_one();
    }

    /// Waits until there are some.
    pub(super) async fn some(&self) {
        self.some.notified().await;
    }

    /// Takes them all.
    pub(super) fn take(&self) -> Vec<Arc<RunLog>> {
        let mut logs = std::mem::take(&mut *self.logs.lock().unwrap_or_else(PoisonError::into_inner));
        logs.retain(|log| log.unlist());
        logs
    }
}

/// The events of one unfinished run.
pub(crate) struct RunLog {
    run: RunId,
    key: i64,
    unwritten: Arc<Unwritten>,
    told: broadcast::Sender<Arc<[Event]>>,
    discarded: AtomicBool,
    events: Mutex<Events>,
}

#[derive(Default)]
struct Events {
    /// Number of the last event that is safe.
    safe: u64,
    /// What happened since, in order.
    pending: Vec<StepEvent>,
    /// How many of these stand in the transaction under way.
    written: usize,
    /// The event that belongs to the work of the transaction under way.
    closing: Option<StepEvent>,
    /// Whether it stands in the transaction.
    closed: bool,
    /// Whether this log is listed as unwritten.
    listed: bool,
    /// Whether the run has ended, so that nothing more counts.
    ended: bool,
}

impl RunLog {
    /// The log of a run whose events up to `safe` are stored.
    pub(super) fn new(run: RunId, key: i64, safe: u64, unwritten: Arc<Unwritten>) -> Arc<Self> {
        let events = Mutex::new(Events { safe, ..Events::default() });
        let (told, _) = broadcast::channel(LAG);
        Arc::new(Self { run, key, unwritten, told, discarded: AtomicBool::new(false), events })
    }

    /// Listens to what becomes safe from now on.
    pub(super) fn listen(&self) -> broadcast::Receiver<Arc<[Event]>> {
        self.told.subscribe()
    }

    /// Forgets the run: nothing more of it will be written.
    pub(super) fn discard(&self) {
        self.discarded.store(true, Ordering::Relaxed);
    }

    /// Whether the run was deleted.
    pub(crate) fn is_discarded(&self) -> bool {
        self.discarded.load(Ordering::Relaxed)
    }

    /// Adds an event.
    pub(super) fn add(self: &Arc<Self>, event: StepEvent) {
        let mut events = self.events();
        if events.ended {
            return;
        }
        events.pending.push(event);
        if !std::mem::replace(&mut events.listed, true) {
            drop(events);
            self.unwritten.add(self.clone());
        }
    }

    fn unlist(&self) -> bool {
        let mut events = self.events();
        events.listed = false;
        events.pending.len() > events.written
    }

    /// Makes `event` the last one of the transaction under way, told exactly if that succeeds. Called by
    /// the writer's work when a step is written down and when a run ends or pauses.
    pub(crate) fn close_with(&self, event: StepEvent) {
        self.events().closing = Some(event);
    }

    /// Writes what is pending into the transaction under way.
    pub(crate) fn write(&self, connection: &Connection) -> Result<(), StoreError> {
        let mut events = self.events();
        if self.is_discarded() || events.closed {
            return Ok(());
        }
        let rows: Vec<_> = events.pending[events.written..].iter().chain(&events.closing).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let last = events.safe + events.written as u64 + rows.len() as u64;
        append_events(connection, self.key, last, &rows)?;
        events.written = events.pending.len();
        events.closed = events.closing.is_some();
        Ok(())
    }

    /// The transaction is safe: tells what it held.
    pub(crate) fn publish(&self) {
        let mut events = self.events();
        let (held, closing) = (std::mem::take(&mut events.written), events.closing.take());
        events.closed = false;
        events.ended |= closing.as_ref().is_some_and(|event| matches!(event.kind, Kind::Ended { .. }));
        let (run, first) = (self.run, events.safe + 1);
        let batch = (first..).zip(events.pending.drain(..held).chain(closing));
        let batch: Arc<[Event]> = batch.map(|(seq, what)| Event { run, seq, what }).collect();
        events.safe += batch.len() as u64;
        if !batch.is_empty() {
            // Told under the lock, so that batches arrive in order. Nobody may be listening.
            let _ = self.told.send(batch);
        }
    }

    /// The transaction failed: what it held is pending again.
    pub(crate) fn withdraw(&self) {
        let mut events = self.events();
        events.written = 0;
        events.closing = None;
        events.closed = false;
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands the events of nodes to the log of their run.
pub(super) struct Sink(pub(super) Arc<RunLog>);

impl EventSink for Sink {
    fn emit(&self, event: StepEvent) {
        self.0.add(event);
    }
}
