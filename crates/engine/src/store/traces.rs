//! The journals of turns that ended some time ago, packed: what a turn told and what each step changed, for whoever wants to
//! know later how an answer came about.

use ibid_core::RunId;
use ibid_graph::Record;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::journal::numbered;
use crate::types::Event;

/// How hard it is packed: what comes after costs much time for little room.
const LEVEL: i32 = 6;

/// A packed trace has at most so many bytes. Of a larger one, only what was told is kept, if that fits.
const LARGEST: usize = 512 << 10;

/// And so many when it is unpacked, whatever the file says.
const LARGEST_UNPACKED: usize = 64 << 20;

/// A row of a journal.
#[derive(Serialize, Deserialize)]
struct PackedRow {
    last: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<PackedStep>,
    /// The events as the journal has them, which is a list in JSON.
    events: String,
}

#[derive(Serialize, Deserialize)]
struct PackedStep {
    number: u32,
    node: String,
    update: String,
}

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
    let mut rows: Vec<PackedRow> = rows.collect::<Result<_, _>>()?;
    let mut packed = packed(&rows)?;
    if packed.len() > LARGEST {
        rows.iter_mut().for_each(|row| row.step = None);
        packed = self::packed(&rows)?;
    }
    Ok(Some(packed).filter(|packed| !rows.is_empty() && packed.len() <= LARGEST))
}

fn packed(rows: &[PackedRow]) -> Result<Vec<u8>, StoreError> {
    let text = serde_json::to_vec(rows).map_err(StoreError::damaged)?;
    zstd::bulk::compress(&text, LEVEL).map_err(StoreError::damaged)
}

fn unpacked(connection: &Connection, run: i64) -> Result<Vec<PackedRow>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT packed FROM traces WHERE run = ?1")?;
    let packed: Option<Vec<u8>> = statement.query_row([run], |row| row.get(0)).optional()?;
    let Some(packed) = packed else { return Ok(Vec::new()) };
    let text = zstd::bulk::decompress(&packed, LARGEST_UNPACKED).map_err(StoreError::damaged)?;
    serde_json::from_slice(&text).map_err(StoreError::damaged)
}

/// The finished steps of a turn whose journal was packed, in order.
pub(super) fn packed_steps(connection: &Connection, run: i64) -> Result<Vec<Record>, StoreError> {
    let steps = unpacked(connection, run)?.into_iter().filter_map(|row| row.step);
    let record = |step: PackedStep| Record { step: step.number, node: step.node.into(), update: step.update };
    Ok(steps.map(record).collect())
}

/// The events after a number of a turn whose journal was packed, in order.
pub(super) fn packed_events(
    connection: &Connection,
    key: i64,
    run: RunId,
    after: u64,
) -> Result<Vec<Event>, StoreError> {
    let mut found = Vec::new();
    for row in unpacked(connection, key)? {
        // Steps that a fork took over have numbers below 1 and tell nothing.
        if let Ok(last) = u64::try_from(row.last).map(|last| last.max(1)) {
            found.extend(numbered(run, last, &row.events)?.into_iter().filter(|event| event.seq > after));
        }
    }
    Ok(found)
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
