//! The OpenAPI document, and a page that shows it without asking anybody else.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::Value;

use crate::state::ServerState;

/// Nothing is loaded from elsewhere, and no script stands in the page itself.
const POLICY: (HeaderName, HeaderValue) = (
    header::CONTENT_SECURITY_POLICY,
    HeaderValue::from_static(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'",
    ),
);

/// The routes.
pub(crate) fn routes(document: Value) -> Router<ServerState> {
    let document: Arc<str> = document.to_string().into();
    Router::new()
        .route("/openapi.json", get(async move || told("application/json", document.to_string())))
        .route(
            "/docs",
            get(async || told("text/html; charset=utf-8", include_str!("docs/page.html").to_owned())),
        )
        .route(
            "/docs/page.js",
            get(async || told("text/javascript", include_str!("docs/page.js").to_owned())),
        )
        .route("/docs/page.css", get(async || told("text/css", include_str!("docs/page.css").to_owned())))
}

fn told(kind: &'static str, text: String) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind)), POLICY], text)
}
