//! What came back, read within the limit of size.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, StatusCode};
use tokio::time::{Instant, Sleep};

use crate::error::{Error, failure};

/// What came back. To drop it is to close the connection.
pub struct Response {
    host: String,
    status: StatusCode,
    headers: HeaderMap,
    body: BoxStream<'static, Result<Bytes, Error>>,
}

impl Response {
    pub(crate) fn new(host: String, response: reqwest::Response, limit: u64, silence: Duration) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = Body {
            host: host.clone(),
            pieces: response.bytes_stream().boxed(),
            limit,
            left: limit,
            silence,
            due: None,
            clock: Box::pin(tokio::time::sleep(silence)),
        };
        Self { host, status, headers, body: body.boxed() }
    }

    /// Who answered.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body, piece by piece.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, Error>> + Send + Unpin + 'static {
        self.body
    }

    /// The whole body.
    ///
    /// # Errors
    /// Fails when the connection breaks, is too slow, or more comes than is allowed.
    pub async fn bytes(mut self) -> Result<Bytes, Error> {
        let mut all = BytesMut::new();
        while let Some(piece) = self.body.next().await {
            all.extend_from_slice(&piece?);
        }
        Ok(all.freeze())
    }

    /// The beginning of the body, as text: what a server says about an error. What cannot be read is left out.
    pub async fn beginning(mut self, limit: usize) -> String {
        let mut all = BytesMut::new();
        while all.len() < limit
            && let Some(Ok(piece)) = self.body.next().await
        {
            all.extend_from_slice(&piece);
        }
        all.truncate(limit);
        String::from_utf8_lossy(&all).into_owned()
    }
}

/// The body as it comes, within the limits.
struct Body {
    host: String,
    pieces: BoxStream<'static, reqwest::Result<Bytes>>,
    limit: u64,
    left: u64,
    silence: Duration,
    /// While it is waited for: when it has been silent for too long.
    due: Option<Instant>,
    /// Set anew only when it rings: for every piece that would cost more than the piece.
    clock: Pin<Box<Sleep>>,
}

impl Stream for Body {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let body = &mut *self;
        let Poll::Ready(piece) = body.pieces.poll_next_unpin(context) else {
            let due = *body.due.get_or_insert_with(|| Instant::now() + body.silence);
            loop {
                ready!(body.clock.as_mut().poll(context));
                if Instant::now() >= due {
                    let (host, limit) = (body.host.clone(), body.silence);
                    return Poll::Ready(Some(Err(Error::Slow { host, limit })));
                }
                body.clock.as_mut().reset(due);
            }
        };
        body.due = None;
        Poll::Ready(piece.map(|piece| body.counted(piece)))
    }
}

impl Body {
    fn counted(&mut self, piece: reqwest::Result<Bytes>) -> Result<Bytes, Error> {
        let piece = piece.map_err(|error| failure(&self.host, error))?;
        let left = self.left.checked_sub(piece.len() as u64);
        self.left = left.ok_or_else(|| Error::TooLarge { host: self.host.clone(), limit: self.limit })?;
        Ok(piece)
    }
}
