//! What a scripted server has seen: each request, and how it ended.

use std::time::Instant;

use axum::http::HeaderMap;
use serde_json::Value;

/// A request that came, and how it ended.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When it came.
    pub at: Instant,
    /// What it asked for.
    pub path: String,
    /// What stands after the question mark.
    pub query: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body; null if it is no JSON.
    pub body: Value,
    /// The status that it was answered with; 0 before.
    pub status: u16,
    /// How it ended, once it has.
    pub ending: Option<Ending>,
}

impl Seen {
    /// Whether a text occurs anywhere in the body.
    pub fn says(&self, text: &str) -> bool {
        self.body.to_string().contains(text)
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The whole answer was sent, or what the script wanted of it.
    Answered,
    /// The client closed the connection before that.
    Closed(Instant),
}
