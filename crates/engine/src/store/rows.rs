//! Runs as SQLite has them.

use ibid_core::{RunId, ThreadId};
use rusqlite::Row;
use rusqlite::types::Type;

use crate::run::{RunClaim, RunRow, Stopping};
use crate::types::RunStatus;

/// The columns of [`RunRow`], with the thread's id, for `runs JOIN threads`.
pub(super) const RUN_COLUMNS: &str = "runs.key, runs.id, runs.thread, threads.id, graph, version, status, options, \
     stopping, history_from, history_to, input_to, interrupt, interrupted_step, resume_value, error, \
     runs.created_ms, ended_ms, kept, \
     coalesce(scope, json_object('tenant', tenant, 'corpora', NULL, 'labels', json_array())), \
     runs.metadata, output_from, output_to, stream_modes, request, result, traceparent, crashes, crashes_step";

pub(super) fn read_run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let status: String = row.get(6)?;
    let stopping: Option<String> = row.get(8)?;
    Ok(RunRow {
        key: row.get(0)?,
        id: RunId::from_bytes(row.get(1)?),
        thread_key: row.get(2)?,
        thread: ThreadId::from_bytes(row.get(3)?),
        graph: row.get(4)?,
        version: row.get(5)?,
        status: RunStatus::parse(&status).ok_or_else(|| unknown(6, &status))?,
        options: row.get(7)?,
        stopping: stopping.map(|text| Stopping::parse(&text).ok_or_else(|| unknown(8, &text))).transpose()?,
        history_from: row.get(9)?,
        history_to: row.get(10)?,
        input_to: row.get(11)?,
        interrupt: row.get(12)?,
        interrupted_step: row.get(13)?,
        resume_value: row.get(14)?,
        error: row.get(15)?,
        created_ms: row.get(16)?,
        ended_ms: row.get(17)?,
        kept: row.get(18)?,
        scope: row.get(19)?,
        metadata: row.get(20)?,
        output_from: row.get(21)?,
        output_to: row.get(22)?,
        stream_modes: row.get(23)?,
        request: row.get(24)?,
        result: row.get(25)?,
        trace: row.get::<_, Option<String>>(26)?.and_then(|text| text.parse().ok()),
        crashes: row.get(27)?,
        crashes_step: row.get(28)?,
        claim: RunClaim::default(),
    })
}

fn unknown(column: usize, text: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, format!("unknown value `{text}`").into())
}
