//! How a run ends or pauses: one statement for its output, its status and its last event. Then the run that waits behind it starts.

use std::sync::Arc;

use ibid_core::Tenant;
use ibid_graph::{EventKind, StepEvent};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::PostgresEngine;
use super::bound::{Bound, bind};
use super::database::Backoff;
use super::journal::NewRows;
use super::rows::{JOINED, RUN_COLUMNS, read_run};
use crate::facts::TurnMeasures;
use crate::run::{
    Conclusion, LiveRun, Outcome, RunLog, RunRow, Started, Stopping, encode, measured, run_ended,
};
use crate::store::StoreError;
use crate::types::RunStatus;

/// The parameters of an ending: $1 worker, $2 run, $3 epoch, $4 to $9 the rows of the journal, $10 status, $11 error, $12 result,
/// $13 messages, and what came of it from $14 on. Those of a run that is to be forgotten end before $12.
const END: &str = "
    WITH claimed AS (
        SELECT key, thread, journal_day, has_next FROM runs
        WHERE key = $2 AND owner = $1 AND epoch = $3 AND ended_ms IS NULL AND stopping IS DISTINCT FROM 'rollback'
        FOR NO KEY UPDATE),
    thread AS (
        UPDATE threads SET messages = messages + cardinality($13::text[])
        WHERE key = (SELECT thread FROM claimed) RETURNING key, messages),
    said AS (
        INSERT INTO messages (thread, position, run, body)
        SELECT thread.key, thread.messages - cardinality($13::text[]) + said.number - 1, $2, said.body
        FROM thread, unnest($13::text[]) WITH ORDINALITY AS said (body, number)),
    told AS (
        INSERT INTO journal (day, run, last, step, node, state_update, events)
        SELECT claimed.journal_day, told.* FROM claimed,
            unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[])
                AS told (run, last, step, node, state_update, events)
        ON CONFLICT DO NOTHING),
    facts AS (
        INSERT INTO turn_facts (run, tenant, assistant, ended_ms, status, outcome, took_ms, first_word_ms, warnings, rounds,
            usage, quotes)
        SELECT $2, $14, $15, now_ms(), $10, $16, $17, $18, $19, $20, $21, $22 FROM claimed WHERE $14 IS NOT NULL
        ON CONFLICT (run) DO UPDATE SET ended_ms = excluded.ended_ms, status = excluded.status, outcome = excluded.outcome,
            took_ms = excluded.took_ms, first_word_ms = excluded.first_word_ms, warnings = excluded.warnings,
            rounds = excluded.rounds, usage = excluded.usage, quotes = excluded.quotes),
    ended AS (
        UPDATE runs SET status = $10, error = $11, result = $12, ended_ms = now_ms(), interrupt = NULL, resume_value = NULL,
            owner = NULL, suspect = false,
            output_from = CASE WHEN cardinality($13::text[]) > 0 THEN thread.messages - cardinality($13::text[]) ELSE 0 END,
            output_to = CASE WHEN cardinality($13::text[]) > 0 THEN thread.messages ELSE 0 END
        FROM claimed, thread WHERE runs.key = claimed.key)
    SELECT has_next FROM claimed";

/// Ends a run that is to be forgotten, with what it said and did. It is the last one that spoke in its thread.
const FORGET: &str = "
    WITH claimed AS (
        SELECT key, thread, journal_day, has_next, history_to FROM runs
        WHERE key = $2 AND owner = $1 AND epoch = $3 AND ended_ms IS NULL AND stopping = 'rollback' FOR NO KEY UPDATE),
    thread AS (UPDATE threads SET messages = claimed.history_to FROM claimed WHERE threads.key = claimed.thread),
    said AS (DELETE FROM messages USING claimed WHERE messages.thread = claimed.thread AND position >= claimed.history_to),
    steps AS (
        UPDATE journal SET step = NULL, node = NULL, state_update = NULL FROM claimed
        WHERE journal.run = claimed.key AND journal.day = claimed.journal_day AND step IS NOT NULL),
    told AS (
        INSERT INTO journal (day, run, last, step, node, state_update, events)
        SELECT claimed.journal_day, told.* FROM claimed,
            unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[])
                AS told (run, last, step, node, state_update, events)
        ON CONFLICT DO NOTHING),
    ended AS (
        UPDATE runs SET status = $10, error = $11, ended_ms = now_ms(), interrupt = NULL, resume_value = NULL, owner = NULL,
            suspect = false
        FROM claimed WHERE runs.key = claimed.key)
    SELECT has_next FROM claimed";

