//! The one writer. Whatever waits when it comes round shares one commit, so that a thousand turns
//! cost little more than one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::error::StoreError;
use super::file::reclaim_space;
use super::journal::Tables;
use super::large::{LargeWrite, LargeWrites};
use super::latency::LatencyEwma;
use crate::run::{RunCommit, RunLog, StepWriter, Unflushed};

/// The most that shares one commit.
const LARGEST_BATCH: usize = 512;

/// What a commit carries besides the work itself.
#[derive(Default)]
pub(crate) struct Batch {
    /// The run that the work belongs to; its pending events go along. If it has been deleted, the work
    /// is refused.
    run: Option<Arc<RunLog>>,
    /// Other runs whose pending events go along.
    pub(crate) others: Vec<Arc<RunLog>>,
    /// How many bytes the work itself writes, if they may be many.
    bytes: usize,
}

impl Batch {
    /// The pending events of some runs.
    pub(crate) fn events_of(others: Vec<Arc<RunLog>>) -> Self {
        Self { others, ..Self::default() }
    }

    /// Work that writes so many bytes. Many have to wait for their turn.
    pub(crate) fn of_bytes(bytes: usize) -> Self {
        Self { bytes, ..Self::default() }
    }

    fn logs(&self) -> impl Iterator<Item = &Arc<RunLog>> {
        self.run.iter().chain(&self.others)
    }
}

/// Writes to the file, one commit at a time.
#[derive(Clone)]
pub(crate) struct Writer {
    orders: Sender<Order>,
    file: Arc<WritingFile>,
    large: Arc<LargeWrites>,
}

struct WritingFile {
    connection: Mutex<Connection>,
    /// How many orders wait for the writer's thread.
    waiting: AtomicUsize,
    /// How long a commit usually takes.
    latency: LatencyEwma,
}

/// What the writer's thread is asked to do.
enum Order {
    Write(Box<dyn Job>),
    ReclaimSpace(oneshot::Sender<Result<bool, StoreError>>),
}

impl Writer {
    /// Starts the writer's thread, which ends when every handle is gone.
    pub(crate) fn start(connection: Connection) -> Result<(Self, JoinHandle<()>), std::io::Error> {
        let (orders, receiver) = channel();
        let file = Arc::new(WritingFile {
            connection: Mutex::new(connection),
            waiting: AtomicUsize::new(0),
            latency: LatencyEwma::default(),
        });
        let own = file.clone();
        let name = std::thread::Builder::new().name("ibid-writer".to_owned());
        let thread = name.spawn(move || own.work(&receiver))?;
        Ok((Self { orders, file, large: Arc::default() }, thread))
    }

    /// Writes, and returns when it is safe on disk. The work may be called again if another's failed in
    /// the same commit.
    pub(crate) async fn write<T, F>(&self, batch: Batch, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.write_then(batch, work, |done| done).await
    }

