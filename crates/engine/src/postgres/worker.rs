//! Workers share the runs: each tells with a heartbeat that it works, takes runs that nobody has, and takes over those of workers
//! whose heartbeat has stopped.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use ibid_core::RunId;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use uuid::Uuid;

use super::bound::bind;
use super::rows::{JOINED, RUN_COLUMNS, read_run, run_id};
use super::{PostgresEngine, Stray};
use crate::run::{Input, RunKind, RunRow, RunStore, Started, Stopping};
use crate::store::StoreError;
use crate::types::RunStatus;

/// The most runs that are claimed at once, and of one tenant before others had their turn.
const MOST_CLAIMED: usize = 32;
const MOST_OF_TENANT: i64 = 4;
/// How often it is looked for runs that nobody has, and for what runs of this process were told, where nothing hints at it.
const LOOK: Duration = Duration::from_secs(1);
/// The same where no hints arrive.
const LOOK_WITHOUT_HINTS: Duration = Duration::from_millis(100);

/// Tells that this process works; whether it had been taken for dead, or is new.
const BEAT: &str = "
    INSERT INTO workers (id, graphs) VALUES ($1, $2)
    ON CONFLICT (id) DO UPDATE SET heartbeat_at = now(), graphs = excluded.graphs RETURNING xmax = 0";

/// Runs of one kind that nobody has, a few of each tenant in turn from one on: $2 tenants at most, $3 runs of each, $4 in all, for
/// graphs $5.
const CLAIM: &str = "
    WITH RECURSIVE tenants (tenant, number) AS (
        (SELECT tenant, 1 FROM runs WHERE owner IS NULL AND status = 'running' AND request IS {kind} AND tenant > $1
         ORDER BY tenant LIMIT 1)
        UNION ALL
        SELECT (SELECT runs.tenant FROM runs WHERE owner IS NULL AND status = 'running' AND request IS {kind}
                AND runs.tenant > tenants.tenant ORDER BY runs.tenant LIMIT 1), number + 1
        FROM tenants WHERE tenants.tenant IS NOT NULL AND number < $2),
    candidates AS (
        SELECT ready.key FROM tenants, LATERAL (
            SELECT key FROM runs WHERE owner IS NULL AND status = 'running' AND request IS {kind}
                AND runs.tenant = tenants.tenant AND NOT suspect AND graph = ANY($5::text[]) ORDER BY key LIMIT $3) AS ready LIMIT $4),
    locked AS (
        SELECT key FROM runs WHERE key IN (SELECT key FROM candidates) AND owner IS NULL AND status = 'running'
        FOR UPDATE SKIP LOCKED)
    UPDATE runs SET owner = $6, epoch = epoch + 1 WHERE key IN (SELECT key FROM locked) RETURNING key, tenant";

/// One of the runs that may end their workers, if no worker is at one.
const CLAIM_SUSPECT: &str = "
    WITH locked AS (
        SELECT key FROM runs WHERE owner IS NULL AND status = 'running' AND suspect AND graph = ANY($2::text[])
            AND pg_try_advisory_xact_lock($3)
            AND NOT EXISTS (SELECT 1 FROM runs AS other WHERE other.owner IS NOT NULL AND other.suspect)
        ORDER BY key LIMIT 1 FOR UPDATE SKIP LOCKED)
    UPDATE runs SET owner = $1, epoch = epoch + 1 WHERE key IN (SELECT key FROM locked) RETURNING key, tenant";
const SUSPECT_LOCK: i64 = 0x6962_6964_0000_0003;

