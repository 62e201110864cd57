//! Who asks. Everything below this takes the caller's scope, and there is no way around it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, header};
use axum::middleware::Next;
use axum::response::IntoResponse as _;
use ibid_core::Scope;
use ibid_core::trace::TraceParent;

use super::Problem;
use crate::state::ServerState;

/// Who asks, and what may be read and written for them.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The name of the key or the person, for limits and the log.
    pub(crate) name: Arc<str>,
    /// On whose behalf.
    pub(crate) scope: Scope,
    /// The place of the request in its trace.
    pub(crate) trace: Option<TraceParent>,
}

impl Caller {
    /// Who asks, by a name and on whose behalf.
    pub(crate) fn new(name: impl Into<Arc<str>>, scope: Scope) -> Self {
        Self { name: name.into(), scope, trace: None }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Problem::unauthorized("nobody is known to ask this"))
    }
}

/// Finds out who asks, and lets nobody else through.
pub(crate) async fn authenticate(
    State(app): State<ServerState>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    match app.access().caller(key_of(request.headers()), request.headers()).await {
        Ok(mut caller) => {
            caller.trace = request.extensions().get().copied();
            let span = tracing::Span::current();
            span.record("caller", &*caller.name);
            span.record("tenant", caller.scope.tenant().as_str());
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// The key that a request carries: of LangGraph's clients in a header of its own, of all others as a bearer.
fn key_of(headers: &HeaderMap) -> Option<&str> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = || {
        let (scheme, token) = text(header::AUTHORIZATION.as_str())?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token)
    };
    text("x-api-key").or_else(bearer).map(str::trim).filter(|key| !key.is_empty())
}
