//! What runs told, one row for each commit.

use ibid_core::RunId;
use ibid_graph::StepEvent;
use rusqlite::{Connection, params};

use super::file::StoreError;
use crate::nouns::Event;

/// How many rows one look reads at most, so that a long stream does not fill the memory.
const ROWS_AT_ONCE: usize = 128;

/// Appends events, of which the last has the number `last`.
pub(crate) fn append(
    connection: &Connection,
    run: i64,
    last: u64,
    events: &[&StepEvent],
) -> Result<(), StoreError> {
    let body = serde_json::to_string(events).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let sql = "INSERT INTO events (run, last, body) VALUES (?1, ?2, ?3)";
    connection.prepare_cached(sql)?.execute(params![run, last, body])?;
    Ok(())
}

/// The number of the last event of a run, 0 if it has none.
pub(crate) fn last_number(connection: &Connection, run: i64) -> Result<u64, StoreError> {
    let sql = "SELECT coalesce(max(last), 0) FROM events WHERE run = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([run], |row| row.get(0))?)
}

/// Events after a number, in order; perhaps not all of them, but none only if there are none.
pub(crate) fn read(
    connection: &Connection,
    key: i64,
    run: RunId,
    after: u64,
) -> Result<Vec<Event>, StoreError> {
    let sql = "SELECT last, body FROM events WHERE run = ?1 AND last > ?2 ORDER BY last LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![key, after, ROWS_AT_ONCE])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let last: u64 = row.get(0)?;
        let events = parse(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?)?;
        let first = last + 1 - events.len() as u64;
        let numbered = (first..).zip(events).map(|(seq, what)| Event { run, seq, what });
        found.extend(numbered.filter(|event| event.seq > after));
    }
    Ok(found)
}

/// How many attempts at each step were told: the highest number seen, for each step.
pub(crate) fn attempts_made(connection: &Connection, run: i64) -> Result<Vec<(u32, u32)>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT body FROM events WHERE run = ?1 ORDER BY last")?;
    let mut rows = statement.query([run])?;
    let mut highest: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    while let Some(row) = rows.next()? {
        for event in parse(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)? {
            let seen = highest.entry(event.step).or_default();
            *seen = event.attempt.max(*seen);
        }
    }
    Ok(highest.into_iter().collect())
}

fn parse(body: &str) -> Result<Vec<StepEvent>, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::Damaged(error.to_string()))
}
