//! Who asks. Everything below this takes the caller's scope, and there is no way around it.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::middleware::Next;
use axum::response::IntoResponse as _;
use ibid_core::trace::TraceParent;
use ibid_core::{AccessRole, Scope};

use super::Problem;
use crate::audit::AuditLog;
use crate::state::ServerState;

/// Who asks, and what may be read and written for them.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The name of the key or the person, for limits and the log.
    pub(crate) name: Arc<str>,
    /// On whose behalf.
    pub(crate) scope: Scope,
    /// What they may do.
    pub(crate) role: AccessRole,
    /// How many requests their key may make in a minute, if it has a limit of its own.
    pub(crate) per_minute: Option<NonZeroU32>,
    /// When their key or token ends, if it does.
    pub(crate) expires: Option<SystemTime>,
    /// The place of the request in its trace.
    pub(crate) trace: Option<TraceParent>,
}

/// What the dispatcher of a server with cells has found out about who asks, so that it is not asked twice.
#[derive(Clone)]
pub(crate) struct Authenticated(pub(crate) Result<Caller, Problem>);

impl Caller {
    /// Whoever runs the server, by a name and on whose behalf: every thread of the tenant is theirs.
    pub(crate) fn operator(name: impl Into<Arc<str>>, scope: Scope) -> Self {
        Self {
            name: name.into(),
            scope,
            role: AccessRole::Admin,
            per_minute: None,
            expires: None,
            trace: None,
        }
    }

    /// Somebody in particular, who owns what they begin under an identity that nobody else has.
    pub(crate) fn somebody(
        name: impl Into<Arc<str>>,
        identity: String,
        role: AccessRole,
        scope: &Scope,
    ) -> Self {
        let scope = scope.clone().for_caller(identity);
        let scope = if role == AccessRole::Admin { scope.with_all_threads() } else { scope };
        Self { name: name.into(), scope, role, per_minute: None, expires: None, trace: None }
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
    let trace = request.extensions().get().copied();
    let known = match request.extensions_mut().remove::<Authenticated>() {
        Some(Authenticated(found)) => found,
        None => app.access().caller(key_of(request.headers()), request.headers()).await,
    };
    match known {
        Ok(mut caller) => {
            caller.trace = trace;
            app.audit_log().signed_in(&caller, trace);
            request.extensions_mut().insert(app.audit_log().clone());
            let span = tracing::Span::current();
            span.record("caller", &*caller.name);
            span.record("tenant", caller.scope.tenant().as_str());
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => {
            let response = problem.into_response();
            if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                app.audit_log().refused(None, request.uri().path(), response.status(), trace);
            }
            response
        }
    }
}

/// Lets through whoever has a role or a higher one, and notes whoever has not.
pub(crate) async fn require(
    State(role): State<AccessRole>,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response<Body> {
    if caller.role < role {
        if let Some(log) = request.extensions().get::<AuditLog>() {
            log.refused(Some(&caller), request.uri().path(), StatusCode::FORBIDDEN, caller.trace);
        }
        let detail = format!("this needs the role `{role}`, and {} is `{}`", caller.name, caller.role);
        return Problem::forbidden(detail).into_response();
    }
    next.run(request).await
}

/// The key that a request carries: of LangGraph's clients in a header of its own, of all others as a bearer.
pub(crate) fn key_of(headers: &HeaderMap) -> Option<&str> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = || {
        let (scheme, token) = text(header::AUTHORIZATION.as_str())?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token)
    };
    text("x-api-key").or_else(bearer).map(str::trim).filter(|key| !key.is_empty())
}
