//! The dispatcher of a server with cells: it authenticates a request, and forwards it to the router of its tenant's cell.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse as _;
use futures_util::future::join_all;
use ibid_app::Cells;
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;

use crate::access::Access;
use crate::http::{Authenticated, key_of};

/// Where it is asked whether a server can work.
const READY: &str = "/readyz";
/// The largest answer of a cell about that, in bytes.
const LARGEST: usize = 1 << 20;

#[derive(Clone)]
struct Dispatcher(Arc<Inner>);

struct Inner {
    cells: Cells,
    access: Arc<Access>,
    /// What answers for each cell, in the order of the cells.
    routers: Vec<Router>,
}

/// A router in front of the routers of cells.
pub(crate) fn dispatcher(cells: Cells, access: Arc<Access>, routers: Vec<Router>) -> Router {
    Router::new().fallback(dispatch).with_state(Dispatcher(Arc::new(Inner { cells, access, routers })))
}

/// Forwards a request to its cell. Whoever is not known gets what the first one answers.
async fn dispatch(State(Dispatcher(inner)): State<Dispatcher>, mut request: Request) -> Response<Body> {
    if request.uri().path() == READY {
        return ready(&inner).await;
    }
    let (mut cell, key) = (0, key_of(request.headers()));
    if key.is_some() || inner.access.is_open() {
        let found = inner.access.caller(key, request.headers()).await;
        if let Ok(caller) = &found {
            cell = inner.cells.index_of(caller.scope.tenant());
        }
        request.extensions_mut().insert(Authenticated(found));
    }
    let Ok(response) = inner.routers[cell].clone().oneshot(request).await;
    response
}

/// A cell that cannot work is no reason to send nobody here any more: the tenants of the others are served.
async fn ready(inner: &Inner) -> Response<Body> {
    let looks = inner.routers.iter().map(|router| async {
        let request = Request::builder().uri(READY).body(Body::empty()).unwrap_or_default();
        let Ok(response) = router.clone().oneshot(request).await;
        let is_ready = response.status().is_success();
        let body = axum::body::to_bytes(response.into_body(), LARGEST).await.unwrap_or_default();
        (is_ready, serde_json::from_slice::<Value>(&body).unwrap_or_default())
    });
    let found = join_all(looks).await;
    let any = found.iter().any(|(ready, _)| *ready);
    let names = inner.cells.all().map(|(name, _)| name.to_owned());
    let cells: Map<String, Value> = names.zip(found.into_iter().map(|(_, told)| told)).collect();
    let status = if any { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, axum::Json(json!({ "ready": any, "cells": cells }))).into_response()
}
