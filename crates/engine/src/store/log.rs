//! The journal of one unfinished run as it grows: events are numbered when they happen, and told when
//! they are safe.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibid_core::RunId;
use ibid_graph::{EventSink, Kind, Record, StepEvent};
use rusqlite::Connection;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::file::StoreError;
use super::journal::{append, numbered};
use super::told;
use crate::nouns::Event;

/// How many events are kept at hand for listeners. Who is further behind reads the file.
const AT_HAND: usize = 64;
/// From so many loose rows on, up to twice as many, they move into the journal.
const MOST_LOOSE: i64 = 64;

/// Runs with events that wait for a commit.
#[derive(Default)]
pub(crate) struct Unwritten {
    /// In the order in which they began to wait, with the moment.
    logs: Mutex<VecDeque<(Instant, Arc<RunLog>)>>,
    some: Notify,
    /// The newest row of what was told that is safe.
    newest: AtomicI64,
}

impl Unwritten {
    fn add(&self, log: Arc<RunLog>) {
        self.logs().push_back((Instant::now(), log));
        self.some.notify_one();
    }

    /// Waits until there are some.
    pub(crate) async fn some(&self) {
        self.some.notified().await;
    }

    /// The newest row of what was told that is safe.
    pub(crate) fn newest(&self) -> i64 {
        self.newest.load(Ordering::Relaxed)
    }

    /// What was told has been dropped, and rows are counted anew.
    pub(crate) fn forget_newest(&self) {
        self.newest.store(0, Ordering::Relaxed);
    }

    /// Since when the first of them waits, and how many there are.
    pub(crate) fn waiting(&self) -> Option<(Instant, usize)> {
        let logs = self.logs();
        logs.front().map(|(since, _)| (*since, logs.len()))
    }

    /// Takes those that have waited since a moment or longer.
    pub(crate) fn take(&self, since: Instant) -> Vec<Arc<RunLog>> {
        let mut logs = self.logs();
        let due = logs.partition_point(|(began, _)| *began <= since);
        let taken: Vec<_> = logs.drain(..due).map(|(_, log)| log).collect();
        let more = !logs.is_empty();
        drop(logs);
        if more {
            self.some.notify_one();
        }
        taken.into_iter().filter(|log| log.unlist()).collect()
    }

    fn logs(&self) -> MutexGuard<'_, VecDeque<(Instant, Arc<RunLog>)>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The journal of one unfinished run.
pub(crate) struct RunLog {
    run: RunId,
    key: i64,
    unwritten: Arc<Unwritten>,
    /// Number of the last event that is safe.
    safe: watch::Sender<u64>,
    discarded: AtomicBool,
    events: Mutex<Events>,
}

/// Events that stand in rows of `told` and not in the journal.
#[derive(Default)]
struct Loose {
    rows: i64,
    /// The first and the last of the rows.
    first: i64,
    newest: i64,
    /// The number of the last event.
    last: u64,
    /// The events, as they are written.
    text: String,
}

impl Loose {
    fn add(&mut self, row: i64, last: u64, list: &str) {
        let first = if self.rows == 0 { row } else { self.first };
        *self = Self { rows: self.rows + 1, first, newest: row, last, text: std::mem::take(&mut self.text) };
        told::join(&mut self.text, list);
    }

