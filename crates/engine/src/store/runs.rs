//! Runs: taken, started, stopped, asked, answered, ended, dropped.

use ibid_core::trace::TraceParent;
use ibid_core::{RunId, Scope, Tenant, ThreadId};
use rusqlite::types::Value as Bound;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::error::StoreError;
use super::journal::{copy_steps, forget_steps};
use super::rows::{RUN_COLUMNS, read_run};
use super::threads::{append_messages, copy_thread, forget_messages};
use super::visibility::{ThreadUse, visible};
use crate::run::{ENDED_IN_ORDER, NewRun, RunRow, Stopping, encode, now_ms};
use crate::types::{RunStatus, UnfinishedJob};

const JOINED: &str = "runs JOIN threads ON threads.key = runs.thread";

/// Finds a run in a thread that the scope may read or change.
pub(crate) fn find_run(
    connection: &Connection,
    scope: &Scope,
    to: ThreadUse,
    id: RunId,
) -> Result<Option<RunRow>, StoreError> {
    let (wanted, bound) = visible(scope, to, 2)?;
    let sql = format!("SELECT {RUN_COLUMNS} FROM {JOINED} WHERE runs.id = ?1 AND {wanted}");
    let values = std::iter::once(Bound::from(id.as_bytes().to_vec())).chain(bound);
    Ok(connection.prepare_cached(&sql)?.query_row(params_from_iter(values), read_run).optional()?)
}

/// Finds a run of any tenant, for the engine's own work on it.
pub(crate) fn find_any_run(connection: &Connection, id: RunId) -> Result<Option<RunRow>, StoreError> {
    let sql = format!("SELECT {RUN_COLUMNS} FROM {JOINED} WHERE runs.id = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([id.as_bytes()], read_run).optional()?)
}

/// The run that an idempotency key was used for.
pub(crate) fn run_of_key(
    connection: &Connection,
    thread: i64,
    idempotency: &str,
) -> Result<Option<RunId>, StoreError> {
    let sql = "SELECT id FROM runs WHERE thread = ?1 AND idempotency = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![thread, idempotency], |row| Ok(RunId::from_bytes(row.get(0)?)));
    Ok(found.optional()?)
}

fn select(connection: &Connection, rest: &str, thread: i64) -> Result<Vec<RunRow>, StoreError> {
    let sql = format!("SELECT {RUN_COLUMNS} FROM {JOINED} WHERE thread = ?1 {rest} ORDER BY queue_position");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([thread], read_run)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The runs of a thread in their order.
pub(crate) fn runs_of_thread(connection: &Connection, thread: i64) -> Result<Vec<RunRow>, StoreError> {
    select(connection, "", thread)
}

/// The runs of a thread that have not ended, in their order: the first one works or waits for a person.
pub(crate) fn unfinished_of_thread(connection: &Connection, thread: i64) -> Result<Vec<RunRow>, StoreError> {
    select(connection, "AND ended_ms IS NULL", thread)
}

/// The run that a thread works on, or whose answer it waits for: the first that has not ended.
pub(crate) fn active_of_thread(connection: &Connection, thread: i64) -> Result<Option<RunRow>, StoreError> {
    let sql = format!(
        "SELECT {RUN_COLUMNS} FROM {JOINED} WHERE thread = ?1 AND ended_ms IS NULL ORDER BY queue_position LIMIT 1"
    );
    Ok(connection.prepare_cached(&sql)?.query_row([thread], read_run).optional()?)
}

/// How a run was told to end, if it was.
pub(crate) fn stopping_of(connection: &Connection, run: i64) -> Result<Option<Stopping>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT stopping FROM runs WHERE key = ?1")?;
    let stopping: Option<Option<String>> = statement.query_row([run], |row| row.get(0)).optional()?;
    Ok(stopping.ok_or(StoreError::Gone)?.as_deref().and_then(Stopping::parse))
}

/// Every run that has not ended, and whose it is.
pub(crate) fn unfinished(connection: &Connection) -> Result<Vec<(Tenant, RunRow)>, StoreError> {
    let sql = format!(
        "SELECT {RUN_COLUMNS}, tenant FROM {JOINED} WHERE ended_ms IS NULL ORDER BY runs.thread, queue_position"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>("tenant")?, read_run(row)?)))?;
    rows.map(|row| {
        let (tenant, row) = row?;
        Ok((tenant.parse().map_err(StoreError::damaged)?, row))
    })
    .collect()
}