/// Lets a run wait for a person; one that was stopped meanwhile is ready to be ended.
const PAUSE: &str = "
    WITH claimed AS (
        UPDATE runs SET status = CASE WHEN stopping IS NULL THEN 'waiting' ELSE 'running' END, interrupted_step = $10,
            interrupt = $11, resume_value = NULL, version = $12, owner = NULL, suspect = false
        WHERE key = $2 AND owner = $1 AND epoch = $3 AND ended_ms IS NULL RETURNING key, journal_day, stopping),
    told AS (
        INSERT INTO journal (day, run, last, step, node, state_update, events)
        SELECT claimed.journal_day, told.* FROM claimed,
            unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[])
                AS told (run, last, step, node, state_update, events)
        ON CONFLICT DO NOTHING)
    SELECT stopping IS NOT NULL FROM claimed";

/// Starts the first run that waits in a thread which works on none: its messages join the thread. $2 is the worker that takes it,
/// if it is one of the graphs $3.
const START_NEXT: &str = "
    WITH next AS (
        SELECT key, thread, input, history_window,
            coalesce(json_array_length(input), 0) AS count
        FROM runs WHERE thread = $1 AND status = 'queued'
            AND NOT EXISTS (SELECT 1 FROM runs AS active WHERE active.thread = $1 AND active.status IN ('running', 'waiting'))
        ORDER BY queue_position, key LIMIT 1 FOR NO KEY UPDATE),
    thread AS (
        UPDATE threads SET messages = messages + next.count FROM next WHERE threads.key = next.thread
        RETURNING threads.key, messages - next.count AS before),
    said AS (
        INSERT INTO messages (thread, position, run, body)
        SELECT next.thread, thread.before + said.number - 1, next.key, said.body::text
        FROM next, thread, json_array_elements(next.input) WITH ORDINALITY AS said (body, number)),
    started AS (
        UPDATE runs SET status = 'running', input = NULL,
            owner = CASE WHEN runs.graph = ANY($3::text[]) THEN $2 END,
            epoch = epoch + CASE WHEN $2 IS NOT NULL AND runs.graph = ANY($3::text[]) THEN 1 ELSE 0 END,
            history_from = greatest(0, thread.before - next.history_window), history_to = thread.before,
            input_to = thread.before + next.count,
            has_next = EXISTS (SELECT 1 FROM runs AS other WHERE other.thread = $1 AND other.status = 'queued' AND other.key <> next.key)
        FROM next, thread WHERE runs.key = next.key RETURNING runs.key)
    SELECT key FROM started";

impl PostgresEngine {
    /// Ends a run, or lets it wait; the run that waited behind it goes on with its slot.
    pub(super) async fn conclude(
        &self,
        turn: &Started,
        live: &LiveRun,
        outcome: Outcome,
        slot: &mut Option<OwnedSemaphorePermit>,
    ) -> Result<(), StoreError> {
        let conclusion = match Conclusion::of(outcome)? {
            Ok(conclusion) => conclusion,
            Err((step, question)) => return self.pause(turn, live, step, question, slot).await,
        };
        let _writing = live.log.writing().lock_owned().await;
        let measures = (!turn.is_job()).then(|| measured(live, conclusion.answer.as_deref()));
        let facts = facts_values(&live.tenant, &turn.graph, measures.as_ref())?;
        if live.stopping() == Some(Stopping::Rollback) {
            // Whoever stopped it may not have come to write it down.
            self.note_rollback(&live.log).await?;
        }
        let (status, has_next) = match self.end(live, &conclusion, &facts).await? {
            Some(has_next) => (conclusion.status, has_next),
            None => (RunStatus::RolledBack, self.forget(live, &conclusion).await?.ok_or(StoreError::Gone)?),
        };
        self.live().remove(turn.run);
        self.hint_events(&[turn.run]);
        run_ended(turn, live, status, conclusion.error.as_deref(), conclusion.answer.as_deref());
        if has_next && let Some(next) = self.start_next(turn.thread_key).await? {
            self.take_up_if_own(next, slot.take()).await;
        }
        Ok(())
    }