    /// Takes what another has after this.
    fn append(&mut self, other: &mut Self) {
        let other = std::mem::take(other);
        if other.rows > 0 {
            let first = if self.rows == 0 { other.first } else { self.first };
            let text = std::mem::take(&mut self.text);
            *self = Self { rows: self.rows + other.rows, first, text, ..other };
            told::join(&mut self.text, &other.text);
        }
    }
}

#[derive(Default)]
struct Events {
    /// The last events that are safe.
    at_hand: VecDeque<Event>,
    /// Number of the last event that is safe.
    safe: u64,
    /// What happened since, in order.
    pending: Vec<StepEvent>,
    /// How many of these stand in the transaction under way.
    written: usize,
    /// What the work of the transaction under way tells, and the step that it finishes.
    last: Option<(Vec<StepEvent>, Option<Record>)>,
    /// Whether that stands in the transaction.
    last_written: bool,
    /// What is safe and does not stand in the journal yet.
    loose: Loose,
    /// The same of the transaction under way.
    loose_written: Loose,
    /// Whether what is loose is to move into the journal with the next commit.
    gather: bool,
    /// Whether the transaction under way moves it.
    gathered: bool,
    /// Whether this log is listed as unwritten.
    listed: bool,
    /// Whether the run has ended, so that nothing more counts.
    ended: bool,
}

impl Events {
    /// Adds what happens. Words that nobody has been told yet are told together.
    fn add(&mut self, event: StepEvent) {
        let last = self.pending.get_mut(self.written..).and_then(<[_]>::last_mut);
        if let (Some(StepEvent { step, attempt, kind: Kind::Token { text } }), Kind::Token { text: more }) =
            (last, &event.kind)
            && (*step, *attempt) == (event.step, event.attempt)
        {
            text.push_str(more);
            return;
        }
        self.pending.push(event);
    }

    /// Forgets what is not safe, and takes nothing more.
    fn forget(&mut self) {
        self.pending.clear();
        self.written = 0;
        self.last = None;
        self.last_written = false;
        (self.loose, self.loose_written) = (Loose::default(), Loose::default());
        (self.gather, self.gathered) = (false, false);
        self.ended = true;
    }
}

impl RunLog {
    /// The journal of a run whose events up to `safe` are stored.
    pub(crate) fn new(run: RunId, key: i64, safe: u64, unwritten: Arc<Unwritten>) -> Arc<Self> {
        let events = Mutex::new(Events { safe, ..Events::default() });
        let safe = watch::Sender::new(safe);
        Arc::new(Self { run, key, unwritten, safe, discarded: AtomicBool::new(false), events })
    }

    /// The key of the run.
    pub(crate) fn key(&self) -> i64 {
        self.key
    }

    /// Tells when more becomes safe.
    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        self.safe.subscribe()
    }

    /// The safe events after a number and whether no further ones will come, or `None` if they are no
    /// longer all at hand.
    pub(crate) fn after(&self, number: u64) -> Option<(Vec<Event>, bool)> {
        let events = self.events();
        let first = events.safe + 1 - events.at_hand.len() as u64;
        let skipped = number.saturating_add(1).checked_sub(first)?;
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let found = events.at_hand.iter().skip(skipped).cloned().collect();
        Some((found, events.ended || self.is_discarded()))
    }