/// Every job that has not ended.
pub(crate) fn unfinished_jobs(connection: &Connection) -> Result<Vec<UnfinishedJob>, StoreError> {
    let rows = unfinished(connection)?.into_iter().filter(|(_, row)| row.request.is_some());
    let jobs = rows.filter_map(|(_, row)| {
        let scope = serde_json::from_str(&row.scope).map_err(StoreError::damaged);
        row.into_job().map(|job| Ok(UnfinishedJob { scope: scope?, job }))
    });
    jobs.collect()
}

/// Lets runs that have not ended begin with their first step again.
pub(crate) fn forget_steps_of_unfinished(connection: &Connection) -> Result<(), StoreError> {
    for (_, run) in unfinished(connection)? {
        forget_steps(connection, run.key)?;
    }
    Ok(())
}

/// The number of the step that a run is at.
pub(crate) fn next_step(connection: &Connection, run: i64) -> Result<i64, StoreError> {
    let sql = "SELECT coalesce(max(step), 0) + 1 FROM journal WHERE run = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([run], |row| row.get(0))?)
}

/// Notes how many processes ended at a step of a run.
pub(crate) fn set_crashes(
    connection: &Connection,
    run: i64,
    step: i64,
    crashes: i64,
) -> Result<(), StoreError> {
    let sql = "UPDATE runs SET crashes = ?3, crashes_step = ?2 WHERE key = ?1";
    connection.prepare_cached(sql)?.execute([run, step, crashes])?;
    Ok(())
}

/// Notes of all unfinished runs that their process ends in order.
pub(crate) fn clear_crashes(connection: &Connection) -> Result<(), StoreError> {
    let sql = "UPDATE runs SET crashes = 0, crashes_step = ?1 WHERE ended_ms IS NULL AND status = 'running'";
    connection.prepare_cached(sql)?.execute([ENDED_IN_ORDER])?;
    Ok(())
}

/// Why runs were set aside since a time, the latest first.
pub(crate) fn set_aside_since(
    connection: &Connection,
    since: i64,
) -> Result<Vec<(RunId, String)>, StoreError> {
    let sql = "SELECT id, coalesce(error, '') FROM runs WHERE crashes = -1 AND ended_ms >= ?1
               ORDER BY ended_ms DESC LIMIT 100";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([since], |row| Ok((RunId::from_bytes(row.get(0)?), row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Takes a run into its thread's queue and returns its key. `first` puts it before those that wait.
pub(crate) fn enqueue(
    connection: &Connection,
    run: &NewRun<'_>,
    input: Option<&[String]>,
    first: bool,
) -> Result<i64, StoreError> {
    let queue_position = if first {
        // Just after the one that works, which has the lowest position: those that wait move back by one.
        let sql = "SELECT min(queue_position) + 1 FROM runs WHERE thread = ?1 AND ended_ms IS NULL";
        let position: Option<i64> =
            connection.prepare_cached(sql)?.query_row([run.thread_key], |row| row.get(0))?;
        let position = position.unwrap_or(1);
        let sql = "UPDATE runs SET queue_position = queue_position + 1
                   WHERE thread = ?1 AND queue_position >= ?2 AND ended_ms IS NULL";
        connection.prepare_cached(sql)?.execute([run.thread_key, position])?;
        position
    } else {
        let sql = "SELECT coalesce(max(queue_position), 0) + 1 FROM runs WHERE thread = ?1";
        connection.prepare_cached(sql)?.query_row([run.thread_key], |row| row.get(0))?
    };
    let sql =
        "INSERT INTO runs (id, thread, graph, version, status, queue_position, options, input, idempotency,
               created_ms, scope, metadata, stream_modes, request, traceparent)
               VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
    let input = input.map(|messages| format!("[{}]", messages.join(",")));
    let values = params![
        run.id.as_bytes(),
        run.thread_key,
        run.graph,
        run.version,
        queue_position,
        run.options,
        input,
        run.idempotency,
        now_ms(),
        run.scope,
        run.metadata,
        run.stream_modes,
        run.request,
        run.trace.to_string()
    ];
    Ok(connection.prepare_cached(sql)?.insert(values)?)
}

