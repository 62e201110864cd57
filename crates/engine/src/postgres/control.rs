//! What can be done to a run from outside: stop, answer, fork, delete. Whoever has the run learns of it.

use std::sync::Arc;

use ibid_core::trace::{self, TraceParent};
use ibid_core::{RunId, Scope, ThreadId};
use ibid_graph::{EventKind, StepEvent};
use serde_json::Value;
use uuid::Uuid;

use super::PostgresEngine;
use super::bound::bind;
use super::finish::status_of;
use super::journal::{read_input, read_steps};
use super::rows::{find_thread, first_run, visible_run};
use super::threads::copy_thread;
use crate::error::Error;
use crate::run::event_list;
use crate::run::{RunRow, RunStore, Stopping, encode, replayed};
use crate::store::{StoreError, ThreadUse};
use crate::types::{RunStatus, Stop};

/// Tells a run how it is to end. One that has not begun ends at once; one that waits for a person is ready to be ended.
const STOP: &str = "
    WITH stopped AS (
        UPDATE runs SET
            stopping = CASE WHEN stopping = 'rollback' THEN stopping ELSE $2 END,
            status = CASE status WHEN 'queued' THEN $3 WHEN 'waiting' THEN 'running' ELSE status END,
            ended_ms = CASE status WHEN 'queued' THEN now_ms() END,
            input = CASE status WHEN 'queued' THEN NULL ELSE input END
        WHERE id = $1 AND ended_ms IS NULL RETURNING key, owner, ended_ms, journal_day),
    told AS (
        INSERT INTO journal (day, run, last, events)
        SELECT journal_day, key, 1, $4 FROM stopped WHERE ended_ms IS NOT NULL)
    SELECT owner FROM stopped";

/// Answers what a run asks. $5 is the worker that goes on with it, if its graph is one of $6.
const RESUME: &str = "
    WITH resumed AS (
        UPDATE runs SET status = 'running', resume_value = $3, interrupt = NULL,
            owner = CASE WHEN graph = ANY($6::text[]) THEN $5 END,
            epoch = epoch + CASE WHEN $5 IS NOT NULL AND graph = ANY($6::text[]) THEN 1 ELSE 0 END
        WHERE key = $1 AND status = 'waiting' AND interrupted_step = $2 RETURNING key, journal_day),
    told AS (
        INSERT INTO journal (day, run, last, events)
        SELECT journal_day, key, (SELECT greatest(0, max(last)) + 1 FROM journal AS before
            WHERE before.run = resumed.key AND before.day = resumed.journal_day), $4 FROM resumed)
    SELECT key FROM resumed";

/// A run that shares the first $3 steps of another, in a thread of its own.
const FORK: &str = "
    WITH source AS (SELECT * FROM runs WHERE key = $1),
    run AS (
        INSERT INTO runs (id, thread, tenant, graph, version, status, queue_position, options, metadata, scope, stream_modes,
            traceparent, created_ms, journal_day, history_window, history_from, history_to, input_to)
        SELECT $2, threads.key, threads.tenant, graph, version, 'running',
            (SELECT coalesce(max(queue_position), 0) + 1 FROM runs AS other WHERE other.thread = threads.key),
            options, source.metadata, $5, stream_modes, $6, now_ms(), day_of(now_ms()), history_window, history_from, history_to, input_to
        FROM source, threads WHERE threads.id = $4 RETURNING key, journal_day)
    INSERT INTO journal (day, run, last, step, node, state_update, events)
    SELECT run.journal_day, run.key, step - $3, step, node, state_update, '[]'
    FROM run, unnest($7::bigint[], $8::text[], $9::text[]) AS steps (step, node, state_update)";

impl PostgresEngine {
    pub(super) async fn find_run(&self, scope: &Scope, run: RunId) -> Result<RunRow, Error> {
        let (sql, values) = visible_run(scope, ThreadUse::Read, run)?;
        first_run(&self.database().query(&sql, &values).await?)?.ok_or(Error::UnknownRun(run))
    }

    /// A run in a thread that is not only shared with the caller.
    pub(super) async fn find_own_run(&self, scope: &Scope, run: RunId) -> Result<RunRow, Error> {
        let (sql, values) = visible_run(scope, ThreadUse::Change, run)?;
        if let Some(row) = first_run(&self.database().query(&sql, &values).await?)? {
            return Ok(row);
        }
        Err(Error::ReadOnly(self.find_run(scope, run).await?.thread))
    }

    /// A run whose steps can be looked at: it has begun, and it was not forgotten.
    pub(super) async fn find_started_run(
        &self,
        scope: &Scope,
        run: RunId,
        step: u32,
    ) -> Result<RunRow, Error> {
        let row = self.find_run(scope, run).await?;
        match row.status {
            RunStatus::Queued | RunStatus::RolledBack => Err(Error::NoSuchStep { run, step }),
            _ => Ok(row),
        }
    }

    pub(super) async fn state_after(&self, scope: &Scope, run: RunId, step: u32) -> Result<Value, Error> {
        let row = self.find_started_run(scope, run, step).await?;
        let graph = self.graph(&row.graph)?;
        let (input, records) = read_input(self.database(), &row).await?;
        let before = records.get(..step as usize).ok_or(Error::NoSuchStep { run, step })?;
        let cursor = replayed(&graph, input, before)?;
        cursor.state().map_err(|error| StoreError::Damaged(error.to_string()).into())
    }

