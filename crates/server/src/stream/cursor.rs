//! How far a client has come: the number of the engine's event, and which of the frames that it became.

use axum::http::HeaderMap;
use serde_json::Value;

use crate::http::{Frame, Problem};

/// How far a client has come in a run's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamCursor {
    /// The engine's event, from 1; 0 is before the first.
    pub(crate) seq: u64,
    /// Which of its frames, from 0.
    pub(crate) slot: u16,
}

impl StreamCursor {
    /// Where a client says that it is; nothing if it is at the beginning.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let Some(text) = headers.get("last-event-id") else { return Ok(None) };
        let text = text.to_str().unwrap_or_default().trim();
        if matches!(text, "" | "-" | "-1") {
            return Ok(None);
        }
        let (seq, slot) = text.split_once('-').map_or((text, None), |(seq, slot)| (seq, Some(slot)));
        let read = || {
            Some(Self {
                seq: seq.parse().ok()?,
                slot: slot.map_or(Some(u16::MAX), |slot| slot.parse().ok())?,
            })
        };
        read().map(Some).ok_or_else(|| Problem::invalid(format!("`{text}` is no id of an event")))
    }

    /// A frame here.
    pub(crate) fn frame(self, event: &str, data: Value) -> Frame {
        self.written(event, data.to_string())
    }

    /// A frame of JSON that is written already, on one line.
    pub(crate) fn written(self, event: &str, data: String) -> Frame {
        Frame { id: Some(format!("{}-{}", self.seq, self.slot)), event: Some(event.to_owned()), data }
    }
}
