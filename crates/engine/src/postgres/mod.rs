//! The engine for many machines: conversations, runs and their journals are in Postgres, which any number of processes share.
//!
//! A run has an owner and an epoch. Whatever a worker writes of a run names both, so that a worker which was asleep, or cut off,
//! can change nothing once others have taken its runs over. Nothing rests on what a process remembers, nor on hints between
//! processes arriving.

mod bound;
#[cfg(test)]
mod conforms;
mod control;
mod coordination;
mod database;
mod facts;
mod fault;
mod finish;
mod follow;
mod hints;
mod journal;
mod keys;
mod listing;
mod port;
mod retention;
mod rows;
mod run_locks;
mod schema;
mod settings;
mod submit;
mod threads;
mod visibility;
mod work;
mod worker;
mod writer;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

pub use fault::PostgresError;
pub use settings::PostgresSettings;

use crate::error::Error;
use crate::run::{DrainGate, FlushQueue, Graphs, Live};
use crate::store::StoreError;
pub(crate) use bound::Bound;
pub(crate) use database::Connection;
use database::Database;
use hints::{Hints, OutgoingHints};
use ibid_core::RunId;
use run_locks::RunLocks;
use writer::{GroupWriter, Orders};

/// The engine for many machines. Cheap to clone; all clones are one engine.
#[derive(Clone)]
pub struct PostgresEngine(Arc<Inner>);

struct Inner {
    settings: PostgresSettings,
    graphs: Graphs,
    database: Database,
    /// This process, as others know it.
    worker: Uuid,
    writer: GroupWriter,
    hints: Hints,
    live: Live,
    flush_queue: Arc<FlushQueue>,
    drain: Arc<DrainGate>,
    /// One for each run that may be worked on at once.
    slots: Arc<Semaphore>,
    /// Until when nobody takes the runs of this process for those of a dead one.
    alive_until: Mutex<Option<Instant>>,
    /// Whether this process takes runs.
    takes_runs: AtomicBool,
    closed: AtomicBool,
    /// What is under way, until the engine is closed.
    tasks: Mutex<Option<JoinSet<()>>>,
    runtime: Handle,
    /// There may be runs that nobody has; runs of this process may have been told something; it has taken a run.
    work: Notify,
    /// Whether runs may wait for room in this process.
    may_wait: AtomicBool,
    control: Notify,
    taken: Notify,
    /// Runs of this process that may end it, and whether there are any.
    suspects: Mutex<HashSet<i64>>,
    suspected: AtomicBool,
    run_locks: RunLocks,
    strays: Mutex<Vec<Stray>>,
}

/// A run that is stored as this process's, and that it does not work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stray {
    run: RunId,
    key: i64,
    epoch: i64,
}

/// What an engine works on from its beginning.
struct Beginning {
    orders: Orders,
    outgoing: OutgoingHints,
}

impl Beginning {
    fn tasks(self, engine: &PostgresEngine) {
        engine.spawn(engine.clone().write_orders(self.orders));
        engine.spawn(engine.clone().write_events());
        engine.spawn(engine.clone().send_hints(self.outgoing));
    }
}

impl PostgresEngine {
    /// Opens the engine, brings the schema of its database up to date, and takes its share of the runs.
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Fails if the database cannot be reached, or was written by a newer version.
    pub async fn open(graphs: Graphs, settings: PostgresSettings) -> Result<Self, Error> {
        let recovers = settings.runs.recover_on_open;
        let (engine, begin) = Self::new(graphs, settings)?;
        engine.database().insist(|| schema::migrate(engine.database())).await?;
        begin.tasks(&engine);
        engine.spawn(engine.clone().hear_hints());
        engine.spawn(engine.clone().run_retention());
        if recovers {
            engine.take_runs().await?;
        }
        Ok(engine)
    }

    /// Opens it to look at what is there, and to change what nobody works on: the schema stays as it is, unless there is none yet, and
    /// no runs are taken.
    ///
    /// # Errors
    /// Fails if the database cannot be reached, or has another schema than this version.
    pub async fn look(settings: PostgresSettings) -> Result<Self, Error> {
        let (engine, begin) = Self::new(Graphs::default(), PostgresSettings { works: false, ..settings })?;
        engine.database().insist(|| schema::expect_current(engine.database())).await?;
        begin.tasks(&engine);
        Ok(engine)
    }

    fn new(graphs: Graphs, settings: PostgresSettings) -> Result<(Self, Beginning), Error> {
        let database = Database::new(&settings).map_err(StoreError::from)?;
        let (writer, orders) = GroupWriter::new();
        let (hints, outgoing) = Hints::new();
        let at_once = settings.runs.at_once.unwrap_or(PostgresSettings::AT_ONCE);
        let engine = Self(Arc::new(Inner {
            settings,
            graphs,
            database,
            worker: Uuid::now_v7(),
            writer,
            hints,
            live: Live::default(),
            flush_queue: Arc::default(),
            drain: Arc::default(),
            slots: Arc::new(Semaphore::new(at_once)),
            alive_until: Mutex::default(),
            takes_runs: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            tasks: Mutex::new(Some(JoinSet::new())),
            runtime: Handle::current(),
            work: Notify::new(),
            may_wait: AtomicBool::new(false),
            control: Notify::new(),
            taken: Notify::new(),
            suspects: Mutex::default(),
            suspected: AtomicBool::new(false),
            run_locks: RunLocks::default(),
            strays: Mutex::default(),
        }));
        Ok((engine, Beginning { orders, outgoing }))
    }

