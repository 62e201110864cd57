//! The engine for one machine: runs are tokio tasks, and everything that matters is in one SQLite file.

mod control;
mod coordination;
mod events;
mod file;
mod finish;
mod reading;
mod retention;
mod snapshot;
mod spending;
mod submit;
mod suspects;
mod threads;
mod turn;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use ibid_core::model::Day;
use ibid_core::{Message, QueueId, RunId, Scope, Tenant, ThreadId};
use ibid_graph::Record;
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use file::{Conversation, EngineFile, FileReport, LockGuard};
pub use snapshot::FileSnapshot;

use crate::coordination::Allowances;
use crate::engine::{Engine, EventStream};
use crate::error::Error;
use crate::facts::{FactsRange, TurnFacts};
use crate::run::{DrainGate, FlushQueue, Graphs, Live, RunRow, RunSettings, TenantSlots};
use crate::store::{self, Lock, Readers, StoreError, Writer};
use crate::types::{
    ApiKey, Feedback, Job, Lifetime, MessageWindow, NewJob, Run, Stop, Submitted, Thread, ThreadFilter,
    ThreadMessage, ThreadPage, ThreadUpdate, Turn, UnfinishedJob,
};

/// So many runs that wait for a commit are many.
const CROWD: usize = 250;
/// After so many commits of events, those that have moved into journals are dropped.
const BETWEEN_TRIMS: u64 = 64;
/// So many rows may be kept for the sake of one run.
const MOST_ROWS: i64 = 100_000;

/// The engine for one machine. Cheap to clone; all clones are one engine.
#[derive(Clone)]
pub struct LocalEngine(Arc<Inner>);

struct Inner {
    path: PathBuf,
    settings: RunSettings,
    graphs: Graphs,
    allowances: Allowances,
    writer: Mutex<Option<Writer>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    lock: Mutex<Option<Lock>>,
    readers: Readers,
    live: Live,
    flush_queue: Arc<FlushQueue>,
    closed: AtomicBool,
    /// Whether what an earlier process left was taken up.
    recovered: AtomicBool,
    /// What is under way, until the engine is closed.
    tasks: Mutex<Option<JoinSet<()>>>,
    runtime: Handle,
    /// One for each turn that may be worked on at once.
    slots: Option<Arc<TenantSlots>>,
    drain: Arc<DrainGate>,
    suspects: Suspects,
}

/// What is known of the runs that an earlier process left.
struct Suspects {
    /// How many were at work when it ended.
    at_work: AtomicUsize,
    /// Whether one of them was at work every time, so that they pass one after the other.
    are_there: AtomicBool,
    lane: Arc<Semaphore>,
}

impl LocalEngine {
    /// Opens the file at `path`, makes it if it is not there, and takes up every turn that has not ended.
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Fails if another process runs turns from the file, or if it cannot be opened.
    pub async fn open(path: &Path, graphs: Graphs, settings: RunSettings) -> Result<Self, Error> {
        let lock = Lock::take(path)?;
        let connection = store::open_for_writing(path)?;
        let spawn = |source| StoreError::Open { path: path.to_owned(), source };
        let (writer, thread) = Writer::start(connection).map_err(spawn)?;
        let slots = settings.at_once.map(TenantSlots::new);
        let engine = Self(Arc::new(Inner {
            path: path.to_owned(),
            settings,
            graphs,
            allowances: Allowances::default(),
            writer: Mutex::new(Some(writer)),
            thread: Mutex::new(Some(thread)),
            lock: Mutex::new(Some(lock)),
            readers: Readers::new(path),
            live: Live::default(),
            flush_queue: Arc::default(),
            closed: AtomicBool::new(false),
            recovered: AtomicBool::new(false),
            tasks: Mutex::new(Some(JoinSet::new())),
            runtime: Handle::current(),
            slots,
            drain: Arc::default(),
            suspects: Suspects {
                at_work: AtomicUsize::new(0),
                are_there: AtomicBool::new(false),
                lane: Arc::new(Semaphore::new(1)),
            },
        }));
        engine.spawn(engine.clone().write_events());
        engine.spawn(engine.clone().run_retention());
        if engine.0.settings.recover_on_open
            && let Err(error) = engine.recover().await
        {
            engine.close().await;
            return Err(error);
        }
        Ok(engine)
    }

