//! The journal of a turn that ended some time ago, packed: what it told and what each step changed, for whoever wants to know
//! later how an answer came about.

use ibid_core::RunId;
use ibid_graph::Record;
use serde::{Deserialize, Serialize};

use super::event_list::numbered;
use crate::store::StoreError;
use crate::types::Event;

/// How hard it is packed: what comes after costs much time for little room.
const LEVEL: i32 = 6;

/// A packed trace has at most so many bytes. Of a larger one, only what was told is kept, if that fits.
const LARGEST: usize = 512 << 10;

/// And so many when it is unpacked, whatever the store says.
const LARGEST_UNPACKED: usize = 64 << 20;

/// A row of a journal.
#[derive(Serialize, Deserialize)]
pub(crate) struct PackedRow {
    pub(crate) last: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<PackedStep>,
    /// The events as the journal has them, which is a list in JSON.
    pub(crate) events: String,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct PackedStep {
    pub(crate) number: u32,
    pub(crate) node: String,
    pub(crate) update: String,
}

/// Packs the rows of a journal; nothing if there are none, or if they are too many.
pub(crate) fn pack(mut rows: Vec<PackedRow>) -> Result<Option<Vec<u8>>, StoreError> {
    let mut packed = compressed(&rows)?;
    if packed.len() > LARGEST {
        rows.iter_mut().for_each(|row| row.step = None);
        packed = compressed(&rows)?;
    }
    Ok(Some(packed).filter(|packed| !rows.is_empty() && packed.len() <= LARGEST))
}

fn compressed(rows: &[PackedRow]) -> Result<Vec<u8>, StoreError> {
    let text = serde_json::to_vec(rows).map_err(StoreError::damaged)?;
    zstd::bulk::compress(&text, LEVEL).map_err(StoreError::damaged)
}

fn unpack(packed: Option<&[u8]>) -> Result<Vec<PackedRow>, StoreError> {
    let Some(packed) = packed else { return Ok(Vec::new()) };
    let text = zstd::bulk::decompress(packed, LARGEST_UNPACKED).map_err(StoreError::damaged)?;
    serde_json::from_slice(&text).map_err(StoreError::damaged)
}

/// The finished steps of a turn whose journal was packed, in order.
pub(crate) fn unpack_steps(packed: Option<&[u8]>) -> Result<Vec<Record>, StoreError> {
    let steps = unpack(packed)?.into_iter().filter_map(|row| row.step);
    let record = |step: PackedStep| Record { step: step.number, node: step.node.into(), update: step.update };
    Ok(steps.map(record).collect())
}

/// The events after a number of a turn whose journal was packed, in order.
pub(crate) fn unpack_events(packed: Option<&[u8]>, run: RunId, after: u64) -> Result<Vec<Event>, StoreError> {
    let mut found = Vec::new();
    for row in unpack(packed)? {
        // Steps that a fork took over have numbers below 1 and tell nothing.
        if let Ok(last) = u64::try_from(row.last).map(|last| last.max(1)) {
            found.extend(numbered(run, last, &row.events)?.into_iter().filter(|event| event.seq > after));
        }
    }
    Ok(found)
}
