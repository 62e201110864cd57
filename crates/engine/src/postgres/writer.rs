//! Group commit: whatever the runs of this process have told and finished since the last commit goes into the next one, which is
//! a single statement. While the database is away, it waits, and so do the runs.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ibid_graph::{Record, StepEvent};
use tokio::sync::{OwnedMutexGuard, mpsc, oneshot};
use tokio::time::Instant;

use super::PostgresEngine;
use super::database::Backoff;
use super::journal::{Claim, NewRows};
use crate::run::{RunLog, StepWriter, Unflushed};
use crate::store::StoreError;

/// The most that shares one commit, in orders and in bytes.
const LARGEST_BATCH: usize = 512;
const MOST_BYTES: usize = 8 << 20;
/// So many runs that wait for a commit of their words are many.
const CROWD: usize = 250;
/// How often a step that may not begin looks whether it may.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

type Reply = oneshot::Sender<Result<(), StoreError>>;

/// Something to be written of a run: what it told until now, and the step that it finished.
pub(super) struct Order {
    log: Arc<RunLog>,
    step: Option<(StepEvent, Record)>,
    reply: Option<Reply>,
}

/// Where orders go.
#[derive(Clone)]
pub(super) struct GroupWriter(mpsc::UnboundedSender<Order>);

/// Where orders come from.
pub(super) type Orders = mpsc::UnboundedReceiver<Order>;

impl GroupWriter {
    pub(super) fn new() -> (Self, Orders) {
        let (sender, orders) = mpsc::unbounded_channel();
        (Self(sender), orders)
    }

    /// Has what a run told until now written down.
    fn flush(&self, log: Arc<RunLog>) {
        // Nobody takes orders any more if the engine is closed.
        let _ = self.0.send(Order { log, step: None, reply: None });
    }
}

#[async_trait]
impl StepWriter for PostgresEngine {
    async fn write_step(&self, log: &Arc<RunLog>, step: Unflushed) -> Result<(), StoreError> {
        let (reply, done) = oneshot::channel();
        let order = Order { log: log.clone(), step: Some((step.finished, step.record)), reply: Some(reply) };
        self.writer().0.send(order).map_err(|_| StoreError::Closed)?;
        done.await.unwrap_or(Err(StoreError::Closed))?;
        self.passed_step(log.key()).await;
        Ok(())
    }

    async fn may_begin(&self, log: &RunLog) -> Result<(), StoreError> {
        loop {
            // In this order: what is lost is discarded before the lease is there again.
            let has_lease = self.has_lease();
            if log.is_discarded() {
                return Err(StoreError::Gone);
            }
            if has_lease {
                return Ok(());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
}

/// The runs of one commit, each held so that nobody else writes of it meanwhile.
#[derive(Default)]
struct Batch {
    rows: NewRows,
    held: HashMap<Claim, (Arc<RunLog>, OwnedMutexGuard<()>)>,
    replies: Vec<(Claim, Reply)>,
}

impl Batch {
    /// Takes an order in. Events of a run that is just being ended go with its end.
    fn add(&mut self, order: Order) {
        let Order { log, step, reply } = order;
        let claim = (log.key(), log.epoch());
        if let Entry::Vacant(entry) = self.held.entry(claim) {
            let Ok(held) = log.writing().try_lock_owned() else {
                let _ = reply.map(|reply| reply.send(Err(StoreError::Gone)));
                return;
            };
            entry.insert((log.clone(), held));
        }
        let (finished, record) = step.unzip();
        match log.write(self.rows.of_claim(log.epoch()), finished.into_iter().collect(), record.as_ref()) {
            Ok(()) if log.is_discarded() => {
                let _ = reply.map(|reply| reply.send(Err(StoreError::Gone)));
            }
            Ok(()) => self.replies.extend(reply.map(|reply| (claim, reply))),
            Err(error) => {
                let _ = reply.map(|reply| reply.send(Err(error)));
            }
        }
    }

    /// The runs that were written of are written; of the others, nothing more will be.
    fn committed(self, engine: &PostgresEngine, written: &HashSet<Claim>) {
        let mut told = Vec::new();
        for (claim, (log, _)) in &self.held {
            if written.contains(claim) {
                log.commit();
                told.push(log.run());
            } else {
                engine.lost(log);
            }
        }
        engine.hint_events(&told);
        for (claim, reply) in self.replies {
            // Whoever asked may be gone.
            let _ = reply.send(if written.contains(&claim) { Ok(()) } else { Err(StoreError::Gone) });
        }
    }

    fn failed(self, error: &StoreError) {
        let why = ibid_core::error_chain(error);
        self.held.values().for_each(|(log, _)| log.rollback());
        for (_, reply) in self.replies {
            let _ = reply.send(Err(StoreError::Damaged(why.clone())));
        }
    }
}

impl PostgresEngine {
    /// Writes what is ordered, until the engine is closed.
    pub(super) async fn write_orders(self, mut orders: Orders) {
        while let Some(order) = orders.recv().await {
            let mut batch = Batch::default();
            batch.add(order);
            let mut count = 1;
            while count < LARGEST_BATCH && batch.rows.bytes < MOST_BYTES {
                let Ok(order) = orders.try_recv() else { break };
                batch.add(order);
                count += 1;
            }
            self.write_batch(batch).await;
        }
    }

    async fn write_batch(&self, batch: Batch) {
        if batch.rows.is_empty() {
            let all = batch.held.keys().copied().collect();
            return batch.committed(self, &all);
        }
        let (began, mut backoff) = (Instant::now(), Backoff::default());
        loop {
            match batch
                .rows
                .write(self.database(), self.worker_id(), batch.held.keys().copied().collect())
                .await
            {
                Ok(written) => {
                    ibid_core::metric::committed(began.elapsed());
                    return batch.committed(self, &written);
                }
                Err(StoreError::Closed) => return batch.failed(&StoreError::Closed),
                Err(error) if error.may_pass() => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "runs wait for the database");
                    backoff.wait().await;
                }
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "steps could not be written");
                    return batch.failed(&error);
                }
            }
        }
    }

    /// Has events written that no step takes along, a moment after they happened.
    pub(super) async fn write_events(self) {
        let delay = self.settings().runs.event_delay;
        let mut began = Instant::now();
        loop {
            self.flush_queue().some().await;
            let Some((oldest, runs)) = self.flush_queue().waiting() else { continue };
            let wait = if runs >= CROWD { delay * 2 } else { delay };
            tokio::time::sleep_until((oldest + wait).max(began + delay / 2)).await;
            began = Instant::now();
            for log in self.flush_queue().take(began) {
                self.writer().flush(log);
            }
        }
    }
}