    /// Ends a run unless it is to be forgotten. Returns whether another waits behind it.
    async fn end(
        &self,
        live: &LiveRun,
        conclusion: &Conclusion,
        facts: &[Bound],
    ) -> Result<Option<bool>, StoreError> {
        let Conclusion { status, error, unflushed, said, result, .. } = conclusion;
        let ended = EventKind::RunEnded { status: status.as_str().to_owned(), error: error.clone() };
        let (finished, record) = unflushed.clone().map(|last| (last.finished, last.record)).unzip();
        let events = finished.into_iter().chain([StepEvent::of_run(ended)]).collect();
        let mut more =
            bind![status.as_str(), error.clone().map(|text| text.replace('\0', "\u{fffd}"))].to_vec();
        more.extend(bind![result.clone(), said.clone()].to_vec());
        more.extend(facts.iter().cloned());
        self.write_claimed(&live.log, END, events, record.as_ref(), more).await
    }

    async fn note_rollback(&self, log: &RunLog) -> Result<(), StoreError> {
        let sql = "UPDATE runs SET stopping = 'rollback' WHERE key = $2 AND owner = $1 AND epoch = $3 AND ended_ms IS NULL";
        self.database().query(sql, bind![self.worker_id(), log.key(), log.epoch()]).await.map(drop)
    }

    async fn forget(&self, live: &LiveRun, conclusion: &Conclusion) -> Result<Option<bool>, StoreError> {
        let status = RunStatus::RolledBack.as_str();
        let ended = EventKind::RunEnded { status: status.to_owned(), error: conclusion.error.clone() };
        let more = bind![status, conclusion.error.clone()].to_vec();
        self.write_claimed(&live.log, FORGET, vec![StepEvent::of_run(ended)], None, more).await
    }

    /// Lets a run wait for a person.
    async fn pause(
        &self,
        turn: &Started,
        live: &LiveRun,
        step: u32,
        question: Value,
        slot: &mut Option<OwnedSemaphorePermit>,
    ) -> Result<(), StoreError> {
        let _writing = live.log.writing().lock_owned().await;
        let version = self.version_of(&turn.graph);
        let more = bind![i64::from(step), encode(&question)?, version].to_vec();
        let events = vec![StepEvent { step, attempt: 1, kind: EventKind::Interrupted { value: question } }];
        let stopped = self.write_claimed(&live.log, PAUSE, events, None, more).await?;
        self.release(turn.run);
        self.hint_events(&[turn.run]);
        // A stop may have come while the turn was on its way to rest.
        if stopped.ok_or(StoreError::Gone)? {
            self.claim_one(turn.run, slot.take()).await;
        }
        Ok(())
    }

