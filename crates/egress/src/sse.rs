//! Reads server-sent events from a body that comes in pieces of any size.

use std::collections::VecDeque;

use bytes::Bytes;

/// No event is longer than this; whoever sends more sends none.
const LONGEST: usize = 4 << 20;

/// Puts server-sent events together from the pieces of a body.
#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    data: String,
    ready: VecDeque<String>,
}

/// An event is longer than any that is taken in.
#[derive(Debug, thiserror::Error)]
#[error("an event has more than {} MB", LONGEST >> 20)]
pub struct EventTooLong;

impl SseDecoder {
    /// Takes the next piece in.
    ///
    /// # Errors
    /// Fails when an event is too long.
    pub fn push(&mut self, piece: &Bytes) -> Result<(), EventTooLong> {
        let mut rest = &piece[..];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            rest = after;
            if self.line.is_empty() {
                self.end_of_line(line);
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.end_of_line(&whole);
            }
        }
        self.line.extend_from_slice(rest);
        if self.line.len() + self.data.len() > LONGEST { Err(EventTooLong) } else { Ok(()) }
    }

    /// The body has ended; what is left is an event if it is one.
    pub fn end(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.end_of_line(&line);
        self.end_of_line(b"");
    }

    /// The data of the next event that is complete.
    pub fn pop(&mut self) -> Option<String> {
        self.ready.pop_front()
    }

    fn end_of_line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            if !self.data.is_empty() {
                self.ready.push_back(std::mem::take(&mut self.data));
            }
        } else if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data.push_str(&String::from_utf8_lossy(data.strip_prefix(b" ").unwrap_or(data)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_body_is_cut() {
        let body =
            ": hello\r\n\r\ndata: {\"a\":1}\r\n\r\nevent: x\ndata:one\ndata: zwei ü\n\nid: 4\n\ndata: [DONE]";
        for size in 1..body.len() {
            let mut events = SseDecoder::default();
            for piece in body.as_bytes().chunks(size) {
                events.push(&Bytes::copy_from_slice(piece)).unwrap();
            }
            events.end();
            let all: Vec<String> = std::iter::from_fn(|| events.pop()).collect();
            assert_eq!(all, ["{\"a\":1}", "one\nzwei ü", "[DONE]"], "in pieces of {size}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut events = SseDecoder::default();
        let piece = Bytes::from(vec![b'x'; LONGEST]);
        assert!(events.push(&piece).is_ok());
        assert!(events.push(&piece).is_err());
    }
}