    /// Ends at once, as a kill would: turns under way are left where they are, to be taken up by the next
    /// engine that opens the file. Returns when the file is free.
    pub async fn close(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
        self.0.live.logs().iter().for_each(|log| log.wake());
        let tasks = self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut tasks) = tasks {
            tasks.shutdown().await;
        }
        self.0.readers.close();
        self.0.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.0.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The thread only ends when the last write is safe; a panic in it was reported already.
            let _ = tokio::task::spawn_blocking(|| thread.join()).await;
        }
        self.0.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn writer(&self) -> Result<Writer, StoreError> {
        let writer = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.clone().ok_or(StoreError::Closed)
    }

    /// Runs a task until it ends or the engine is closed.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(tasks) = &mut *tasks else { return };
        while tasks.try_join_next().is_some() {}
        // Also called from the writer's thread, which is not one of the runtime's.
        tasks.spawn_on(task, &self.0.runtime);
    }

    /// Writes events that no step takes along, a moment after they happened.
    async fn write_events(self) {
        let delay = self.0.settings.event_delay;
        let mut began = Instant::now();
        for count in 1_u64.. {
            self.0.flush_queue.some().await;
            let Some((oldest, runs)) = self.0.flush_queue.waiting() else { continue };
            // Where there are many, each waits longer, since more of its words then go together; and they are written in
            // turns, since to wake all their listeners at once would keep everybody else waiting.
            let crowded = runs >= CROWD;
            let wait = if crowded { delay * 2 } else { delay };
            tokio::time::sleep_until((oldest + wait).max(began + delay / 2)).await;
            began = Instant::now();
            let since = if crowded { began - wait } else { began };
            let others = self.0.flush_queue.take(since);
            if others.is_empty() {
                continue;
            }
            let Ok(writer) = self.writer() else { return };
            let batch = store::Batch::events_of(others);
            let engine = count.is_multiple_of(BETWEEN_TRIMS).then(|| self.clone());
            let work = move |connection: &_| engine.as_ref().map_or(Ok(()), |engine| engine.trim(connection));
            if let Err(error) = writer.write(batch, work).await {
                tracing::error!(error = &error as &dyn std::error::Error, "events could not be written");
            }
        }
    }

    /// Drops what was told and has moved into the journals. Runs in a commit, when no other is half told.
    fn trim(&self, connection: &rusqlite::Connection) -> Result<(), StoreError> {
        let newest = self.0.flush_queue.newest_row();
        let mut kept = None;
        for log in self.0.live.logs() {
            let Some(first) = log.first_row() else { continue };
            kept = Some(kept.map_or(first, |kept: i64| kept.min(first)));
            // One that takes long must not keep the others.
            if newest - first > MOST_ROWS {
                log.request_fold();
            }
        }
        store::trim_pending_events(connection, kept.unwrap_or(newest + 1))?;
        if kept.is_none() {
            // Where no row is left, SQLite counts from the beginning again.
            self.0.flush_queue.reset_newest_row();
        }
        Ok(())
    }
}

#[async_trait]
impl Engine for LocalEngine {
    async fn submit(&self, scope: &Scope, turn: Turn) -> Result<Submitted, Error> {
        self.submit_turn(scope.clone(), turn).await
    }

    async fn stop(&self, scope: &Scope, run: RunId, how: Stop) -> Result<(), Error> {
        self.stop_run(scope, run, how).await
    }

    async fn resume(&self, scope: &Scope, run: RunId, answer: Value) -> Result<(), Error> {
        self.resume_run(scope, run, answer).await
    }

    async fn submit_job(&self, scope: &Scope, job: NewJob) -> Result<RunId, Error> {
        self.submit_new_job(scope.clone(), job).await
    }

    async fn job(&self, scope: &Scope, run: RunId) -> Result<Job, Error> {
        self.find_run(scope, run).await?.into_job().ok_or(Error::UnknownRun(run))
    }

