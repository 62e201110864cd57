//! The journals of runs: finished steps and what was told, one row for each commit.

use ibid_core::RunId;
use ibid_graph::Record;
use rusqlite::{Connection, params};

use super::error::StoreError;
use super::pending_events;
use super::traces::{packed_events, packed_steps};
use crate::run::EventTable;
use crate::run::event_list::{JournalSummary, numbered};
use crate::types::Event;

/// How many rows one look reads at most, so that a long stream does not fill the memory.
const ROWS_AT_ONCE: usize = 128;

/// The tables that a run's events are written to.
pub(super) struct Tables<'c>(pub(super) &'c Connection);

impl EventTable for Tables<'_> {
    fn add_pending(&mut self, run: i64, last: u64, list: &str) -> Result<Option<i64>, StoreError> {
        pending_events::add(self.0, run, last, list).map(Some)
    }

    fn append(
        &mut self,
        run: i64,
        last: u64,
        record: Option<&Record>,
        list: &str,
    ) -> Result<bool, StoreError> {
        append(self.0, run, last, record, list)
    }
}

/// Writes a finished step, if there is one, and a list of events, of which the last has the number `last`. Returns
/// whether the run is there; of one that was deleted nothing is written.
pub(super) fn append(
    connection: &Connection,
    run: i64,
    last: u64,
    record: Option<&Record>,
    events: &str,
) -> Result<bool, StoreError> {
    let sql = "INSERT INTO journal (run, last, step, node, state_update, events)
               SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (SELECT 1 FROM runs WHERE key = ?1)";
    let step = record.map(|record| record.step);
    let node = record.map(|record| &*record.node);
    let update = record.map(|record| record.update.as_str());
    Ok(connection.prepare_cached(sql)?.execute(params![run, last, step, node, update, events])? == 1)
}

/// The finished steps of a run, in order, also if its journal was packed since.
pub(crate) fn read_steps(connection: &Connection, run: i64) -> Result<Vec<Record>, StoreError> {
    let sql =
        "SELECT step, node, state_update FROM journal WHERE run = ?1 AND step IS NOT NULL ORDER BY last";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([run], |row| {
        Ok(Record { step: row.get(0)?, node: row.get::<_, String>(1)?.into(), update: row.get(2)? })
    })?;
    let steps: Vec<Record> = rows.collect::<Result<_, _>>()?;
    if steps.is_empty() { packed_steps(connection, run) } else { Ok(steps) }
}

/// Gives a new run the first steps of another, without what was told of them.
pub(super) fn copy_steps(connection: &Connection, from: i64, steps: u32, to: i64) -> Result<(), StoreError> {
    let sql = "INSERT INTO journal (run, last, step, node, state_update, events)
               VALUES (?1, ?2 - ?3, ?2, ?4, ?5, '[]')";
    let mut statement = connection.prepare_cached(sql)?;
    for record in read_steps(connection, from)?.iter().filter(|record| record.step <= steps) {
        statement.execute(params![to, record.step, steps, &*record.node, record.update])?;
    }
    Ok(())
}

/// Forgets the steps of a run, but not what was told.
pub(super) fn forget_steps(connection: &Connection, run: i64) -> Result<(), StoreError> {
    let sql = "UPDATE journal SET step = NULL, node = NULL, state_update = NULL WHERE run = ?1 AND step IS NOT NULL";
    connection.prepare_cached(sql)?.execute([run])?;
    Ok(())
}

/// The number of the last event of a run, 0 if it has none.
pub(crate) fn last_number(connection: &Connection, run: i64) -> Result<u64, StoreError> {
    let sql = "SELECT max(0, coalesce(max(last), 0)) FROM journal WHERE run = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([run], |row| row.get(0))?)
}

/// Events after a number, in order, also if the journal was packed since; perhaps not all of them, but none only if there are none.
pub(crate) fn read_events(
    connection: &Connection,
    key: i64,
    run: RunId,
    after: u64,
) -> Result<Vec<Event>, StoreError> {
    let sql = "SELECT last, events FROM journal WHERE run = ?1 AND last > ?2 ORDER BY last LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![key, after, ROWS_AT_ONCE])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let list = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let events = numbered(run, row.get(0)?, list)?;
        found.extend(events.into_iter().filter(|event| event.seq > after));
    }
    if found.is_empty() { packed_events(connection, key, run, after) } else { Ok(found) }
}

/// Sums up the events of a run.
pub(crate) fn summary(connection: &Connection, run: i64) -> Result<JournalSummary, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT events FROM journal WHERE run = ?1 ORDER BY last")?;
    let mut rows = statement.query([run])?;
    let mut summary = JournalSummary::default();
    while let Some(row) = rows.next()? {
        summary.add(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?;
    }
    Ok(summary)
}
