//! A run in ibid's own events: one frame for each event of the engine, under its number, so that the numbers have no gaps.

use ibid_core::RunEvent;
use serde::Serialize;
use serde_json::Value;

use crate::http::Frame;

/// The frame of an event. It is named by the event's type.
pub(super) fn frame<E: Serialize>(event: &RunEvent<E>) -> Frame {
    let data = serde_json::to_value(event).unwrap_or_default();
    let name = data["type"].as_str().unwrap_or("custom").to_owned();
    Frame { id: Some(event.seq.to_string()), event: Some(name), data: Value::to_string(&data) }
}