    pub(super) async fn stop_run(&self, scope: &Scope, run: RunId, how: Stop) -> Result<(), Error> {
        let how = match how {
            Stop::Keep => Stopping::Stop,
            Stop::Forget => Stopping::Rollback,
        };
        self.find_own_run(scope, run).await?;
        // The node is told before anything is written.
        if let Some(live) = self.live().get(run) {
            live.stop(how);
        }
        let status = status_of(how).as_str();
        let ended = StepEvent::of_run(EventKind::RunEnded { status: status.to_owned(), error: None });
        let values = bind![run, how.as_str(), status, event_list::list(&[&ended])?].to_vec();
        let engine = self.clone();
        // What follows is done also if the caller goes away meanwhile.
        let stopping = async move {
            let found = engine.database().first(STOP, &values).await?;
            if let Some(row) = found {
                engine.stop_where_it_is(run, row.try_get(0).map_err(StoreError::from)?, how).await;
            }
            Ok(())
        };
        self.spawn_with_result(stopping).await?
    }

    /// Tells whoever has a run that it is to end; one that nobody has is taken, to be ended.
    pub(super) async fn stop_where_it_is(&self, run: RunId, owner: Option<Uuid>, how: Stopping) {
        if let Some(live) = self.live().get(run) {
            return live.stop(how);
        }
        self.hint_owner(owner, run);
        if owner.is_none() {
            self.claim_one(run, None).await;
        }
    }

    pub(super) async fn resume_run(&self, scope: &Scope, run: RunId, answer: Value) -> Result<(), Error> {
        let row = self.find_own_run(scope, run).await?;
        let (RunStatus::Waiting, Some(step)) = (row.status, row.interrupted_step) else {
            return Err(Error::NotInterrupted(run));
        };
        let graph = self.graph(&row.graph)?;
        let (input, records) = read_input(self.database(), &row).await?;
        replayed(&graph, input, &records)?.resume(&answer)?;
        let events = event_list::list(&[&StepEvent::of_run(EventKind::RunResumed)])?;
        let slot = self.free_slot();
        let worker = slot.is_some().then(|| self.worker_id());
        let values = bind![row.key, step, encode(&answer)?, events, worker, self.graph_names()].to_vec();
        let (engine, scope) = (self.clone(), scope.clone());
        let resuming = async move {
            let resumed = engine.database().first(RESUME, &values).await?;
            if resumed.is_none() {
                return Err(Error::NotInterrupted(run));
            }
            let row = engine.find_run(&scope, run).await?;
            engine.hint_events(&[run]);
            engine.take_up_if_own(row, slot).await;
            Ok(())
        };
        self.spawn_with_result(resuming).await?
    }

    pub(super) async fn fork_run(
        &self,
        scope: Scope,
        run: RunId,
        step: u32,
    ) -> Result<(ThreadId, RunId), Error> {
        let row = Arc::new(self.find_started_run(&scope, run, step).await?);
        self.graph(&row.graph)?;
        let records = read_steps(self.database(), &row).await?;
        let Some(records) = records.get(..step as usize) else {
            return Err(Error::NoSuchStep { run, step });
        };
        let (thread, forked) = (ThreadId::new(), RunId::new());
        // It sees what the other saw, as far as whoever forks it may.
        let seen: Scope = serde_json::from_str(&row.scope).map_err(StoreError::damaged)?;
        let seen = if scope.caller().is_some() { seen.limited_to(&scope) } else { seen };
        let (seen, trace) = (encode(&seen)?, trace::current().unwrap_or_else(TraceParent::begin).to_string());
        let steps: Vec<i64> = records.iter().map(|record| record.step.into()).collect();
        let nodes: Vec<String> = records.iter().map(|record| record.node.to_string()).collect();
        let updates: Vec<String> = records.iter().map(|record| record.update.clone()).collect();
        let values = bind![row.key, forked, step, thread, seen, trace, steps, nodes, updates].to_vec();
        let copied = self.database().insist(|| async {
            let mut connection = self.database().connection().await?;
            connection.begin().await?;
            if find_thread(&connection, &scope, ThreadUse::Read, thread).await?.is_some() {
                return Ok(Ok(()));
            }
            let Some(source) = find_thread(&connection, &scope, ThreadUse::Read, row.thread).await? else {
                return Ok(Err(Error::UnknownThread(row.thread)));
            };
            copy_thread(&connection, &scope, &source, row.input_to, thread, None).await?;
            connection.query(FORK, &values).await?;
            connection.commit().await?;
            Ok(Ok(()))
        });
        copied.await??;
        self.claim_one(forked, None).await;
        Ok((thread, forked))
    }

    pub(super) async fn delete_finished_run(&self, scope: &Scope, run: RunId) -> Result<(), Error> {
        let row = self.find_own_run(scope, run).await?;
        if !row.status.is_final() {
            return Err(Error::Busy(run));
        }
        let sql = "
            WITH gone AS (DELETE FROM runs WHERE key = $1 AND ended_ms IS NOT NULL RETURNING key, ended_ms, journal_day),
            journals AS (DELETE FROM journal USING gone WHERE journal.run = gone.key AND journal.day = gone.journal_day),
            packed AS (DELETE FROM traces USING gone WHERE traces.run = gone.key AND traces.day = day_of(gone.ended_ms))
            DELETE FROM feedback USING gone WHERE feedback.run = gone.key";
        self.database().query(sql, bind![row.key]).await?;
        Ok(())
    }
}