/// Takes the runs of a worker away whose heartbeat is older than the lease. Those that were at work are counted: what was at work
/// whenever its worker ended without a word, and never got past that step, is set aside; where others were at work as well, they
/// take that step one after the other.
const REAP: &str = "
    WITH dead AS (
        DELETE FROM workers WHERE id = (
            SELECT id FROM workers WHERE heartbeat_at < now() - make_interval(secs => $1::bigint / 1000.0)
            ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id),
    left_runs AS (
        SELECT runs.key, runs.crashes, runs.crashes_step,
            (SELECT coalesce(max(step), 0) + 1 FROM journal WHERE journal.run = runs.key AND journal.day = runs.journal_day) AS step,
            EXISTS (SELECT 1 FROM journal WHERE journal.run = runs.key AND journal.day = runs.journal_day AND last > 0) AS told
        FROM runs JOIN dead ON runs.owner = dead.id WHERE runs.ended_ms IS NULL FOR NO KEY UPDATE OF runs),
    counted AS (
        SELECT key, step, CASE WHEN NOT told THEN 0 WHEN crashes_step = step THEN crashes + 1 ELSE 1 END AS crashes FROM left_runs),
    summary AS (SELECT count(*) FILTER (WHERE crashes > 0) <= 1 AS alone, coalesce(bool_or(crashes >= $2), false) AS suspects FROM counted)
    UPDATE runs SET owner = NULL, left_behind = true, crashes_step = counted.step,
        crashes = CASE WHEN counted.crashes > $2 OR (counted.crashes = $2 AND summary.alone) THEN -counted.crashes
            ELSE counted.crashes END,
        suspect = summary.suspects AND counted.crashes BETWEEN 1 AND $2 AND NOT (counted.crashes = $2 AND summary.alone)
    FROM counted, summary WHERE runs.key = counted.key RETURNING runs.key";

/// Gives the runs of this worker to whoever takes them; it ends in order.
const HAND_OVER: &str = "
    WITH gone AS (DELETE FROM workers WHERE id = $1)
    UPDATE runs SET owner = NULL, left_behind = true, crashes = 0, crashes_step = NULL, suspect = false
    WHERE owner = $1 AND ended_ms IS NULL";

/// Takes runs from workers that are none any more: a worker may have claimed one in the moment in which it ended.
const ORPHANS: &str = "
    UPDATE runs SET owner = NULL, left_behind = true
    WHERE owner IS NOT NULL AND ended_ms IS NULL AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = runs.owner)
    RETURNING key";

impl PostgresEngine {
    /// Works as a worker, until the engine is closed.
    pub(super) async fn be_worker(self) {
        let lease = self.settings().lease;
        let mut beat = tokio::time::interval(lease / 5);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let (mut last, mut steady, mut reaped) = (Instant::now(), None, Instant::now());
        loop {
            beat.tick().await;
            let began = Instant::now();
            match self.beat().await {
                Ok(is_new) => {
                    if self.has_lease() {
                        self.heartbeat_sent(began);
                    }
                    if is_new && steady.is_some() {
                        tracing::warn!("this process was taken for dead, and its runs were taken over");
                        steady = None;
                    }
                    let since = *steady.get_or_insert_with(Instant::now);
                    last = Instant::now();
                    // After an outage everybody's heartbeat is old: they get the time to tell that they live.
                    if since.elapsed() > lease && reaped.elapsed() > lease / 2 {
                        reaped = Instant::now();
                        self.reap().await;
                    }
                    if matches!(self.reconcile().await, Ok(true)) {
                        self.heartbeat_sent(began);
                    }
                    self.look_for_work();
                }
                Err(StoreError::Closed) => return,
                Err(error) => {
                    steady = None;
                    tracing::warn!(error = &error as &dyn std::error::Error, "no heartbeat could be told");
                }
            }
            if last.elapsed() > lease * 2 {
                // Others may have taken the runs over; whatever these go on to do would be done twice.
                self.live().all().into_iter().for_each(|(run, _)| self.stop_working_on(run, None));
            }
        }
    }

