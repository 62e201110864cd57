//! The log of one unfinished run. An event is pending when it has happened, in a transaction while that is written, and
//! committed when the transaction is on disk. Only then do listeners learn of it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibid_core::RunId;
use ibid_graph::{EventKind, EventSink, Record, StepEvent};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::event_list::{self, numbered};
use crate::store::StoreError;
use crate::types::Event;

/// How many committed events are kept in memory for listeners. Whoever is further behind reads the file.
const RECENT: usize = 64;
/// From so many rows of pending events on, up to twice as many, they move into the journal.
const MOST_ROWS: i64 = 64;

/// What the work of a commit gives back: a value for the caller, and what its run ends the commit with.
pub(crate) struct RunCommit<T> {
    pub(crate) value: T,
    /// The last events of the commit, told exactly if it succeeds.
    pub(crate) events: Vec<StepEvent>,
    /// The step that the commit finishes.
    pub(crate) record: Option<Record>,
}

impl<T> RunCommit<T> {
    /// A commit that tells nothing by itself.
    pub(crate) fn quiet(value: T) -> Self {
        Self { value, events: Vec::new(), record: None }
    }

    /// A commit that ends with events of its run.
    pub(crate) fn with_events(value: T, events: Vec<StepEvent>) -> Self {
        Self { value, events, record: None }
    }
}

/// Where a transaction puts what a run told.
pub(crate) trait EventTable {
    /// Puts down a list of events, of which the last has the number `last`. Returns the row, if it is to move into the journal
    /// with the next step.
    fn add_pending(&mut self, run: i64, last: u64, list: &str) -> Result<Option<i64>, StoreError>;

    /// Appends a list of events to the journal, with the step that they end with, if they do. Returns whether the run is there.
    fn append(
        &mut self,
        run: i64,
        last: u64,
        record: Option<&Record>,
        list: &str,
    ) -> Result<bool, StoreError>;
}

/// Runs with pending events, in the order in which they began to wait.
#[derive(Default)]
pub(crate) struct FlushQueue {
    logs: Mutex<VecDeque<(Instant, Arc<RunLog>)>>,
    some: Notify,
    /// The newest committed row of pending events.
    newest_row: AtomicI64,
}

impl FlushQueue {
    fn add(&self, log: Arc<RunLog>) {
        self.logs().push_back((Instant::now(), log));
        self.some.notify_one();
    }

    /// Waits until there are some.
    pub(crate) async fn some(&self) {
        self.some.notified().await;
    }

    /// The newest committed row of pending events.
    pub(crate) fn newest_row(&self) -> i64 {
        self.newest_row.load(Ordering::Relaxed)
    }

    /// The rows have been dropped, and SQLite counts them anew.
    pub(crate) fn reset_newest_row(&self) {
        self.newest_row.store(0, Ordering::Relaxed);
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
        taken.into_iter().filter(|log| log.leave_queue()).collect()
    }

    fn logs(&self) -> MutexGuard<'_, VecDeque<(Instant, Arc<RunLog>)>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The log of one unfinished run.
pub(crate) struct RunLog {
    run: RunId,
    key: i64,
    /// Which claim of the run this is, where several processes could have it.
    epoch: i64,
    /// Held while something of the run is written, where that is not the work of one thread.
    writing: Arc<tokio::sync::Mutex<()>>,
    queue: Arc<FlushQueue>,
    /// Number of the last committed event.
    committed: watch::Sender<u64>,
    discarded: AtomicBool,
    state: Mutex<LogState>,
}

/// Events that stand in rows of `pending_events` and not in the journal.
#[derive(Default)]
struct EventRows {
    count: i64,
    /// The first and the last of the rows.
    first: i64,
    newest: i64,
    /// The number of the last event.
    last: u64,
    /// The events, as they are written.
    text: String,
}

impl EventRows {
    fn add(&mut self, row: i64, last: u64, list: &str) {
        let first = if self.count == 0 { row } else { self.first };
        *self =
            Self { count: self.count + 1, first, newest: row, last, text: std::mem::take(&mut self.text) };
        event_list::join(&mut self.text, list);
    }

