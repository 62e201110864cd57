//! What is told when something cannot be done: one shape for all, `application/problem+json`, and under `/v1` and `/mcp`
//! the envelopes that clients expect there.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use ibid_engine::Error;
use serde_json::{Value, json};

/// The server is ending.
const CLOSING: &str = "closing";

/// Why a request was not fulfilled.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    status: StatusCode,
    /// A word for programs.
    code: &'static str,
    /// What happened, why, and what to do, for people.
    detail: String,
    retry_after: Option<Duration>,
}

impl Problem {
    fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), retry_after: None }
    }

    /// The request cannot be read.
    pub(crate) fn unreadable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "unreadable", detail)
    }

    /// Nobody says who asks, or a key that is not known.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    }

    /// Who asks may not do that.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    /// There is no such thing, or it belongs to somebody else.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    /// The place is known, what is to be done there is not.
    pub(crate) fn not_allowed() -> Self {
        let detail = "this address does not take that method; /docs shows which ones it takes";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
    }

    /// It does not go with what is there.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail)
    }

    /// It was, and is no more.
    pub(crate) fn gone(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "gone", detail)
    }

    /// More than is taken.
    pub(crate) fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
    }

    /// The request can be read and makes no sense.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail)
    }

    /// Too often.
    pub(crate) fn too_many(detail: impl Into<String>, retry_after: Duration) -> Self {
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail);
        Self { retry_after: Some(retry_after), ..problem }
    }

    /// What was asked for was tried and failed; to try it again is for whoever asks to decide.
    pub(crate) fn failed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, "failed", detail)
    }

    /// Not now.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
    }

    /// Our own failure: it is logged, and only its place in the log is told.
    pub(crate) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "a request failed");
        let detail = "the server failed; its log tells why, under the trace id of this answer";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// Whether it is only that the server is ending.
    pub(crate) fn is_closing(&self) -> bool {
        self.code == CLOSING
    }

    /// What is told to a person.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// As an answer, in the shape that the asked path speaks.
    pub(crate) fn answer(&self, path: &str, trace: &str) -> Response<Body> {
        let openai = path == "/v1" || path.starts_with("/v1/");
        let mcp = path == "/mcp";
        let status = match self.status {
            StatusCode::UNPROCESSABLE_ENTITY if openai => StatusCode::BAD_REQUEST,
            status => status,
        };
        let (body, kind) = if openai {
            (self.envelope(status), "application/json")
        } else if mcp {
            let error = json!({ "code": -32001, "message": self.detail });
            (json!({ "jsonrpc": "2.0", "id": null, "error": error }), "application/json")
        } else {
            (self.problem(trace), "application/problem+json")
        };
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Some(after) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs() + 1));
        }
        // Clients would repeat these by themselves, and a whole turn with them.
        if openai && matches!(self.status, StatusCode::CONFLICT | StatusCode::BAD_GATEWAY) {
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }

    fn problem(&self, trace: &str) -> Value {
        json!({
            "type": format!("/problems/{}", self.code),
            "title": self.status.canonical_reason().unwrap_or(self.code),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "trace_id": trace,
        })
    }

    fn envelope(&self, status: StatusCode) -> Value {
        let kind = match status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        json!({ "error": { "message": self.detail, "type": kind, "param": null, "code": self.code } })
    }
}

impl IntoResponse for Problem {
    /// The body is written by [`finish`](super::finish), which knows the path and the trace.
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match &error {
            Error::UnknownAssistant(_)
            | Error::UnknownThread(_)
            | Error::UnknownRun(_)
            | Error::UnknownKey(_) => Self::not_found(error.to_string()),
            Error::MessageTooLong(_) | Error::MetadataTooLarge(_) => Self::too_large(error.to_string()),
            Error::ReadOnly(_) => Self::forbidden(error.to_string()),
            Error::NoSuchStep { .. } => Self::not_found(error.to_string()),
            Error::Busy(_) | Error::NotInterrupted(_) | Error::KeyExists(_) => {
                Self::conflict(error.to_string())
            }
            Error::EventsDropped(_) => Self::gone(error.to_string()),
            Error::Resume(_) | Error::NoMessage => Self::invalid(error.to_string()),
            Error::Walk(_) => Self::conflict(error.to_string()),
            Error::Closed => Self::new(StatusCode::SERVICE_UNAVAILABLE, CLOSING, error.to_string()),
            Error::Unavailable(_) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a request waited for the database in vain"
                );
                Self::unavailable("the database does not answer at the moment; ask again in a moment")
            }
            Error::InUse { .. } | Error::Backend(_) => Self::internal(&error),
        }
    }
}

impl From<ibid_knowledge::Error> for Problem {
    fn from(error: ibid_knowledge::Error) -> Self {
        match error {
            ibid_knowledge::Error::NotAllowed(why) => Self::forbidden(why),
            ibid_knowledge::Error::Busy(why) => Self::conflict(why),
            error if error.may_pass() => Self::unavailable(error.to_string()),
            error => Self::internal(&error),
        }
    }
}

impl From<ibid_app::Error> for Problem {
    fn from(error: ibid_app::Error) -> Self {
        match error {
            ibid_app::Error::Engine(error) => error.into(),
            ibid_app::Error::Store(error) => error.into(),
            ibid_app::Error::Unknown(what) => Self::not_found(what),
            ibid_app::Error::NotOffered(what) => Self::invalid(what),
            ibid_app::Error::Missing(what) => Self::unavailable(what),
            error => Self::internal(&error),
        }
    }
}
