//! What was told since the last row of a journal: written to the end of one table by all runs, and moved into the journals
//! with their next steps.

use rusqlite::{Connection, params};

use super::error::StoreError;
use super::journal::{append, last_number};
use crate::run::event_list::join;

/// Writes a list of events of a run, of which the last has the number `last`; returns the row.
pub(super) fn add(connection: &Connection, run: i64, last: u64, events: &str) -> Result<i64, StoreError> {
    let sql = "INSERT INTO pending_events (run, last, events) VALUES (?1, ?2, ?3)";
    connection.prepare_cached(sql)?.execute(params![run, last, events])?;
    Ok(connection.last_insert_rowid())
}

/// Drops the rows before one.
pub(crate) fn trim_pending_events(connection: &Connection, before: i64) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM pending_events WHERE id < ?1")?.execute([before])?;
    Ok(())
}

/// Moves what is told of unfinished runs into their journals: what an earlier process did not come to move.
pub(crate) fn fold_all_into_journal(connection: &Connection) -> Result<(), StoreError> {
    let sql = "SELECT run, last, events FROM pending_events WHERE run IN (SELECT key FROM runs WHERE ended_ms IS NULL)
               ORDER BY run, id";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut all: Vec<(i64, u64, String)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (run, last): (i64, u64) = (row.get(0)?, row.get(1)?);
        let list = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
        if last <= last_number(connection, run)? {
            continue;
        }
        match all.last_mut() {
            Some((known, newest, events)) if *known == run => {
                *newest = last;
                join(events, list);
            }
            _ => {
                let mut events = String::new();
                join(&mut events, list);
                all.push((run, last, events));
            }
        }
    }
    for (run, last, events) in all {
        append(connection, run, last, None, &format!("[{events}]"))?;
    }
    trim_pending_events(connection, i64::MAX)
}