    /// Takes what another has after this.
    fn append(&mut self, other: Self) {
        if other.count > 0 {
            let first = if self.count == 0 { other.first } else { self.first };
            let text = std::mem::take(&mut self.text);
            *self = Self { count: self.count + other.count, first, text, ..other };
            event_list::join(&mut self.text, &other.text);
        }
    }
}

/// Where the events of a run stand.
#[derive(Default)]
struct LogState {
    /// Number of the last committed event.
    committed: u64,
    /// The last of the committed events.
    recent: VecDeque<Event>,
    /// Committed events that are not in the journal yet.
    rows: EventRows,
    /// What the transaction under way holds, if there is one.
    transaction: Option<Transaction>,
    /// What happened since, in order.
    pending: Vec<StepEvent>,
    /// Whether the rows are to move into the journal with the next commit.
    fold_requested: bool,
    /// Whether this log is in the flush queue.
    queued: bool,
    /// Whether the run has ended, so that nothing more counts.
    ended: bool,
}

/// What a transaction holds of a run.
#[derive(Default)]
struct Transaction {
    /// Its events, and whether each was pending before: the others belong to the commit alone.
    events: Vec<(StepEvent, bool)>,
    /// The rows of pending events that it adds.
    rows: EventRows,
    /// Whether it moves all rows into the journal.
    folds: bool,
    /// Whether it ends the run.
    ends: bool,
}

impl LogState {
    /// Adds what happens. Tokens that follow each other become one event.
    fn push(&mut self, event: StepEvent) {
        if let (
            Some(StepEvent { step, attempt, kind: EventKind::Token { text } }),
            EventKind::Token { text: more },
        ) = (self.pending.last_mut(), &event.kind)
            && (*step, *attempt) == (event.step, event.attempt)
        {
            text.push_str(more);
            return;
        }
        self.pending.push(event);
    }

    /// Forgets what is not committed, and takes nothing more.
    fn discard(&mut self) {
        self.pending.clear();
        self.transaction = None;
        self.rows = EventRows::default();
        self.fold_requested = false;
        self.ended = true;
    }
}

impl RunLog {
    /// The log of a run whose events up to `committed` are stored.
    pub(crate) fn new(run: RunId, key: i64, committed: u64, queue: Arc<FlushQueue>) -> Arc<Self> {
        Self::claimed(run, key, 0, committed, queue)
    }

    /// The same, of one claim of the run.
    pub(crate) fn claimed(
        run: RunId,
        key: i64,
        epoch: i64,
        committed: u64,
        queue: Arc<FlushQueue>,
    ) -> Arc<Self> {
        let state = Mutex::new(LogState { committed, ..LogState::default() });
        let (committed, writing) = (watch::Sender::new(committed), Arc::default());
        let discarded = AtomicBool::new(false);
        Arc::new(Self { run, key, epoch, writing, queue, committed, discarded, state })
    }

    /// Which run.
    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    /// Which claim of it.
    pub(crate) fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Held while something of the run is written.
    pub(crate) fn writing(&self) -> Arc<tokio::sync::Mutex<()>> {
        self.writing.clone()
    }

    /// The key of the run.
    pub(crate) fn key(&self) -> i64 {
        self.key
    }

    /// Changes whenever more is committed.
    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        self.committed.subscribe()
    }

    /// The committed events after a number and whether no further ones will come, or `None` if they are no
    /// longer all in memory.
    pub(crate) fn after(&self, number: u64) -> Option<(Vec<Event>, bool)> {
        let state = self.state();
        let first = state.committed + 1 - state.recent.len() as u64;
        let skipped = number.saturating_add(1).checked_sub(first)?;
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let found = state.recent.iter().skip(skipped).cloned().collect();
        Some((found, state.ended || self.is_discarded()))
    }