/// Starts a run: its messages join the thread, and its window of history is fixed.
pub(crate) fn start_run(
    connection: &Connection,
    run: i64,
    thread: i64,
    input: &[String],
    window: usize,
) -> Result<std::ops::Range<i64>, StoreError> {
    let positions = append_messages(connection, thread, run, input)?;
    let window = i64::try_from(window).unwrap_or(i64::MAX);
    let from = positions.start.saturating_sub(window).max(0);
    let sql = "UPDATE runs SET status = 'running', input = NULL, history_from = ?2, history_to = ?3,
               input_to = ?4 WHERE key = ?1";
    connection.prepare_cached(sql)?.execute([run, from, positions.start, positions.end])?;
    Ok(from..positions.start)
}

/// The messages that a waiting run will start with.
pub(crate) fn queued_input(connection: &Connection, run: i64) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT coalesce(input, '[]') FROM runs WHERE key = ?1")?;
    let input: String = statement.query_row([run], |row| row.get(0))?;
    let messages: Vec<Box<serde_json::value::RawValue>> =
        serde_json::from_str(&input).map_err(StoreError::damaged)?;
    Ok(messages.into_iter().map(|message| String::from(Box::<str>::from(message))).collect())
}

/// Notes how a run is to end, for whoever takes it up if this process does not.
pub(crate) fn set_stopping(connection: &Connection, run: RunId, how: Stopping) -> Result<(), StoreError> {
    let sql = "UPDATE runs SET stopping = ?2
               WHERE id = ?1 AND ended_ms IS NULL AND stopping IS NOT 'rollback'";
    connection.prepare_cached(sql)?.execute(params![run.as_bytes(), how.as_str()])?;
    Ok(())
}

/// Lets a run wait for a person, and notes the graph that it fits.
pub(crate) fn set_waiting(
    connection: &Connection,
    run: i64,
    step: u32,
    question: &str,
    version: &str,
) -> Result<(), StoreError> {
    let sql =
        "UPDATE runs SET status = 'waiting', interrupted_step = ?2, interrupt = ?3, resume_value = NULL, version = ?4
               WHERE key = ?1";
    connection.prepare_cached(sql)?.execute(params![run, step, question, version])?;
    Ok(())
}

/// Lets a waiting run go on with an answer; false if it does not wait.
pub(crate) fn set_answer(
    connection: &Connection,
    run: i64,
    step: u32,
    answer: &str,
) -> Result<bool, StoreError> {
    let sql = "UPDATE runs SET status = 'running', resume_value = ?3, interrupt = NULL
               WHERE key = ?1 AND interrupted_step = ?2 AND status = 'waiting'";
    Ok(connection.prepare_cached(sql)?.execute(params![run, step, answer])? == 1)
}

/// What is written of a run when it ends.
#[derive(Default)]
pub(crate) struct RunEnd<'a> {
    pub(crate) error: Option<&'a str>,
    /// The positions of the messages that it answered with.
    pub(crate) output: std::ops::Range<i64>,
    /// What came of it, if it is a job.
    pub(crate) result: Option<&'a str>,
}

