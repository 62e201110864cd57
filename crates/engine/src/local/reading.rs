//! Looking things up, always within a scope; and the state of a run after any of its steps.

use ibid_core::{JobInput, RunId, Scope, ThreadId, TurnInput};
use ibid_graph::Record;
use rusqlite::Connection;
use serde_json::Value;

use super::LocalEngine;
use crate::error::Error;
use crate::run::{RunInput, RunRow, RunStore, replayed};
use crate::store::{self, StoreError, ThreadRow, ThreadUse};
use crate::types::{Run, RunStatus};

impl LocalEngine {
    pub(super) async fn find_run(&self, scope: &Scope, run: RunId) -> Result<RunRow, Error> {
        let scope = scope.clone();
        let read = move |connection: &_| store::find_run(connection, &scope, ThreadUse::Read, run);
        self.0.readers.read(read).await?.ok_or(Error::UnknownRun(run))
    }

    /// A run in a thread that is not only shared with the caller.
    pub(super) async fn find_own_run(&self, scope: &Scope, run: RunId) -> Result<RunRow, Error> {
        let scope = scope.clone();
        self.0.readers.read(move |connection| own_run(connection, &scope, run)).await?
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

    pub(super) async fn find_thread(&self, scope: &Scope, thread: ThreadId) -> Result<ThreadRow, Error> {
        let scope = scope.clone();
        let read = move |connection: &_| store::find_thread(connection, &scope, ThreadUse::Read, thread);
        self.0.readers.read(read).await?.ok_or(Error::UnknownThread(thread))
    }

    pub(super) async fn read_runs(&self, scope: &Scope, thread: ThreadId) -> Result<Vec<Run>, Error> {
        let key = self.find_thread(scope, thread).await?.key;
        let rows = self.0.readers.read(move |connection| store::runs_of_thread(connection, key)).await?;
        Ok(rows.into_iter().map(RunRow::into_run).collect())
    }

    pub(super) async fn state_after(&self, scope: &Scope, run: RunId, step: u32) -> Result<Value, Error> {
        let row = self.find_started_run(scope, run, step).await?;
        let graph = self.graph(&row.graph)?;
        let (input, records) = self.stored(&row).await?;
        let before = records.get(..step as usize).ok_or(Error::NoSuchStep { run, step })?;
        replayed(&graph, input, before)?
            .state()
            .map_err(|error| StoreError::Damaged(error.to_string()).into())
    }
}

/// A thread that may be changed; else why it may not.
pub(super) fn own_thread(
    connection: &Connection,
    scope: &Scope,
    thread: ThreadId,
) -> Result<Result<ThreadRow, Error>, StoreError> {
    if let Some(row) = store::find_thread(connection, scope, ThreadUse::Change, thread)? {
        return Ok(Ok(row));
    }
    let shared = store::find_thread(connection, scope, ThreadUse::Read, thread)?.is_some();
    Ok(Err(if shared { Error::ReadOnly(thread) } else { Error::UnknownThread(thread) }))
}

/// A run that may be changed; else why it may not.
pub(super) fn own_run(
    connection: &Connection,
    scope: &Scope,
    run: RunId,
) -> Result<Result<RunRow, Error>, StoreError> {
    if let Some(row) = store::find_run(connection, scope, ThreadUse::Change, run)? {
        return Ok(Ok(row));
    }
    let shared = store::find_run(connection, scope, ThreadUse::Read, run)?;
    Ok(Err(shared.map_or(Error::UnknownRun(run), |row| Error::ReadOnly(row.thread))))
}

/// What a started run began with, and its finished steps.
pub(super) fn read_input(
    connection: &Connection,
    row: &RunRow,
) -> Result<(RunInput, Vec<Record>), StoreError> {
    let records = store::read_steps(connection, row.key)?;
    let scope = serde_json::from_str(&row.scope).map_err(StoreError::damaged)?;
    if let Some(request) = &row.request {
        let request = serde_json::from_str(request).map_err(StoreError::damaged)?;
        return Ok((RunInput::Job(JobInput { run: row.id, scope, request }), records));
    }
    let read = |from, to| store::read_messages(connection, row.thread_key, from, to);
    let input = TurnInput {
        thread: row.thread,
        run: row.id,
        scope,
        history: read(row.history_from, row.history_to)?,
        messages: read(row.history_to, row.input_to)?,
        options: serde_json::from_str(&row.options).map_err(StoreError::damaged)?,
    };
    Ok((RunInput::Turn(input), records))
}
