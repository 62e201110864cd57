//! Bodies in JSON, read with a limit and with errors in our own words.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::Problem;

/// The largest body in JSON, in bytes.
const LARGEST: usize = 4 << 20;

/// So long a body may take to come.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request with all of its body, if that is not more than so many bytes.
pub(crate) async fn read_whole(request: Request, most: usize) -> Result<Request, Problem> {
    let (parts, body) = request.into_parts();
    let bytes = read(body, most).await?;
    let bytes = bytes.map_err(|error| Problem::unreadable(format!("the request breaks off: {error}")))?;
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

async fn read(body: Body, most: usize) -> Result<Result<Bytes, axum::Error>, Problem> {
    let late = || Problem::unreadable(format!("the body did not come within {} s", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, to_bytes(body, most)).await.map_err(|_| late())
}

/// A body in JSON. An empty one is an empty object, since clients leave out what they have nothing to say in.
pub(crate) struct Json<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let too_large = || Problem::too_large(format!("a body may have {LARGEST} bytes"));
        let bytes = read(request.into_body(), LARGEST).await?.map_err(|_| too_large())?;
        let text = if bytes.is_empty() { b"{}".as_slice() } else { &bytes };
        serde_json::from_slice(text).map(Self).map_err(|error| {
            let detail = format!("the body cannot be used: {error}");
            if error.is_data() { Problem::invalid(detail) } else { Problem::unreadable(detail) }
        })
    }
}
