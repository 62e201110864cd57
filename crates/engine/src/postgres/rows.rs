//! Runs and threads as Postgres has them.

use ibid_core::{RunId, Scope, ThreadId};
use serde_json::{Map, Value};
use tokio_postgres::Row;
use uuid::Uuid;

use super::bound::Bound;
use super::database::Connection;
use super::visibility::Condition;
use crate::error::Error;
use crate::run::{RunClaim, RunRow, Stopping, time};
use crate::store::{StoreError, ThreadRow, ThreadUse};
use crate::types::{RunStatus, Thread, ThreadStatus};

/// The columns of a run, for [`JOINED`].
pub(super) const RUN_COLUMNS: &str = "runs.key, runs.id, runs.thread, threads.id, graph, version, status, options, stopping, \
     history_from, history_to, input_to, interrupt, interrupted_step, resume_value, error, runs.created_ms, ended_ms, kept, \
     scope, runs.metadata, output_from, output_to, stream_modes, request, result, traceparent, crashes, crashes_step, \
     runs.owner, epoch, journal_day, left_behind, suspect";

/// How many these are.
pub(super) const RUN_WIDTH: usize = 34;

/// Where runs are found with their threads.
pub(super) const JOINED: &str = "runs JOIN threads ON threads.key = runs.thread";

pub(super) fn read_run(row: &Row) -> Result<RunRow, StoreError> {
    read_run_at(row, 0)
}

/// Reads a run whose columns follow so many others.
pub(super) fn read_run_at(row: &Row, first: usize) -> Result<RunRow, StoreError> {
    let status: String = row.try_get(first + 6)?;
    let stopping: Option<String> = row.try_get(first + 8)?;
    let unknown = |text: &str| StoreError::Damaged(format!("unknown value `{text}`"));
    Ok(RunRow {
        key: row.try_get(first)?,
        id: run_id(row.try_get(first + 1)?),
        thread_key: row.try_get(first + 2)?,
        thread: thread_id(row.try_get(first + 3)?),
        graph: row.try_get(first + 4)?,
        version: row.try_get(first + 5)?,
        status: RunStatus::parse(&status).ok_or_else(|| unknown(&status))?,
        options: row.try_get(first + 7)?,
        stopping: stopping.map(|text| Stopping::parse(&text).ok_or_else(|| unknown(&text))).transpose()?,
        history_from: row.try_get(first + 9)?,
        history_to: row.try_get(first + 10)?,
        input_to: row.try_get(first + 11)?,
        interrupt: row.try_get(first + 12)?,
        interrupted_step: row
            .try_get::<_, Option<i64>>(first + 13)?
            .and_then(|step| u32::try_from(step).ok()),
        resume_value: row.try_get(first + 14)?,
        error: row.try_get(first + 15)?,
        created_ms: row.try_get(first + 16)?,
        ended_ms: row.try_get(first + 17)?,
        kept: row.try_get::<_, i64>(first + 18)? != 0,
        scope: row.try_get(first + 19)?,
        metadata: row.try_get(first + 20)?,
        output_from: row.try_get(first + 21)?,
        output_to: row.try_get(first + 22)?,
        stream_modes: row.try_get(first + 23)?,
        request: row.try_get(first + 24)?,
        result: row.try_get(first + 25)?,
        trace: row.try_get::<_, Option<String>>(first + 26)?.and_then(|text| text.parse().ok()),
        crashes: row.try_get(first + 27)?,
        crashes_step: row.try_get(first + 28)?,
        claim: RunClaim {
            owner: row.try_get(first + 29)?,
            epoch: row.try_get(first + 30)?,
            journal_day: row.try_get(first + 31)?,
            left: row.try_get(first + 32)?,
            suspect: row.try_get(first + 33)?,
        },
    })
}

pub(super) fn run_id(id: Uuid) -> RunId {
    RunId::from_bytes(*id.as_bytes())
}

pub(super) fn thread_id(id: Uuid) -> ThreadId {
    ThreadId::from_bytes(*id.as_bytes())
}

