//! Server-sent events, and answers that trickle until they are complete.

use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt as _, unfold};
use serde_json::Value;
use tokio::time::Instant;

/// So often something is sent while nothing happens, since clients and proxies take silence for an end.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// A comment without a blank line after it: with one, some clients take it for an event.
const BEAT: &[u8] = b": heartbeat\n";

/// The server is ending. The connection breaks off, so that clients come back and go on where they were.
#[derive(Debug, thiserror::Error)]
#[error("the server is ending")]
pub(crate) struct Closing;

type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, Closing>> + Send>>;

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    /// By which a client says how far it has come.
    pub(crate) id: Option<String>,
    /// What it is called.
    pub(crate) event: Option<String>,
    /// What it says, on one line.
    pub(crate) data: String,
}

impl Frame {
    /// An event without an id.
    pub(crate) fn new(event: Option<&str>, data: &Value) -> Self {
        // JSON has no line breaks of its own, so one event is one line.
        Self { id: None, event: event.map(str::to_owned), data: data.to_string() }
    }

    fn bytes(&self) -> Bytes {
        let mut text = String::new();
        for (name, value) in [("id: ", &self.id), ("event: ", &self.event)] {
            if let Some(value) = value {
                text.push_str(name);
                text.push_str(value);
                text.push('\n');
            }
        }
        text.push_str("data: ");
        text.push_str(&self.data);
        text.push_str("\n\n");
        text.into()
    }
}

/// An answer of events, with a beat in silence.
pub(crate) fn events(
    headers: HeaderMap,
    frames: impl Stream<Item = Result<Frame, Closing>> + Send + 'static,
) -> Response<Body> {
    let body = beating(frames.map(|frame| frame.map(|frame| frame.bytes())).boxed(), BEAT);
    answer(headers, "text/event-stream; charset=utf-8", body)
}

/// An answer in JSON that is not there yet: headers at once, white space while it takes, then the value.
pub(crate) fn trickled(
    headers: HeaderMap,
    value: impl Future<Output = Result<Value, Closing>> + Send + 'static,
) -> Response<Body> {
    let value = futures_util::stream::once(async move { Ok(Bytes::from(value.await?.to_string())) });
    answer(headers, "application/json", beating(value.boxed(), b"\n"))
}

fn answer(headers: HeaderMap, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    let all = response.headers_mut();
    all.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    all.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    all.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn beating(pieces: Pieces, beat: &'static [u8]) -> Body {
    // One clock for the whole answer, set anew only when it rings: for every piece it would cost more than the piece.
    let clock = Box::pin(tokio::time::sleep(HEARTBEAT));
    let beating = unfold((pieces, clock), move |(mut pieces, mut clock)| async move {
        let due = Instant::now() + HEARTBEAT;
        loop {
            tokio::select! {
                biased;
                piece = pieces.next() => return piece.map(|piece| (piece, (pieces, clock))),
                () = clock.as_mut() => {}
            }
            let late = Instant::now() >= due;
            clock.as_mut().reset(if late { Instant::now() + HEARTBEAT } else { due });
            if late {
                return Some((Ok(Bytes::from_static(beat)), (pieces, clock)));
            }
        }
    });
    Body::from_stream(beating)
}
