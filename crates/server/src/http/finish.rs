//! Around everything: a trace id for the log and for whoever asks, problems in the shape that the asked path speaks,
//! and headers that keep browsers careful.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, header};
use axum::middleware::Next;
use axum::response::IntoResponse as _;
use ibid_core::metric;
use ibid_core::trace::{self, TraceParent};
use tracing::Instrument as _;

use super::body::SMALL;
use super::{Problem, read_whole};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What every answer carries.
const CAREFUL: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Handles a request with a trace id, and finishes its answer.
pub(crate) async fn finish(mut request: Request, next: Next) -> Response<Body> {
    let began = Instant::now();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
    let method = method_of(request.method());
    let (span, place) = trace::request_span(method, &route, trace_of(request.headers()));
    let trace = place.trace_id();
    request.extensions_mut().insert(place);
    let mut response = match whole(request).await {
        Ok(request) => next.run(request).instrument(span.clone()).await,
        Err(problem) => problem.into_response(),
    };
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        span.in_scope(|| tracing::debug!(status = response.status().as_u16(), detail = problem.detail()));
        let headers = std::mem::take(response.headers_mut());
        response = problem.answer(&path, &trace);
        response.headers_mut().extend(headers);
    }
    let headers = response.headers_mut();
    if let Ok(trace) = HeaderValue::from_str(&trace) {
        headers.insert(REQUEST_ID, trace);
    }
    for (name, value) in CAREFUL {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    let status = response.status();
    if status.is_server_error() {
        trace::failed(&span, &status);
    }
    metric::request_answered(method, &route, status.as_u16(), began.elapsed());
    response
}

/// Reads a small body before anything is answered. Whoever is refused before it was read would find the connection
/// closed, and the next request on it lost.
async fn whole(request: Request) -> Result<Request, Problem> {
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if !length.is_some_and(|length: usize| (1..=SMALL).contains(&length)) {
        return Ok(request);
    }
    read_whole(request, SMALL).await
}

/// The method, if it is one of those that are known: others are anybody's words, and must not become names of figures.
fn method_of(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("_OTHER")
}

/// The trace that the request belongs to, by the W3C's header.
fn trace_of(headers: &HeaderMap) -> Option<TraceParent> {
    TraceParent::from_header(headers.get("traceparent")?.to_str().ok()?)
}

/// A handler that panicked is our own failure; what it said is in the log.
pub(crate) fn panicked(panic: Box<dyn std::any::Any + Send>) -> Response<Body> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    tracing::error!(text, "a handler panicked");
    Problem::internal(&std::io::Error::other("a handler panicked")).into_response()
}
