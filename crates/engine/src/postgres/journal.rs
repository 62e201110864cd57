//! Journals: finished steps and what was told, one row for each commit of a run.

use std::collections::HashSet;

use ibid_core::{JobInput, RunId, TurnInput};
use ibid_graph::Record;
use tokio_postgres::Row;
use uuid::Uuid;

use super::bound::{Bound, bind};
use super::database::Database;
use super::threads::read_messages;
use crate::run::event_list::{JournalSummary, numbered};
use crate::run::packing::{unpack_events, unpack_steps};
use crate::run::{EventTable, RunClaim, RunInput, RunRow};
use crate::store::StoreError;
use crate::types::Event;

/// How many rows one look reads at most, so that a long stream does not fill the memory.
const ROWS_AT_ONCE: i64 = 128;

/// A run, by its key, and its epoch.
pub(super) type Claim = (i64, i64);

/// Rows to be appended to journals, column by column.
#[derive(Default)]
pub(super) struct NewRows {
    /// The claim that the rows which are added belong to.
    epoch: i64,
    runs: Vec<i64>,
    epochs: Vec<i64>,
    lasts: Vec<i64>,
    steps: Vec<Option<i64>>,
    nodes: Vec<Option<String>>,
    updates: Vec<Option<String>>,
    events: Vec<String>,
    pub(super) bytes: usize,
}

impl EventTable for NewRows {
    fn add_pending(&mut self, run: i64, last: u64, list: &str) -> Result<Option<i64>, StoreError> {
        self.append(run, last, None, list)?;
        Ok(None)
    }

    fn append(
        &mut self,
        run: i64,
        last: u64,
        record: Option<&Record>,
        list: &str,
    ) -> Result<bool, StoreError> {
        self.runs.push(run);
        self.epochs.push(self.epoch);
        self.lasts.push(last.cast_signed());
        self.steps.push(record.map(|record| record.step.into()));
        self.nodes.push(record.map(|record| record.node.to_string()));
        self.updates.push(record.map(|record| record.update.clone()));
        self.events.push(list.to_owned());
        self.bytes += list.len() + record.map_or(0, |record| record.update.len());
        Ok(true)
    }
}

impl NewRows {
    /// What is added from now on belongs to this claim.
    pub(super) fn of_claim(&mut self, epoch: i64) -> &mut Self {
        self.epoch = epoch;
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The run and the number of the last row.
    pub(super) fn last(&self) -> Option<(i64, i64)> {
        Some((*self.runs.last()?, *self.lasts.last()?))
    }

    /// The values of [`APPEND`], after the worker, the runs and their epochs.
    pub(super) fn bound(&self) -> [Bound; 6] {
        [
            self.runs.clone().into(),
            self.lasts.clone().into(),
            self.steps.clone().into(),
            self.nodes.clone().into(),
            self.updates.clone().into(),
            self.events.clone().into(),
        ]
    }

    /// Appends what was told of runs that a worker has, for whose epochs it still is their owner. Returns these runs. Rows that
    /// are there already were written by the same worker, which did not learn that they were.
    pub(super) async fn write(
        &self,
        database: &Database,
        worker: Uuid,
        claims: Vec<Claim>,
    ) -> Result<HashSet<Claim>, StoreError> {
        let (runs, epochs): (Vec<i64>, Vec<i64>) = claims.into_iter().unzip();
        let mut values = bind![worker, runs, epochs].to_vec();
        values.extend(self.bound());
        values.push(self.epochs.clone().into());
        let rows = database.once(APPEND, &values).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }
}

const APPEND: &str = "
    WITH claimed AS (
        SELECT runs.key, runs.epoch, runs.journal_day FROM unnest($2::bigint[], $3::bigint[]) AS claim (run, epoch)
        JOIN runs ON runs.key = claim.run AND runs.epoch = claim.epoch
        WHERE runs.owner = $1 AND runs.ended_ms IS NULL ORDER BY runs.key FOR NO KEY UPDATE OF runs),
    written AS (
        INSERT INTO journal (day, run, last, step, node, state_update, events)
        SELECT claimed.journal_day, told.run, last, step, node, state_update, events FROM claimed
        JOIN unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::bigint[])
            AS told (run, last, step, node, state_update, events, epoch)
            ON told.run = claimed.key AND told.epoch = claimed.epoch
        ON CONFLICT DO NOTHING)
    SELECT key, epoch FROM claimed";