/// Ends a run, in one change of its row.
pub(crate) fn end_run(
    connection: &Connection,
    run: i64,
    status: RunStatus,
    end: &RunEnd<'_>,
) -> Result<(), StoreError> {
    let sql = "UPDATE runs SET status = ?2, error = ?3, ended_ms = ?4, interrupt = NULL, resume_value = NULL,
               output_from = ?5, output_to = ?6, result = ?7 WHERE key = ?1";
    let RunEnd { error, output, result } = end;
    let values = params![run, status.as_str(), error, now_ms(), output.start, output.end, result];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// Takes back what a run said and did. It is the last one that spoke in its thread.
pub(crate) fn forget_run(connection: &Connection, run: i64) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached("SELECT thread, history_to FROM runs WHERE key = ?1")?;
    let (thread, from) = statement.query_row([run], |row| Ok((row.get(0)?, row.get(1)?)))?;
    forget_messages(connection, thread, from)?;
    forget_steps(connection, run)
}

/// Begins a thread and a run in it that share the history, the input and the first steps of a run.
pub(crate) fn fork(
    connection: &Connection,
    scope: &Scope,
    of: &RunRow,
    steps: u32,
    thread: ThreadId,
    run: RunId,
    trace: TraceParent,
) -> Result<(), StoreError> {
    let thread_key = copy_thread(connection, scope, of.thread_key, of.input_to, thread)?;
    // It sees what the other saw, as far as whoever forks it may.
    let seen: Scope = serde_json::from_str(&of.scope).map_err(StoreError::damaged)?;
    let seen = if scope.caller().is_some() { seen.limited_to(scope) } else { seen };
    let new = NewRun {
        id: run,
        thread_key,
        graph: &of.graph,
        version: &of.version,
        options: &of.options,
        metadata: &of.metadata,
        scope: &encode(&seen)?,
        idempotency: None,
        stream_modes: &of.stream_modes,
        request: None,
        trace,
    };
    let key = enqueue(connection, &new, None, false)?;
    let sql = "UPDATE runs SET status = 'running', history_from = ?2, history_to = ?3, input_to = ?4
               WHERE key = ?1";
    connection.prepare_cached(sql)?.execute([key, of.history_from, of.history_to, of.input_to])?;
    copy_steps(connection, of.key, steps, key)
}

/// Notes a run that has ended as it began: its messages stand in the thread from one position to another,
/// and nobody answered them.
pub(crate) fn add_ended(
    connection: &Connection,
    scope: &Scope,
    id: RunId,
    thread_key: i64,
    messages: std::ops::Range<i64>,
) -> Result<(), StoreError> {
    let seen = encode(scope)?;
    let (graph, version, options, metadata) = ("", "", "{}", "{}");
    let new = NewRun {
        id,
        thread_key,
        graph,
        version,
        options,
        metadata,
        scope: &seen,
        idempotency: None,
        stream_modes: "[]",
        request: None,
        trace: TraceParent::begin(),
    };
    let key = enqueue(connection, &new, None, false)?;
    let sql = "UPDATE runs SET history_from = ?2, history_to = ?2, input_to = ?3 WHERE key = ?1";
    connection.prepare_cached(sql)?.execute([key, messages.start, messages.end])?;
    let sql = "UPDATE messages SET run = ?1 WHERE thread = ?2 AND position >= ?3 AND run = 0";
    connection.prepare_cached(sql)?.execute([key, thread_key, messages.start])?;
    end_run(connection, key, RunStatus::Done, &RunEnd::default())
}

/// Deletes a run that has ended, with its steps and events.
pub(crate) fn delete_run(connection: &Connection, run: i64) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM journal WHERE run = ?1",
        "DELETE FROM traces WHERE run = ?1",
        "DELETE FROM feedback WHERE run = ?1",
        "DELETE FROM runs WHERE key = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([run])?;
    }
    Ok(())
}

/// Begins a run again: its steps are forgotten, and it is noted with the graph as it is now.
pub(crate) fn restart_run(connection: &Connection, run: i64, version: &str) -> Result<(), StoreError> {
    forget_steps(connection, run)?;
    let sql = "UPDATE runs SET version = ?2, interrupted_step = NULL, interrupt = NULL, resume_value = NULL WHERE key = ?1";
    connection.prepare_cached(sql)?.execute(params![run, version])?;
    Ok(())
}