    /// Writes something of a run that this process has, with events; nothing if it has it no more, or if what the statement rests
    /// on does not hold. One that is asked again may have been written the first time: its epoch tells.
    pub(super) async fn write_claimed(
        &self,
        log: &Arc<RunLog>,
        sql: &str,
        events: Vec<StepEvent>,
        record: Option<&ibid_graph::Record>,
        more: Vec<Bound>,
    ) -> Result<Option<bool>, StoreError> {
        let mut rows = NewRows::default();
        log.write(&mut rows, events, record)?;
        if log.is_discarded() {
            return Err(StoreError::Gone);
        }
        let mut values = bind![self.worker_id(), log.key(), log.epoch()].to_vec();
        values.extend(rows.bound());
        values.extend(more);
        let mut backoff = Backoff::default();
        let written = loop {
            match self.write_or_find(log, sql, &values, &rows, backoff.has_waited()).await {
                Err(error) if error.may_pass() => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a run waits for the database");
                    backoff.wait().await;
                }
                written => break written,
            }
        };
        match written {
            Ok(Some(told)) => {
                log.commit();
                Ok(Some(told))
            }
            Ok(None) => {
                log.rollback();
                Ok(None)
            }
            Err(error) => {
                log.rollback();
                Err(error)
            }
        }
    }

    async fn write_or_find(
        &self,
        log: &RunLog,
        sql: &str,
        values: &[Bound],
        rows: &NewRows,
        asked_before: bool,
    ) -> Result<Option<bool>, StoreError> {
        if asked_before && let Some(known) = self.was_written(log, rows).await? {
            return Ok(Some(known));
        }
        let found = self.database().once(sql, values).await?;
        Ok(found.first().map(|row| row.try_get(0)).transpose()?)
    }

    /// Whether what was asked before was written, although that was not learnt: then its last row is there. Whether others wait
    /// behind the run is not known then, so it is taken that they do.
    async fn was_written(&self, log: &RunLog, rows: &NewRows) -> Result<Option<bool>, StoreError> {
        let Some((run, last)) = rows.last() else { return Ok(None) };
        let sql =
            "SELECT 1 FROM journal JOIN runs ON runs.key = journal.run AND runs.journal_day = journal.day
                   WHERE runs.key = $1 AND runs.epoch = $2 AND journal.last = $3";
        let found = self.database().once(sql, bind![run, log.epoch(), last]).await?;
        Ok((!found.is_empty()).then_some(true))
    }

    /// Starts the run that waits first in a thread, if the thread works on none. This process takes it if it can.
    pub(super) async fn start_next(&self, thread: i64) -> Result<Option<RunRow>, StoreError> {
        let worker = self.may_take_runs().then(|| self.worker_id());
        let names = self.graph_names();
        let started = self.database().insist(|| async {
            match self.database().once(START_NEXT, bind![thread, worker, names.clone()]).await {
                // Somebody else was quicker.
                Err(error) if error.is_duplicate() => Ok(Vec::new()),
                done => done,
            }
        });
        let Some(key) = started.await?.first().map(|row| row.try_get::<_, i64>(0)).transpose()? else {
            return Ok(None);
        };
        let sql = format!("SELECT {RUN_COLUMNS} FROM {JOINED} WHERE runs.key = $1");
        self.database().first(&sql, bind![key]).await?.as_ref().map(read_run).transpose()
    }

    /// Notes of a run that it does not end its process at the step that it was suspected of.
    pub(super) async fn clear_suspicion(&self, key: i64) {
        let sql = "UPDATE runs SET suspect = false WHERE key = $1 AND owner = $2";
        if let Err(error) = self.database().query(sql, bind![key, self.worker_id()]).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a run stays suspected");
        }
    }
}

/// What came of a turn, from the tenant on; of a job, nothing.
fn facts_values(
    tenant: &Tenant,
    assistant: &str,
    measures: Option<&TurnMeasures>,
) -> Result<Vec<Bound>, StoreError> {
    let nothing = TurnMeasures::default();
    let facts = measures.unwrap_or(&nothing);
    let number = |value: Option<u64>| value.map(|value| i64::try_from(value).unwrap_or(i64::MAX));
    let mut values = bind![measures.map(|_| tenant.as_str()), assistant].to_vec();
    values.extend(
        bind![
            facts.outcome.map(|outcome| outcome.as_str()),
            number(facts.took_ms),
            number(facts.first_word_ms),
            encode(&facts.warnings)?,
            facts.rounds,
            encode(&facts.usage)?,
            encode(&facts.quotes)?
        ]
        .to_vec(),
    );
    Ok(values)
}

/// How a run that is stopped ends.
pub(super) const fn status_of(how: Stopping) -> RunStatus {
    match how {
        Stopping::Stop => RunStatus::Stopped,
        Stopping::Rollback => RunStatus::RolledBack,
    }
}
