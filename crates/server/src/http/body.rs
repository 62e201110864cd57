//! Bodies in JSON, read with a limit and with errors in our own words.

use std::sync::LazyLock;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Problem;
use crate::slots::half_of_the_cores;

/// The largest body in JSON, in bytes.
const LARGEST: usize = 4 << 20;

/// So long a body may take to come.
const PATIENCE: Duration = Duration::from_secs(10);

/// A body of so many bytes is small.
pub(super) const SMALL: usize = 64 << 10;

/// So many bytes of bodies that are not small are in memory at once, counted in pieces of the size of a small one.
const ROOM: usize = 64 << 20;
static FREE_ROOM: Semaphore = Semaphore::const_new(ROOM / SMALL);

/// So many such bodies are read at once.
static READERS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(half_of_the_cores()));

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

impl<S: Sync, T: DeserializeOwned + Send + 'static> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let too_large = || Problem::too_large(format!("a body may have {LARGEST} bytes"));
        let _room = room(request.headers()).await?;
        let bytes = read(request.into_body(), LARGEST).await?.map_err(|_| too_large())?;
        if bytes.len() <= SMALL {
            return parse(&bytes).map(Self);
        }
        let _reader = READERS.acquire().await.map_err(|error| Problem::internal(&error))?;
        let parsed = tokio::task::spawn_blocking(move || parse(&bytes)).await;
        parsed.map_err(|error| Problem::internal(&error))?.map(Self)
    }
}

/// Room for a body that is not small, until what is given back is dropped.
pub(crate) async fn room(headers: &HeaderMap) -> Result<Option<SemaphorePermit<'static>>, Problem> {
    let length = announced(headers).min(LARGEST);
    if length <= SMALL {
        return Ok(None);
    }
    let pieces = u32::try_from(length.div_ceil(SMALL)).unwrap_or(1);
    let busy = || Problem::unavailable("too many large requests are being read; send it again in a moment");
    let room = tokio::time::timeout(PATIENCE, FREE_ROOM.acquire_many(pieces)).await.map_err(|_| busy())?;
    room.map(Some).map_err(|error| Problem::internal(&error))
}

/// How many bytes a body may turn out to have.
fn announced(headers: &HeaderMap) -> usize {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        return LARGEST;
    }
    headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok()).unwrap_or(0)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = if bytes.is_empty() { b"{}".as_slice() } else { bytes };
    serde_json::from_slice(text).map_err(|error| {
        let detail = format!("the body cannot be used: {error}");
        if error.is_data() { Problem::invalid(detail) } else { Problem::unreadable(detail) }
    })
}