    async fn beat(&self) -> Result<bool, StoreError> {
        let rows = self.database().once(BEAT, bind![self.worker_id(), self.graph_names()]).await?;
        Ok(rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
    }

    /// Tells for the first time that this process works.
    pub(super) async fn join_workers(&self) -> Result<(), StoreError> {
        let began = Instant::now();
        self.database().insist(|| self.beat()).await?;
        self.heartbeat_sent(began);
        Ok(())
    }

    /// Takes the runs of dead workers away from them.
    async fn reap(&self) {
        let (lease, most) = (self.settings().lease, self.settings().runs.crashes.max(1));
        let lease = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
        let reaped = async {
            let mut rows = self.database().once(REAP, bind![lease, most]).await?;
            rows.extend(self.database().once(ORPHANS, bind![]).await?);
            Ok::<_, StoreError>(rows)
        };
        match reaped.await {
            Ok(rows) if !rows.is_empty() => {
                tracing::warn!(runs = rows.len(), "the runs of a worker that ended are taken over");
                self.look_for_work();
                self.hint_work();
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "it was not looked for dead workers"
                );
            }
        }
    }

    /// Takes runs that nobody has, whenever there may be some, until the engine is closed.
    pub(super) async fn claim_runs(self) {
        let mut cursors = [(RunKind::Turn, String::new()), (RunKind::Job, String::new())];
        loop {
            let pause = if self.gets_hints() { LOOK } else { LOOK_WITHOUT_HINTS };
            let _ = tokio::time::timeout(pause, self.work_notify().notified()).await;
            if self.drain_gate().is_draining() {
                continue;
            }
            // Whatever comes later is hinted at.
            let mut may_wait = false;
            self.may_wait().store(true, Ordering::SeqCst);
            for (kind, after) in &mut cursors {
                match self.claim_some(*kind, after).await {
                    Ok(none_left) => may_wait |= !none_left,
                    Err(StoreError::Closed) => return,
                    Err(error) => {
                        may_wait = true;
                        tracing::warn!(error = &error as &dyn std::error::Error, "no runs could be taken");
                    }
                }
            }
            self.may_wait().store(may_wait, Ordering::SeqCst);
        }
    }

    /// Takes runs of one kind for as long as there are any, and room for them; whether there are none left.
    async fn claim_some(&self, kind: RunKind, after: &mut String) -> Result<bool, StoreError> {
        if !self.registered_graphs().run(kind) {
            return Ok(true);
        }
        let sql = CLAIM.replace(
            "{kind}",
            match kind {
                RunKind::Turn => "NULL",
                RunKind::Job => "NOT NULL",
            },
        );
        loop {
            let mut slots: Vec<OwnedSemaphorePermit> = Vec::new();
            while slots.len() < MOST_CLAIMED
                && let Some(slot) = self.free_slot()
            {
                slots.push(slot);
            }
            let most = slots.len() as i64;
            if most == 0 {
                return Ok(false);
            }
            let (names, me) = (self.graph_names(), self.worker_id());
            let values = bind![after.as_str(), most, MOST_OF_TENANT, most, names.clone(), me];
            let mut rows = self.database().once(&sql, values).await?;
            let began_anew = after.is_empty();
            if rows.is_empty() {
                after.clear();
                rows = self.database().once(CLAIM_SUSPECT, bind![me, names, SUSPECT_LOCK]).await?;
            }
            let tenants =
                rows.iter().map(|row| row.try_get::<_, String>(1)).collect::<Result<Vec<_>, _>>()?;
            if let Some(last) = tenants.into_iter().max() {
                *after = last;
            }
            let keys = rows.iter().map(|row| row.try_get::<_, i64>(0)).collect::<Result<Vec<_>, _>>()?;
            self.take_up_claimed(&keys, slots).await?;
            if keys.is_empty() && began_anew {
                self.start_left_queues().await?;
                return Ok(true);
            }
        }
    }

