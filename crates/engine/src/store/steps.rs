//! Finished steps.

use ibid_graph::Record;
use rusqlite::{Connection, params};

use super::file::StoreError;

/// Writes a finished step down.
pub(crate) fn append(connection: &Connection, run: i64, record: &Record) -> Result<(), StoreError> {
    let sql = "INSERT INTO steps (run, step, node, change) VALUES (?1, ?2, ?3, ?4)";
    let mut statement = connection.prepare_cached(sql)?;
    statement.execute(params![run, record.step, &*record.node, record.change])?;
    Ok(())
}

/// The finished steps of a run, in order.
pub(crate) fn read(connection: &Connection, run: i64) -> Result<Vec<Record>, StoreError> {
    let sql = "SELECT step, node, change FROM steps WHERE run = ?1 ORDER BY step";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([run], |row| {
        Ok(Record { step: row.get(0)?, node: row.get::<_, String>(1)?.into(), change: row.get(2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Gives a run the first steps of another.
pub(crate) fn copy(connection: &Connection, from: i64, steps: u32, to: i64) -> Result<(), StoreError> {
    let sql = "INSERT INTO steps (run, step, node, change)
               SELECT ?3, step, node, change FROM steps WHERE run = ?1 AND step <= ?2";
    connection.prepare_cached(sql)?.execute(params![from, steps, to])?;
    Ok(())
}
