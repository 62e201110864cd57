//! What came back, read within the limit of size.

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, StatusCode};

use crate::error::{Error, failure};

/// What came back. To drop it is to close the connection.
pub struct Response {
    host: String,
    status: StatusCode,
    headers: HeaderMap,
    body: BoxStream<'static, Result<Bytes, Error>>,
}

impl Response {
    pub(crate) fn new(
        host: String,
        response: reqwest::Response,
        limit: u64,
        silence: std::time::Duration,
    ) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let from = host.clone();
        let mut left = limit;
        let body = response.bytes_stream().map(move |piece| {
            let piece = piece.map_err(|error| failure(&from, error, silence))?;
            left = left
                .checked_sub(piece.len() as u64)
                .ok_or_else(|| Error::TooLarge { host: from.clone(), limit })?;
            Ok(piece)
        });
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