    async fn jobs(&self, scope: &Scope, queue: QueueId) -> Result<Vec<Job>, Error> {
        let scope = scope.clone();
        let queue = ThreadId::from_bytes(*queue.as_bytes());
        let read = move |connection: &_| match store::find_thread(
            connection,
            &scope,
            store::ThreadUse::Read,
            queue,
        )? {
            Some(row) => store::runs_of_thread(connection, row.key),
            None => Ok(Vec::new()),
        };
        let rows = self.0.readers.read(read).await?;
        Ok(rows.into_iter().filter_map(RunRow::into_job).collect())
    }

    async fn delete_jobs(&self, scope: &Scope, queue: QueueId) -> Result<(), Error> {
        match self.delete(scope.clone(), ThreadId::from_bytes(*queue.as_bytes())).await {
            Err(Error::UnknownThread(_)) => Ok(()),
            deleted => deleted,
        }
    }

    async fn unfinished_jobs(&self) -> Result<Vec<UnfinishedJob>, Error> {
        Ok(self.0.readers.read(store::unfinished_jobs).await?)
    }

    async fn recover(&self) -> Result<(), Error> {
        if self.0.recovered.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        self.take_up_unfinished().await
    }

    async fn shutdown(&self, timeout: Duration) {
        // At once, for whoever is not given the time, and again for what was begun meanwhile.
        self.clear_suspects().await;
        self.0.drain.wait(timeout).await;
        self.clear_suspects().await;
        self.close().await;
    }

    async fn events(&self, scope: &Scope, run: RunId, after: u64) -> Result<EventStream, Error> {
        self.follow(scope, run, after).await
    }

    async fn run(&self, scope: &Scope, run: RunId) -> Result<Run, Error> {
        Ok(self.find_run(scope, run).await?.into_run())
    }

    async fn runs(&self, scope: &Scope, thread: ThreadId) -> Result<Vec<Run>, Error> {
        self.read_runs(scope, thread).await
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Record>, Error> {
        let key = self.find_run(scope, run).await?.key;
        Ok(self.0.readers.read(move |connection| store::read_steps(connection, key)).await?)
    }

    async fn state(&self, scope: &Scope, run: RunId, step: u32) -> Result<Value, Error> {
        self.state_after(scope, run, step).await
    }

    async fn check(&self) -> Result<(), Error> {
        let today = Day::of(SystemTime::now());
        self.0.readers.read(move |connection| store::spent(connection, &Tenant::local(), today)).await?;
        Ok(())
    }

    fn unfinished_runs(&self) -> usize {
        self.0.live.count()
    }

    async fn fork(&self, scope: &Scope, run: RunId, step: u32) -> Result<(ThreadId, RunId), Error> {
        self.fork_run(scope.clone(), run, step).await
    }

    async fn delete_run(&self, scope: &Scope, run: RunId) -> Result<(), Error> {
        self.delete_finished_run(scope.clone(), run).await
    }

    async fn add_feedback(&self, scope: &Scope, run: RunId, feedback: Feedback) -> Result<(), Error> {
        let key = self.find_run(scope, run).await?.key;
        let add = move |connection: &_| store::add_feedback(connection, key, &feedback);
        Ok(self.writer()?.write(store::Batch::default(), add).await?)
    }

    async fn feedback(&self, scope: &Scope, run: RunId) -> Result<Vec<Feedback>, Error> {
        let key = self.find_run(scope, run).await?.key;
        Ok(self.0.readers.read(move |connection| store::read_feedback(connection, key)).await?)
    }

    async fn turn_facts(&self, scope: &Scope, range: FactsRange) -> Result<Vec<TurnFacts>, Error> {
        let scope = scope.clone();
        Ok(self.0.readers.read_apart(move |connection| store::read_facts(connection, &scope, &range)).await?)
    }

    async fn put_dataset_item(
        &self,
        scope: &Scope,
        dataset: &str,
        id: &str,
        content: Value,
    ) -> Result<(), Error> {
        let (scope, dataset, id) = (scope.clone(), dataset.to_owned(), id.to_owned());
        let put = move |connection: &_| store::put_item(connection, &scope, &dataset, &id, &content);
        Ok(self.writer()?.write(store::Batch::default(), put).await?)
    }

    async fn delete_dataset_items(
        &self,
        scope: &Scope,
        dataset: &str,
        id: Option<&str>,
    ) -> Result<usize, Error> {
        let (scope, dataset, id) = (scope.clone(), dataset.to_owned(), id.map(str::to_owned));
        let delete = move |connection: &_| store::delete_items(connection, &scope, &dataset, id.as_deref());
        Ok(self.writer()?.write(store::Batch::default(), delete).await?)
    }

    async fn dataset_items(&self, scope: &Scope, dataset: &str) -> Result<Vec<Value>, Error> {
        let (scope, dataset) = (scope.clone(), dataset.to_owned());
        Ok(self.0.readers.read(move |connection| store::read_items(connection, &scope, &dataset)).await?)
    }

    async fn datasets(&self, scope: &Scope) -> Result<Vec<(String, u64)>, Error> {
        let scope = scope.clone();
        Ok(self.0.readers.read(move |connection| store::list_datasets(connection, &scope)).await?)
    }

    async fn add_api_key(&self, hash: [u8; 32], key: ApiKey) -> Result<(), Error> {
        let name = key.name.clone();
        let add = move |connection: &_| store::add_api_key(connection, &hash, &key);
        let added = self.writer()?.write(store::Batch::default(), add).await?;
        added.then_some(()).ok_or(Error::KeyExists(name))
    }

    async fn api_key(&self, hash: [u8; 32]) -> Result<Option<ApiKey>, Error> {
        Ok(self.0.readers.read(move |connection| store::find_api_key(connection, &hash)).await?)
    }

    async fn api_keys(&self, scope: &Scope) -> Result<Vec<ApiKey>, Error> {
        let scope = scope.clone();
        Ok(self.0.readers.read(move |connection| store::list_api_keys(connection, &scope)).await?)
    }

    async fn api_key_tenants(&self) -> Result<Vec<Tenant>, Error> {
        Ok(self.0.readers.read(store::api_key_tenants).await?)
    }

    async fn delete_api_key(&self, scope: &Scope, name: &str) -> Result<(), Error> {
        let (scope, key) = (scope.clone(), name.to_owned());
        let delete = move |connection: &_| store::delete_api_key(connection, &scope, &key);
        let deleted = self.writer()?.write(store::Batch::default(), delete).await?;
        deleted.then_some(()).ok_or_else(|| Error::UnknownKey(name.to_owned()))
    }

    async fn create_thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        metadata: Map<String, Value>,
        lifetime: Lifetime,
    ) -> Result<(Thread, bool), Error> {
        self.begin(scope.clone(), thread, &metadata, lifetime).await
    }