    /// Becomes a worker, if this process is to be one. Does nothing the second time.
    async fn take_runs(&self) -> Result<(), Error> {
        if !self.0.settings.works || self.0.takes_runs.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        self.join_workers().await?;
        self.take_up_changed().await?;
        self.spawn(self.clone().be_worker());
        self.spawn(self.clone().claim_runs());
        self.spawn(self.clone().obey());
        self.look_for_work();
        Ok(())
    }

    /// Ends at once, as a kill would: runs under way are left where they are, and taken over once the lease of this process has
    /// passed.
    pub async fn close(&self) {
        self.end_tasks().await;
        self.0.database.close();
    }

    /// Ends whatever this process does.
    async fn end_tasks(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
        self.0.live.logs().iter().for_each(|log| log.wake());
        self.0.taken.notify_waiters();
        let tasks = self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut tasks) = tasks {
            tasks.shutdown().await;
        }
    }

    /// Runs a task until it ends or the engine is closed.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(tasks) = &mut *tasks else { return };
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, &self.0.runtime);
    }

    /// Runs a task that ends also if nobody waits for it any more.
    async fn spawn_with_result<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, done) = tokio::sync::oneshot::channel();
        self.spawn(async move {
            // Whoever asked may be gone.
            let _ = reply.send(task.await);
        });
        done.await.map_err(|_| StoreError::Closed)
    }

    /// Room for another run in this process, if it works on runs and there is any.
    fn free_slot(&self) -> Option<OwnedSemaphorePermit> {
        let takes = self.may_take_runs() && !self.0.drain.is_draining();
        takes.then(|| self.0.slots.clone().try_acquire_owned().ok()).flatten()
    }

    /// Waits for room for another run.
    async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        self.0.slots.clone().acquire_owned().await.ok()
    }

    /// Whether this process takes runs, and others leave to it what it takes: whoever was asleep may have been taken for dead.
    fn may_take_runs(&self) -> bool {
        self.is_worker() && self.has_lease()
    }

    fn is_worker(&self) -> bool {
        self.0.takes_runs.load(Ordering::Relaxed)
    }

    fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::SeqCst)
    }

    fn look_for_work(&self) {
        self.0.work.notify_one();
    }

    /// There is room for another run: whatever waited for it is looked for.
    fn has_room(&self) {
        if self.0.may_wait.swap(false, Ordering::SeqCst) {
            self.look_for_work();
        }
    }

    /// A connection to its database.
    pub(crate) async fn connection(&self) -> Result<Connection, StoreError> {
        self.database().connection().await
    }

    /// Makes sure that what ended so many days ago has its place.
    pub(crate) async fn make_partitions_back(&self, days: i64) -> Result<(), StoreError> {
        schema::make_partitions_since(&self.connection().await?, days).await
    }

    /// For so many days traces are kept.
    pub(crate) fn trace_days(&self) -> i64 {
        schema::days(self.settings().runs.trace_retention)
    }

    fn settings(&self) -> &PostgresSettings {
        &self.0.settings
    }

    fn database(&self) -> &Database {
        &self.0.database
    }

    fn worker_id(&self) -> Uuid {
        self.0.worker
    }

    fn writer(&self) -> &GroupWriter {
        &self.0.writer
    }

    fn hints(&self) -> &Hints {
        &self.0.hints
    }

    fn live(&self) -> &Live {
        &self.0.live
    }

    fn flush_queue(&self) -> &Arc<FlushQueue> {
        &self.0.flush_queue
    }

    fn drain_gate(&self) -> &Arc<DrainGate> {
        &self.0.drain
    }

    fn registered_graphs(&self) -> &Graphs {
        &self.0.graphs
    }

    fn graph_names(&self) -> Vec<String> {
        self.0.graphs.names()
    }

    /// The version of a graph, as it is stored.
    fn version_of(&self, graph: &str) -> String {
        self.0.graphs.version(graph).map(|version| version.to_string()).unwrap_or_default()
    }

    fn work_notify(&self) -> &Notify {
        &self.0.work
    }

    fn may_wait(&self) -> &AtomicBool {
        &self.0.may_wait
    }

    fn control_notify(&self) -> &Notify {
        &self.0.control
    }

    fn run_taken(&self) -> &Notify {
        &self.0.taken
    }

    /// Whether the last heartbeat is younger than the lease.
    fn has_lease(&self) -> bool {
        let until = *self.0.alive_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// The heartbeat that began at a moment is stored, and this process knows which runs it still has.
    fn heartbeat_sent(&self, since: Instant) {
        let mut until = self.0.alive_until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = Some(since + self.settings().lease);
    }

    fn suspects(&self) -> MutexGuard<'_, HashSet<i64>> {
        self.0.suspects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn suspected(&self) -> &AtomicBool {
        &self.0.suspected
    }

    fn run_locks(&self) -> &RunLocks {
        &self.0.run_locks
    }

    fn strays(&self) -> &Mutex<Vec<Stray>> {
        &self.0.strays
    }
}