    /// Forgets the run: nothing more of it will be written.
    pub(crate) fn discard(&self) {
        self.events().forget();
        self.discarded.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Wakes those who listen, though nothing was told.
    pub(crate) fn wake(&self) {
        self.safe.send_modify(|_| {});
    }

    /// Whether the run was deleted.
    pub(crate) fn is_discarded(&self) -> bool {
        self.discarded.load(Ordering::Relaxed)
    }

    /// Adds an event.
    pub(crate) fn add(self: &Arc<Self>, event: StepEvent) {
        let mut events = self.events();
        if events.ended {
            return;
        }
        events.add(event);
        let more = !std::mem::replace(&mut events.listed, true);
        drop(events);
        if more {
            self.unwritten.add(self.clone());
        }
    }

    fn unlist(&self) -> bool {
        let mut events = self.events();
        events.listed = false;
        events.pending.len() > events.written || events.gather
    }

    /// What is loose after a number.
    pub(crate) fn loose_after(&self, number: u64) -> Result<Vec<Event>, StoreError> {
        let events = self.events();
        if events.loose.last <= number {
            return Ok(Vec::new());
        }
        let (last, list) = (events.loose.last, format!("[{}]", events.loose.text));
        drop(events);
        let loose = numbered(self.run, last, &list)?;
        Ok(loose.into_iter().filter(|event| event.seq > number).collect())
    }

    /// The first row of what is loose.
    pub(crate) fn first_loose(&self) -> Option<i64> {
        let events = self.events();
        (events.loose.rows > 0).then_some(events.loose.first)
    }

    /// Moves what is loose into the journal with the next commit of events.
    pub(crate) fn gather(self: &Arc<Self>) {
        let mut events = self.events();
        events.gather |= events.loose.rows > 0;
        let more = events.gather && !std::mem::replace(&mut events.listed, true);
        drop(events);
        if more {
            self.unwritten.add(self.clone());
        }
    }

    /// Makes `told` the last events of the transaction under way, told exactly if that succeeds, with the
    /// step that it finishes. Called by the writer's work.
    pub(crate) fn close_with(&self, told: Vec<StepEvent>, record: Option<Record>) {
        self.events().last = Some((told, record));
    }

    /// Writes what is pending into the transaction under way.
    pub(crate) fn write(&self, connection: &Connection) -> Result<(), StoreError> {
        let mut events = self.events();
        if self.is_discarded() || events.last_written {
            return Ok(());
        }
        let (last, record) = match &events.last {
            Some((told, record)) => (told.as_slice(), record.as_ref()),
            None => (&[][..], None),
        };
        let told: Vec<_> = events.pending[events.written..].iter().chain(last).collect();
        if told.is_empty() && (!events.gather || events.gathered) {
            return Ok(());
        }
        let number = events.safe + events.written as u64 + told.len() as u64;
        let list = told::list(&told)?;
        // Not all runs at the same moment.
        let full = events.loose.rows >= MOST_LOOSE + self.key % MOST_LOOSE;
        if events.last.is_some() || events.gather || full {
            let mut all = String::new();
            if !events.gathered {
                all.clone_from(&events.loose.text);
                told::join(&mut all, &events.loose_written.text);
            }
            told::join(&mut all, &list);
            if !append(connection, self.key, number, record, &format!("[{all}]"))? {
                events.forget();
                self.discarded.store(true, Ordering::Relaxed);
                return Ok(());
            }
            events.gathered = true;
        } else {
            let row = told::add(connection, self.key, number, &list)?;
            events.loose_written.add(row, number, &list);
        }
        events.written = events.pending.len();
        events.last_written = events.last.is_some();
        Ok(())
    }

    /// The transaction is safe: tells what it held. A finished step is not told by itself: the start of
    /// the next one or the end of the run follows at once and takes it along, and listeners need not be
    /// woken twice.
    pub(crate) fn publish(self: &Arc<Self>) {
        let mut guard = self.events();
        let events = &mut *guard;
        let last = events.last.take().map(|(told, _)| told).unwrap_or_default();
        events.last_written = false;
        events.loose.append(&mut events.loose_written);
        self.unwritten.newest.fetch_max(events.loose.newest, Ordering::Relaxed);
        if std::mem::take(&mut events.gathered) {
            (events.loose, events.gather) = (Loose::default(), false);
        }
        let tell = !matches!(last.last(), Some(StepEvent { kind: Kind::Finished { .. }, .. }));
        events.ended |= last.iter().any(|event| matches!(event.kind, Kind::Ended { .. }));
        let held = events.pending.drain(..std::mem::take(&mut events.written)).chain(last);
        for what in held {
            events.safe += 1;
            if events.at_hand.len() == AT_HAND {
                events.at_hand.pop_front();
            }
            events.at_hand.push_back(Event { run: self.run, seq: events.safe, what });
        }
        if events.ended {
            events.pending.clear();
        }
        let safe = events.safe;
        drop(guard);
        self.list();
        if tell {
            self.safe.send_if_modified(|told| safe > std::mem::replace(told, safe.max(*told)));
        }
    }

    /// The transaction failed: what it held is pending again.
    pub(crate) fn withdraw(self: &Arc<Self>) {
        let mut events = self.events();
        events.written = 0;
        events.last = None;
        events.last_written = false;
        events.loose_written = Loose::default();
        events.gathered = false;
        drop(events);
        self.list();
    }

    /// Lists what is pending as unwritten, unless it is listed already.
    fn list(self: &Arc<Self>) {
        let mut events = self.events();
        let more = !events.pending.is_empty() && !std::mem::replace(&mut events.listed, true);
        drop(events);
        if more {
            self.unwritten.add(self.clone());
        }
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands the events of nodes to the journal of their run.
pub(crate) struct Sink(pub(crate) Arc<RunLog>);

impl EventSink for Sink {
    fn emit(&self, event: StepEvent) {
        self.0.add(event);
    }
}
