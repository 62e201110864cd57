//! The journals of turns that ended some time ago, packed.

use ibid_core::RunId;
use ibid_graph::Record;
use rusqlite::{Connection, OptionalExtension, params};

use super::error::StoreError;
use crate::run::packing::{self, PackedRow, PackedStep};
use crate::types::Event;

/// The journal of a run that ended, to be dropped.
pub(crate) struct EndedJournal {
    run: i64,
    ended_ms: i64,
    /// What is kept of it, if anything is.
    packed: Option<Vec<u8>>,
}

/// The journals of some runs that ended before a time, to be dropped. Those of turns are packed, if they are to be kept for longer.
/// That takes time, so a connection that only reads does it, and no turn waits for it.
pub(crate) fn pack_ended_before(
    connection: &Connection,
    ms: i64,
    at_most: usize,
    keep_traces: bool,
) -> Result<Vec<EndedJournal>, StoreError> {
    let sql = "SELECT key, ended_ms, request IS NULL AND status <> 'rolled_back' FROM runs
               WHERE ended_ms IS NOT NULL AND kept = 1 AND ended_ms < ?1 LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let ended =
        statement.query_map(params![ms, at_most], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let ended: Vec<(i64, i64, bool)> = ended.collect::<Result<_, _>>()?;
    let journal = |(run, ended_ms, is_kept)| {
        let packed = if keep_traces && is_kept { pack(connection, run)? } else { None };
        Ok(EndedJournal { run, ended_ms, packed })
    };
    ended.into_iter().map(journal).collect()
}

/// Drops journals and keeps what was packed of them. A run that was deleted meanwhile stays so.
pub(crate) fn drop_journals(connection: &Connection, ended: &[EndedJournal]) -> Result<(), StoreError> {
    let mut note = connection.prepare_cached("UPDATE runs SET kept = ?2 WHERE key = ?1 AND kept = 1")?;
    let mut delete = connection.prepare_cached("DELETE FROM journal WHERE run = ?1")?;
    let sql = "INSERT OR REPLACE INTO traces (run, ended_ms, packed) VALUES (?1, ?2, ?3)";
    let mut keep = connection.prepare_cached(sql)?;
    for EndedJournal { run, ended_ms, packed } in ended {
        if note.execute([*run, if packed.is_some() { 2 } else { 0 }])? == 0 {
            continue;
        }
        delete.execute([run])?;
        if let Some(packed) = packed {
            keep.execute(params![run, ended_ms, packed])?;
        }
    }
    Ok(())
}

/// The journal of a turn, packed; nothing if there is none, or if it is too large.
fn pack(connection: &Connection, run: i64) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = "SELECT last, step, node, state_update, events FROM journal WHERE run = ?1 ORDER BY last";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([run], |row| {
        let step = match row.get::<_, Option<u32>>(1)? {
            Some(number) => Some(PackedStep { number, node: row.get(2)?, update: row.get(3)? }),
            None => None,
        };
        Ok(PackedRow { last: row.get(0)?, step, events: row.get(4)? })
    })?;
    packing::pack(rows.collect::<Result<_, _>>()?)
}

fn packed(connection: &Connection, run: i64) -> Result<Option<Vec<u8>>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT packed FROM traces WHERE run = ?1")?;
    Ok(statement.query_row([run], |row| row.get(0)).optional()?)
}

/// The finished steps of a turn whose journal was packed, in order.
pub(super) fn packed_steps(connection: &Connection, run: i64) -> Result<Vec<Record>, StoreError> {
    packing::unpack_steps(packed(connection, run)?.as_deref())
}

/// The events after a number of a turn whose journal was packed, in order.
pub(super) fn packed_events(
    connection: &Connection,
    key: i64,
    run: RunId,
    after: u64,
) -> Result<Vec<Event>, StoreError> {
    packing::unpack_events(packed(connection, key)?.as_deref(), run, after)
}

/// Drops some traces of turns that ended before a time; returns how many.
pub(crate) fn drop_traces_before(
    connection: &Connection,
    ms: i64,
    at_most: usize,
) -> Result<usize, StoreError> {
    let mut statement = connection.prepare_cached("SELECT run FROM traces WHERE ended_ms < ?1 LIMIT ?2")?;
    let keys = statement.query_map(params![ms, at_most], |row| row.get(0))?;
    let keys: Vec<i64> = keys.collect::<Result<_, _>>()?;
    for sql in ["DELETE FROM traces WHERE run = ?1", "UPDATE runs SET kept = 0 WHERE key = ?1"] {
        let mut statement = connection.prepare_cached(sql)?;
        for key in &keys {
            statement.execute([key])?;
        }
    }
    Ok(keys.len())
}