pub(super) fn first_run(rows: &[Row]) -> Result<Option<RunRow>, StoreError> {
    rows.first().map(read_run).transpose()
}

/// A run in a thread that the scope may read or change.
pub(super) fn visible_run(
    scope: &Scope,
    to: ThreadUse,
    id: RunId,
) -> Result<(String, Vec<Bound>), StoreError> {
    let mut wanted = Condition::new("runs.id = $1", vec![id.into()]);
    wanted.visible(scope, to)?;
    Ok((format!("SELECT {RUN_COLUMNS} FROM {JOINED} WHERE {}", wanted.sql), wanted.values))
}

/// The columns of a thread, with what it is doing: told by the run that it works on, else by its last one.
pub(super) const THREAD_COLUMNS: &str = "threads.key, threads.id, title, threads.messages, threads.created_ms, updated_ms, \
     threads.metadata::text, threads.owner, shared, corpora::text, labels::text";

/// How many these are, with the status behind them.
pub(super) const THREAD_WIDTH: usize = 12;

pub(super) const STATUS: &str = "coalesce(
    (SELECT CASE runs.status WHEN 'waiting' THEN 'waiting' ELSE 'busy' END FROM runs
     WHERE runs.thread = threads.key AND ended_ms IS NULL ORDER BY queue_position LIMIT 1),
    (SELECT CASE runs.status WHEN 'failed' THEN 'failed' ELSE 'idle' END FROM runs
     WHERE runs.thread = threads.key ORDER BY queue_position DESC LIMIT 1),
    'idle')";

pub(super) fn read_thread(row: &Row) -> Result<ThreadRow, StoreError> {
    let metadata: String = row.try_get(6)?;
    let metadata: Map<String, Value> = serde_json::from_str(&metadata).map_err(StoreError::damaged)?;
    let messages: i64 = row.try_get(3)?;
    let status: String = row.try_get(11)?;
    let thread = Thread {
        id: thread_id(row.try_get(1)?),
        title: row.try_get(2)?,
        messages: messages.unsigned_abs(),
        created: time(row.try_get(4)?),
        updated: time(row.try_get(5)?),
        metadata,
        owner: row.try_get(7)?,
        shared: row.try_get(8)?,
        status: ThreadStatus::parse(&status).unwrap_or(ThreadStatus::Idle),
    };
    Ok(ThreadRow { key: row.try_get(0)?, thread, corpora: row.try_get(9)?, labels: row.try_get(10)? })
}

/// A thread that the scope may read or change.
pub(super) fn visible_thread(
    scope: &Scope,
    to: ThreadUse,
    id: ThreadId,
) -> Result<(String, Vec<Bound>), StoreError> {
    let mut wanted = Condition::new("threads.id = $1", vec![id.into()]);
    wanted.visible(scope, to)?;
    Ok((format!("SELECT {THREAD_COLUMNS}, {STATUS} FROM threads WHERE {}", wanted.sql), wanted.values))
}

/// Finds a thread.
pub(super) async fn find_thread(
    connection: &Connection,
    scope: &Scope,
    to: ThreadUse,
    id: ThreadId,
) -> Result<Option<ThreadRow>, StoreError> {
    let (sql, values) = visible_thread(scope, to, id)?;
    connection.query(&sql, &values).await?.first().map(read_thread).transpose()
}

/// A thread that may be changed; else why it may not.
pub(super) async fn own_thread(
    connection: &Connection,
    scope: &Scope,
    id: ThreadId,
) -> Result<Result<ThreadRow, Error>, StoreError> {
    if let Some(row) = find_thread(connection, scope, ThreadUse::Change, id).await? {
        return Ok(Ok(row));
    }
    if find_thread(connection, scope, ThreadUse::Read, id).await?.is_none() {
        return Ok(Err(Error::UnknownThread(id)));
    }
    // It may have begun between the two looks.
    let own = find_thread(connection, scope, ThreadUse::Change, id).await?;
    Ok(own.ok_or(Error::ReadOnly(id)))
}