    async fn update_thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        update: ThreadUpdate,
    ) -> Result<Thread, Error> {
        self.update(scope.clone(), thread, update).await
    }

    async fn add_messages(
        &self,
        scope: &Scope,
        thread: ThreadId,
        messages: Vec<Message>,
    ) -> Result<RunId, Error> {
        self.add(scope.clone(), thread, &messages).await
    }

    async fn copy_thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        before: Option<u64>,
    ) -> Result<Thread, Error> {
        self.copy(scope.clone(), thread, before).await
    }

    async fn threads(&self, scope: &Scope, page: ThreadPage) -> Result<Vec<Thread>, Error> {
        let scope = scope.clone();
        Ok(self.0.readers.read(move |connection| store::list_threads(connection, &scope, &page)).await?)
    }

    async fn count_threads(&self, scope: &Scope, filter: ThreadFilter) -> Result<u64, Error> {
        let scope = scope.clone();
        Ok(self.0.readers.read(move |connection| store::count_threads(connection, &scope, &filter)).await?)
    }

    async fn thread(&self, scope: &Scope, thread: ThreadId) -> Result<Thread, Error> {
        Ok(self.find_thread(scope, thread).await?.thread)
    }

    async fn messages(
        &self,
        scope: &Scope,
        thread: ThreadId,
        window: MessageWindow,
    ) -> Result<Vec<ThreadMessage>, Error> {
        let key = self.find_thread(scope, thread).await?.key;
        Ok(self.0.readers.read(move |connection| store::read_window(connection, key, window)).await?)
    }

    async fn delete_thread(&self, scope: &Scope, thread: ThreadId) -> Result<(), Error> {
        self.delete(scope.clone(), thread).await
    }
}