/// The finished steps of a run, in order, also if its journal was packed since.
pub(super) async fn read_steps(database: &Database, row: &RunRow) -> Result<Vec<Record>, StoreError> {
    let sql = "SELECT step, node, state_update FROM journal
               WHERE run = $1 AND day = $2 AND step IS NOT NULL ORDER BY last";
    let rows = database.query(sql, bind![row.key, row.claim.journal_day]).await?;
    if rows.is_empty() && row.ended_ms.is_some() {
        return unpack_steps(packed(database, row).await?.as_deref());
    }
    rows.iter().map(read_record).collect()
}

fn read_record(row: &Row) -> Result<Record, StoreError> {
    let (step, node): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
    let step = u32::try_from(step).map_err(StoreError::damaged)?;
    Ok(Record { step, node: node.into(), update: row.try_get(2)? })
}

async fn packed(database: &Database, row: &RunRow) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = "SELECT packed FROM traces WHERE run = $1 AND day = day_of($2)";
    let found = database.first(sql, bind![row.key, row.ended_ms]).await?;
    Ok(found.map(|row| row.try_get(0)).transpose()?)
}

/// Events after a number, in order, also if the journal was packed since; perhaps not all of them, but none only if there are
/// none.
pub(super) async fn read_events(
    database: &Database,
    row: &RunRow,
    after: u64,
) -> Result<Vec<Event>, StoreError> {
    let sql = "SELECT last, events FROM journal
               WHERE run = $1 AND day = $2 AND last > $3 ORDER BY last LIMIT $4";
    let values = bind![row.key, row.claim.journal_day, after.cast_signed(), ROWS_AT_ONCE];
    let rows = database.query(sql, values).await?;
    let mut found = Vec::new();
    for events in &rows {
        let (last, list): (i64, &str) = (events.try_get(0)?, events.try_get(1)?);
        let events = numbered(row.id, last.unsigned_abs(), list)?;
        found.extend(events.into_iter().filter(|event| event.seq > after));
    }
    if rows.is_empty() && row.ended_ms.is_some() {
        return unpack_events(packed(database, row).await?.as_deref(), row.id, after);
    }
    Ok(found)
}

/// The number of the last event of a run, 0 if it has none, as long as the run is still claimed as it was when it was read.
pub(super) async fn last_number(database: &Database, row: &RunRow) -> Result<Option<u64>, StoreError> {
    let sql = "SELECT (SELECT greatest(0, coalesce(max(last), 0)) FROM journal WHERE run = $1 AND day = $2) FROM runs
               WHERE key = $1 AND owner = $3 AND epoch = $4 AND ended_ms IS NULL";
    let RunClaim { owner, epoch, journal_day, .. } = row.claim;
    let found = database.first(sql, bind![row.key, journal_day, owner, epoch]).await?;
    Ok(found.map(|row| row.try_get::<_, i64>(0)).transpose()?.map(i64::unsigned_abs))
}

/// Sums up the events of a run.
pub(super) async fn summary(database: &Database, row: &RunRow) -> Result<JournalSummary, StoreError> {
    let sql = "SELECT events FROM journal WHERE run = $1 AND day = $2 ORDER BY last";
    let rows = database.query(sql, bind![row.key, row.claim.journal_day]).await?;
    let mut summary = JournalSummary::default();
    for row in &rows {
        summary.add(row.try_get(0)?)?;
    }
    Ok(summary)
}

/// What a started run began with, and its finished steps.
pub(super) async fn read_input(
    database: &Database,
    row: &RunRow,
) -> Result<(RunInput, Vec<Record>), StoreError> {
    let records = read_steps(database, row).await?;
    let scope = serde_json::from_str(&row.scope).map_err(StoreError::damaged)?;
    if let Some(request) = &row.request {
        let request = serde_json::from_str(request).map_err(StoreError::damaged)?;
        return Ok((RunInput::Job(JobInput { run: row.id, scope, request }), records));
    }
    let run: RunId = row.id;
    let input = TurnInput {
        thread: row.thread,
        run,
        scope,
        history: read_messages(database, row.thread_key, row.history_from..row.history_to).await?,
        messages: read_messages(database, row.thread_key, row.history_to..row.input_to).await?,
        options: serde_json::from_str(&row.options).map_err(StoreError::damaged)?,
    };
    Ok((RunInput::Turn(input), records))
}
