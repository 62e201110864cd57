//! What every request and every answer goes through.

mod body;
mod caller;
mod cors;
mod finish;
mod problem;
mod query;
mod sse;

pub(crate) use body::{Json, read_whole, room};
pub(crate) use caller::{Authenticated, Caller, authenticate, key_of, require};
pub(crate) use cors::cors;
pub(crate) use finish::{finish, panicked};
pub(crate) use problem::Problem;
pub(crate) use query::Query;
pub(crate) use sse::{Closing, Frame, events, trickled};

use axum::http::{HeaderMap, HeaderValue};
use ibid_core::{RunId, ThreadId};

/// Reads a thread's name.
pub(crate) fn thread_id(text: &str) -> Result<ThreadId, Problem> {
    text.parse().map_err(|error: ibid_core::InvalidId| Problem::invalid(error.to_string()))
}

/// Reads a run's name.
pub(crate) fn run_id(text: &str) -> Result<RunId, Problem> {
    text.parse().map_err(|error: ibid_core::InvalidId| Problem::invalid(error.to_string()))
}

/// Headers from plain texts.
pub(crate) fn headers<const N: usize>(pairs: [(&'static str, String); N]) -> HeaderMap {
    let pairs = pairs.into_iter().filter_map(|(name, value)| {
        Some((http::HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?))
    });
    pairs.collect()
}
