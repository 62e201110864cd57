//! Looking things up, always within a scope; and the state of a run after any of its steps.

use ibid_core::{RunId, Scope, ThreadId, TurnInput};
use ibid_graph::Record;
use rusqlite::Connection;
use serde_json::Value;

use super::{Assistant, LocalEngine};
use crate::error::Error;
use crate::nouns::{Run, RunStatus};
use crate::store::{self, RunRow, StoreError, ThreadRow};

impl LocalEngine {
    pub(super) async fn find_run(&self, scope: &Scope, run: RunId) -> Result<RunRow, Error> {
        let scope = scope.clone();
        let found = self.0.readers.read(move |connection| store::find_run(connection, &scope, run)).await?;
        found.ok_or(Error::UnknownRun(run))
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
        let found =
            self.0.readers.read(move |connection| store::find_thread(connection, &scope, thread)).await?;
        found.ok_or(Error::UnknownThread(thread))
    }

    pub(super) async fn read_runs(&self, scope: &Scope, thread: ThreadId) -> Result<Vec<Run>, Error> {
        let key = self.find_thread(scope, thread).await?.key;
        let rows = self.0.readers.read(move |connection| store::runs_of_thread(connection, key)).await?;
        Ok(rows.into_iter().map(RunRow::into_run).collect())
    }

    pub(super) fn assistant(&self, name: &str) -> Result<&Assistant, Error> {
        self.0.assistants.get(name).ok_or_else(|| Error::UnknownAssistant(name.to_owned()))
    }

    pub(super) async fn state_after(&self, scope: &Scope, run: RunId, step: u32) -> Result<Value, Error> {
        let row = self.find_started_run(scope, run, step).await?;
        let program = self.assistant(&row.graph)?.program.clone();
        let (input, records) = self.0.readers.read(move |connection| read_turn(connection, &row)).await?;
        let before = records.get(..step as usize).ok_or(Error::NoSuchStep { run, step })?;
        let mut course = program.start(input)?;
        for record in before {
            course.replay(record)?;
        }
        course.state().map_err(|error| StoreError::Damaged(error.to_string()).into())
    }
}

/// What a started turn began with, and its finished steps.
pub(super) fn read_turn(
    connection: &Connection,
    row: &RunRow,
) -> Result<(TurnInput, Vec<Record>), StoreError> {
    let read = |from, to| store::read_messages(connection, row.thread_key, from, to);
    let input = TurnInput {
        thread: row.thread,
        run: row.id,
        scope: serde_json::from_str(&row.scope).map_err(StoreError::damaged)?,
        history: read(row.history_from, row.history_to)?,
        messages: read(row.history_to, row.input_to)?,
        options: serde_json::from_str(&row.options).map_err(StoreError::damaged)?,
    };
    Ok((input, store::read_steps(connection, row.key)?))
}