    /// Writes for a run, whose events go along; the work says with which ones the commit ends.
    pub(crate) async fn write_run<T, F>(&self, run: &Arc<RunLog>, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<RunCommit<T>, StoreError> + Send + 'static,
    {
        self.write_run_then(run, work, |done| done).await
    }

    /// Writes, and does `then` as soon as it is safe, also if the caller has gone away meanwhile.
    pub(crate) async fn write_then<T, R, F, G>(
        &self,
        batch: Batch,
        mut work: F,
        then: G,
    ) -> Result<R, StoreError>
    where
        T: Send + 'static,
        R: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
        G: FnOnce(T) -> R + Send + 'static,
    {
        self.perform(batch, move |connection: &Connection| work(connection).map(RunCommit::quiet), then).await
    }

    /// As [`write_run`](Self::write_run), and does `then` as soon as it is safe.
    pub(crate) async fn write_run_then<T, R, F, G>(
        &self,
        run: &Arc<RunLog>,
        work: F,
        then: G,
    ) -> Result<R, StoreError>
    where
        T: Send + 'static,
        R: Send + 'static,
        F: FnMut(&Connection) -> Result<RunCommit<T>, StoreError> + Send + 'static,
        G: FnOnce(T) -> R + Send + 'static,
    {
        self.perform(Batch { run: Some(run.clone()), ..Batch::default() }, work, then).await
    }

    async fn perform<T, R, F, G>(&self, batch: Batch, work: F, then: G) -> Result<R, StoreError>
    where
        T: Send + 'static,
        R: Send + 'static,
        F: FnMut(&Connection) -> Result<RunCommit<T>, StoreError> + Send + 'static,
        G: FnOnce(T) -> R + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let large = self.large.turn(batch.bytes).await;
        let is_large = large.is_some();
        self.hand_over(Box::new(Call { batch, work, then, done: None, reply, _large: large }), is_large)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Has something written: on the spot if that is quick, else by the writer's thread.
    fn hand_over(&self, job: Box<dyn Job>, is_large: bool) -> Result<(), StoreError> {
        let free = if is_large { None } else { self.file.free_and_quick() };
        if let Some(connection) = free {
            self.file.commit_together_or_alone(&connection, &mut vec![job]);
            return Ok(());
        }
        self.file.waiting.fetch_add(1, Ordering::Relaxed);
        self.orders.send(Order::Write(job)).map_err(|_| StoreError::Closed)
    }

    /// Gives some of the room of what was deleted back to the disk; true if there is more.
    pub(crate) async fn reclaim_space(&self) -> Result<bool, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.file.waiting.fetch_add(1, Ordering::Relaxed);
        self.orders.send(Order::ReclaimSpace(reply)).map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

#[async_trait]
impl StepWriter for Writer {
    async fn write_step(&self, log: &Arc<RunLog>, step: Unflushed) -> Result<(), StoreError> {
        let write = move |_: &_| {
            let Unflushed { record, finished } = step.clone();
            Ok(RunCommit { value: (), events: vec![finished], record: Some(record) })
        };
        self.write_run(log, write).await
    }
}

trait Job: Send {
    fn perform(&mut self, connection: &Connection) -> Result<(), StoreError>;
    fn rollback(&self);
    fn committed(self: Box<Self>);
    fn failed(self: Box<Self>, error: StoreError);
}

struct Call<T, R, F, G> {
    batch: Batch,
    work: F,
    then: G,
    done: Option<T>,
    reply: oneshot::Sender<Result<R, StoreError>>,
    /// Given back when it is done, also if the caller has gone away meanwhile.
    _large: Option<LargeWrite>,
}

impl<T, R, F, G> Job for Call<T, R, F, G>
where
    T: Send,
    R: Send,
    F: FnMut(&Connection) -> Result<RunCommit<T>, StoreError> + Send,
    G: FnOnce(T) -> R + Send,
{
    fn perform(&mut self, connection: &Connection) -> Result<(), StoreError> {
        if self.batch.run.as_ref().is_some_and(|run| run.is_discarded()) {
            return Err(StoreError::Gone);
        }
        let RunCommit { value, events, record } = (self.work)(connection)?;
        self.done = Some(value);
        if let Some(run) = &self.batch.run {
            run.write(&mut Tables(connection), events, record.as_ref())?;
        }
        self.batch.others.iter().try_for_each(|log| log.write(&mut Tables(connection), Vec::new(), None))
    }

    fn rollback(&self) {
        self.batch.logs().for_each(|log| log.rollback());
    }

    fn committed(self: Box<Self>) {
        self.batch.logs().for_each(|log| log.commit());
        if let Some(done) = self.done {
            // The caller may be gone; the work is done all the same.
            let _ = self.reply.send(Ok((self.then)(done)));
        }
    }

    fn failed(self: Box<Self>, error: StoreError) {
        let _ = self.reply.send(Err(error));
    }
}

impl WritingFile {
    /// The connection, if nobody writes or waits to write, and commits are quick.
    fn free_and_quick(&self) -> Option<MutexGuard<'_, Connection>> {
        if !self.latency.is_quick() || self.waiting.load(Ordering::Relaxed) > 0 {
            return None;
        }
        self.connection.try_lock().ok()
    }

    /// Does what is ordered, until nobody is left who could order.
    fn work(&self, orders: &Receiver<Order>) {
        let mut jobs = Vec::with_capacity(LARGEST_BATCH);
        while let Ok(order) = orders.recv() {
            let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
            let mut next = Some(order);
            let mut tidying = None;
            while let Some(order) = next.take() {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                match order {
                    Order::Write(job) => jobs.push(job),
                    Order::ReclaimSpace(reply) => tidying = Some(reply),
                }
                if tidying.is_none() && jobs.len() < LARGEST_BATCH {
                    next = orders.try_recv().ok();
                }
            }
            self.commit_together_or_alone(&connection, &mut jobs);
            if let Some(reply) = tidying {
                let _ = reply.send(reclaim_space(&connection));
            }
        }
    }

    fn commit_together_or_alone(&self, connection: &Connection, jobs: &mut Vec<Box<dyn Job>>) {
        let (began, changes) = (Instant::now(), connection.total_changes());
        let outcome = commit(connection, jobs);
        if connection.total_changes() > changes {
            self.latency.note(began);
            ibid_core::metric::committed(began.elapsed());
        }
        if outcome.is_ok() {
            jobs.drain(..).for_each(Job::committed);
            return;
        }
        // One of them failed and took the commit with it: each gets a commit of its own.
        jobs.iter().for_each(|job| job.rollback());
        for job in jobs.drain(..) {
            let mut alone = [job];
            let outcome = commit(connection, &mut alone);
            let [job] = alone;
            match outcome {
                Ok(()) => job.committed(),
                Err(error) => {
                    job.rollback();
                    job.failed(error);
                }
            }
        }
    }
}

fn commit(connection: &Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    if jobs.is_empty() {
        return Ok(());
    }
    // Prepared once, unlike those of a `Transaction`, which are parsed again for every commit.
    run(connection, "BEGIN IMMEDIATE")?;
    let performed = jobs.iter_mut().try_for_each(|job| job.perform(connection));
    let outcome = performed.and_then(|()| run(connection, "COMMIT"));
    if outcome.is_err() && !connection.is_autocommit() {
        run(connection, "ROLLBACK")?;
    }
    outcome
}

fn run(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::file::open_for_writing;
    use super::*;

    #[tokio::test]
    async fn work_that_fails_does_not_take_others_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let connection = open_for_writing(&folder.path().join("engine.db")).unwrap();
        connection.execute_batch("CREATE TABLE notes (note TEXT UNIQUE)").unwrap();
        let (writer, _) = Writer::start(connection).unwrap();
        let note = |text: &'static str| {
            let insert = move |connection: &Connection| {
                Ok(connection.execute("INSERT INTO notes VALUES (?1)", [text])?)
            };
            writer.write(Batch::default(), insert)
        };
        let (first, same, other) = tokio::join!(note("a"), note("a"), note("b"));
        assert!(first.is_ok() && same.is_err() && other.is_ok());
        let count = |connection: &Connection| {
            Ok(connection.query_row("SELECT count(*) FROM notes", [], |row| row.get::<_, u32>(0))?)
        };
        assert_eq!(writer.write(Batch::default(), count).await.unwrap(), 2);
    }
}
