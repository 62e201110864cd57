//! Which pages in a browser may use the server: those of its own origin, and those that are configured.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::state::ServerState;

/// What a page may read of an answer besides its body: clients find runs and pages of lists there.
const EXPOSED: [HeaderName; 5] = [
    header::LOCATION,
    header::CONTENT_LOCATION,
    HeaderName::from_static("x-pagination-total"),
    HeaderName::from_static("x-pagination-next"),
    HeaderName::from_static("x-request-id"),
];

/// The rule for browsers.
pub(crate) fn cors(app: &ServerState) -> CorsLayer {
    let origins = app.access().origins().iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(EXPOSED)
        .max_age(Duration::from_secs(600))
}