    /// Forgets the run: nothing more of it will be written.
    pub(crate) fn discard(&self) {
        self.state().discard();
        self.discarded.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Wakes those who listen, though nothing was committed.
    pub(crate) fn wake(&self) {
        self.committed.send_modify(|_| {});
    }

    /// Whether nothing has been told yet.
    pub(crate) fn is_new(&self) -> bool {
        let state = self.state();
        state.committed == 0 && state.transaction.is_none() && state.pending.is_empty()
    }

    /// Whether the run was deleted.
    pub(crate) fn is_discarded(&self) -> bool {
        self.discarded.load(Ordering::Relaxed)
    }

    /// Adds an event.
    pub(crate) fn add(self: &Arc<Self>, event: StepEvent) {
        let mut state = self.state();
        if state.ended {
            return;
        }
        state.push(event);
        self.enter_queue(state);
    }

    /// Puts this log into the flush queue, unless it is there.
    fn enter_queue(self: &Arc<Self>, mut state: MutexGuard<'_, LogState>) {
        let is_new = !std::mem::replace(&mut state.queued, true);
        drop(state);
        if is_new {
            self.queue.add(self.clone());
        }
    }

    /// Leaves the flush queue; whether there is anything to write.
    fn leave_queue(&self) -> bool {
        let mut state = self.state();
        state.queued = false;
        !state.pending.is_empty() || state.fold_requested
    }

    /// The committed events after a number that are not in the journal yet.
    pub(crate) fn rows_after(&self, number: u64) -> Result<Vec<Event>, StoreError> {
        let state = self.state();
        if state.rows.last <= number {
            return Ok(Vec::new());
        }
        let (last, list) = (state.rows.last, format!("[{}]", state.rows.text));
        drop(state);
        let events = numbered(self.run, last, &list)?;
        Ok(events.into_iter().filter(|event| event.seq > number).collect())
    }

    /// The first row of pending events that this run still needs.
    pub(crate) fn first_row(&self) -> Option<i64> {
        let state = self.state();
        (state.rows.count > 0).then_some(state.rows.first)
    }

    /// Has the rows moved into the journal with the next commit of events.
    pub(crate) fn request_fold(self: &Arc<Self>) {
        let mut state = self.state();
        state.fold_requested |= state.rows.count > 0;
        if state.fold_requested {
            self.enter_queue(state);
        }
    }

    /// Writes what is pending into the transaction under way, and `last` after it with the step that it finishes.
    pub(crate) fn write(
        &self,
        table: &mut impl EventTable,
        last: Vec<StepEvent>,
        record: Option<&Record>,
    ) -> Result<(), StoreError> {
        let mut guard = self.state();
        let state = &mut *guard;
        let transaction = state.transaction.take().unwrap_or_default();
        if self.is_discarded() || transaction.ends {
            state.transaction = Some(transaction);
            return Ok(());
        }
        let transaction = state.transaction.insert(transaction);
        let closes = !last.is_empty() || record.is_some();
        let fold = state.fold_requested && !transaction.folds;
        if state.pending.is_empty() && !closes && !fold {
            return Ok(());
        }
        transaction.ends = last.iter().any(|event| matches!(event.kind, EventKind::RunEnded { .. }));
        let before = transaction.events.len();
        transaction.events.extend(state.pending.drain(..).map(|event| (event, true)));
        transaction.events.extend(last.into_iter().map(|event| (event, false)));
        let new: Vec<&StepEvent> = transaction.events[before..].iter().map(|(event, _)| event).collect();
        let number = state.committed + transaction.events.len() as u64;
        let list = event_list::list(&new)?;
        // Not all runs at the same moment.
        let full = state.rows.count >= MOST_ROWS + self.key % MOST_ROWS;
        if !closes && !fold && !full {
            if let Some(row) = table.add_pending(self.key, number, &list)? {
                transaction.rows.add(row, number, &list);
            }
            return Ok(());
        }
        let mut all = String::new();
        if !transaction.folds {
            all.clone_from(&state.rows.text);
            event_list::join(&mut all, &transaction.rows.text);
        }
        event_list::join(&mut all, &list);
        if table.append(self.key, number, record, &format!("[{all}]"))? {
            transaction.folds = true;
        } else {
            state.discard();
            self.discarded.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The transaction is on disk: its events are committed. A finished step alone wakes nobody: the start of
    /// the next one or the end of the run follows at once, and listeners need not be woken twice.
    pub(crate) fn commit(self: &Arc<Self>) {
        let mut guard = self.state();
        let state = &mut *guard;
        let Some(transaction) = state.transaction.take() else { return };
        state.rows.append(transaction.rows);
        self.queue.newest_row.fetch_max(state.rows.newest, Ordering::Relaxed);
        if transaction.folds {
            (state.rows, state.fold_requested) = (EventRows::default(), false);
        }
        state.ended |= transaction.ends;
        let finishes_step = matches!(
            transaction.events.last(),
            Some((StepEvent { kind: EventKind::StepFinished { .. }, .. }, false))
        );
        for (what, _) in transaction.events {
            state.committed += 1;
            if state.recent.len() == RECENT {
                state.recent.pop_front();
            }
            state.recent.push_back(Event { run: self.run, seq: state.committed, what });
        }
        if state.ended {
            state.pending.clear();
        }
        let committed = state.committed;
        if state.pending.is_empty() {
            drop(guard);
        } else {
            self.enter_queue(guard);
        }
        if !finishes_step {
            self.committed.send_if_modified(|told| committed > std::mem::replace(told, committed.max(*told)));
        }
    }

    /// The transaction failed: what was pending before it is pending again.
    pub(crate) fn rollback(self: &Arc<Self>) {
        let mut state = self.state();
        let Some(transaction) = state.transaction.take() else { return };
        let mut pending: Vec<StepEvent> = transaction
            .events
            .into_iter()
            .filter_map(|(event, was_pending)| was_pending.then_some(event))
            .collect();
        pending.append(&mut state.pending);
        state.pending = pending;
        if !state.pending.is_empty() {
            self.enter_queue(state);
        }
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands the events of nodes to the log of their run.
pub(crate) struct Sink(pub(crate) Arc<RunLog>);

impl EventSink for Sink {
    fn emit(&self, event: StepEvent) {
        self.0.add(event);
    }
}