    async fn take_up_claimed(
        &self,
        keys: &[i64],
        slots: Vec<OwnedSemaphorePermit>,
    ) -> Result<(), StoreError> {
        if keys.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "SELECT {RUN_COLUMNS} FROM {JOINED} WHERE runs.key = ANY($1::bigint[]) AND runs.owner = $2"
        );
        let rows = self.database().query(&sql, bind![keys.to_vec(), self.worker_id()]).await?;
        let mut slots = slots.into_iter();
        let claimed = rows.iter().map(read_run).collect::<Result<Vec<_>, _>>()?;
        join_all(claimed.into_iter().map(|row| self.take_up_if_own(row, slots.next()))).await;
        Ok(())
    }

    /// Takes a run that is ready, if this process can.
    pub(super) async fn claim_one(&self, run: RunId, slot: Option<OwnedSemaphorePermit>) {
        let Some(slot) = slot.or_else(|| self.free_slot()) else { return self.hint_work() };
        let sql = "UPDATE runs SET owner = $2, epoch = epoch + 1
                   WHERE id = $1 AND owner IS NULL AND status = 'running' AND graph = ANY($3::text[]) RETURNING key";
        let claimed = async {
            let rows = self.database().once(sql, bind![run, self.worker_id(), self.graph_names()]).await?;
            let keys = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
            self.take_up_claimed(&keys, vec![slot]).await
        };
        if let Err(error) = claimed.await {
            // Whoever looks next finds it.
            tracing::debug!(error = &error as &dyn std::error::Error, "a run was not taken at once");
        }
    }

    /// Starts what waits in threads that work on nothing: whoever ended the run before did not come to it.
    async fn start_left_queues(&self) -> Result<(), StoreError> {
        let sql = "SELECT DISTINCT thread FROM runs AS queued WHERE status = 'queued' AND NOT EXISTS (
                       SELECT 1 FROM runs WHERE runs.thread = queued.thread AND runs.status IN ('running', 'waiting'))
                   LIMIT 32";
        for row in self.database().once(sql, bind![]).await? {
            if let Some(next) = self.start_next(row.try_get(0)?).await? {
                self.take_up_if_own(next, None).await;
            }
        }
        Ok(())
    }

    /// Takes up runs that wait for a person with a graph that has changed since: they may have to ask again.
    pub(super) async fn take_up_changed(&self) -> Result<(), StoreError> {
        for name in self.graph_names() {
            let Some(version) = self.graphs().version(&name) else { continue };
            let sql = "UPDATE runs SET status = 'running', left_behind = true
                       WHERE graph = $1 AND status = 'waiting' AND version <> $2 AND owner IS NULL";
            self.database().query(sql, bind![&name, version.to_string()]).await?;
        }
        Ok(())
    }

    /// Does what runs of this process were told over others: whenever there may be something, until the engine is closed.
    pub(super) async fn obey(self) {
        loop {
            let pause = if self.gets_hints() { LOOK } else { LOOK_WITHOUT_HINTS };
            let _ = tokio::time::timeout(pause, self.control_notify().notified()).await;
            let sql = "SELECT id, stopping FROM runs WHERE owner = $1 AND stopping IS NOT NULL AND ended_ms IS NULL";
            let rows = match self.database().once(sql, bind![self.worker_id()]).await {
                Ok(rows) => rows,
                Err(StoreError::Closed) => return,
                Err(_) => continue,
            };
            for row in &rows {
                let (Ok(id), Ok(how)) = (row.try_get::<_, Uuid>(0), row.try_get::<_, String>(1)) else {
                    continue;
                };
                if let (Some(live), Some(how)) = (self.live().get(run_id(id)), Stopping::parse(&how)) {
                    live.stop(how);
                }
            }
        }
    }

    /// Compares what this process works on with what is stored: runs that it has no more, or that it never took up. Whether it is
    /// clear of each that it is this process's.
    async fn reconcile(&self) -> Result<bool, StoreError> {
        let (known, mut clear) = (self.live().all(), true);
        let sql = "SELECT id, epoch, key FROM runs WHERE owner = $1 AND ended_ms IS NULL";
        let rows = self.database().once(sql, bind![self.worker_id()]).await?;
        let stored: Vec<Stray> = rows
            .iter()
            .filter_map(|row| {
                let run = run_id(row.try_get(0).ok()?);
                Some(Stray { run, epoch: row.try_get(1).ok()?, key: row.try_get(2).ok()? })
            })
            .collect();
        for (run, live) in known {
            let is_own = stored.iter().any(|stored| stored.run == run && stored.epoch == live.log.epoch());
            if is_own {
                continue;
            }
            // One that has just begun to be ended is not stored as this process's any more. Of one that something is being written
            // of, that shows whose it is.
            let is_resting = live.log.writing().try_lock().is_ok();
            clear &= is_resting;
            if is_resting && self.live().get(run).is_some_and(|now| now.log.epoch() == live.log.epoch()) {
                self.stop_working_on(run, None);
            }
        }
        let unknown = stored.into_iter().filter(|stored| self.live().get(stored.run).is_none()).collect();
        for stray in self.stray_twice(unknown) {
            // One that is just being taken up is none.
            let Some(_lock) = self.run_locks().try_lock(stray.run) else { continue };
            if self.live().get(stray.run).is_none() {
                self.give_back(stray.key, stray.epoch).await;
            }
        }
        Ok(clear)
    }

    /// Of the runs that this process does not work on although they are stored as its own: those that it did not last time either.
    fn stray_twice(&self, unknown: Vec<Stray>) -> Vec<Stray> {
        let mut before = self.strays().lock().unwrap_or_else(PoisonError::into_inner);
        let twice = unknown.iter().filter(|stray| before.contains(stray)).copied().collect();
        *before = unknown;
        twice
    }

    /// Gives a run back that this process cannot work on, for whoever can.
    pub(super) async fn give_back(&self, key: i64, epoch: i64) {
        let sql = "UPDATE runs SET owner = NULL, left_behind = true WHERE key = $1 AND epoch = $2 AND owner = $3 AND ended_ms IS NULL";
        if let Err(error) = self.database().query(sql, bind![key, epoch, self.worker_id()]).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a run was not given back");
        }
    }

    /// Gives all runs to others, at the end of this process.
    pub(super) async fn hand_over(&self) {
        if let Err(error) = self.database().once(HAND_OVER, bind![self.worker_id()]).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "runs are taken over after the lease only"
            );
        }
        // Nobody sends hints any more by now.
        let _ = self.send_now(vec![self.work_hint()]).await;
    }

    /// Notes of a run that it may end its process at the step that it is at.
    pub(super) fn suspect(&self, row: &RunRow) {
        if row.claim.suspect {
            self.suspects().insert(row.key);
            self.suspected().store(true, Ordering::Relaxed);
        }
    }

    /// A step of a run was written down: if the run was suspected, it is past that step.
    pub(super) async fn passed_step(&self, key: i64) {
        if self.suspected().load(Ordering::Relaxed) && self.suspects().remove(&key) {
            self.clear_suspicion(key).await;
            self.look_for_work();
        }
    }

    /// This process works no more on a run: if it was suspected, the next one that is may be taken.
    pub(super) fn is_past(&self, key: i64) {
        if self.suspects().remove(&key) {
            self.look_for_work();
        }
    }

    /// Why a run is not worked on any more, if it was set aside.
    pub(super) fn why_set_aside(&self, turn: &Started) -> Option<String> {
        let Input::Stored(row) = &turn.input else { return None };
        if row.crashes >= 0 || row.status != RunStatus::Running || row.stopping.is_some() {
            return None;
        }
        let (what, times) = (if turn.is_job() { "job" } else { "turn" }, -row.crashes);
        let step = row.crashes_step.unwrap_or_default();
        tracing::error!(run = %turn.run, step, times, "a {what} is set aside");
        Some(format!(
            "it was set aside: {times} times the process ended without a word while it was at step {step} of this {what}"
        ))
    }
}
