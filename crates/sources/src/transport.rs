//! OpenDAL's requests through the one door out.

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use ibid_egress::Egress;
use opendal_core::{Buffer, Error, ErrorKind, HttpBody, HttpTransport};

/// Sends through an egress, which knows the host and the limits.
pub(crate) struct EgressTransport(pub(crate) Egress);

impl HttpTransport for EgressTransport {
    async fn fetch(&self, request: Request<Buffer>) -> opendal_core::Result<Response<HttpBody>> {
        let (parts, body) = request.into_parts();
        let (uri, is_head) = (parts.uri.clone(), parts.method == http::Method::HEAD);
        let request = Request::from_parts(parts, body.to_bytes());
        let response = self.0.send(request).await.map_err(failure)?;
        let (status, headers) = (response.status(), response.headers().clone());
        // What is brought is at most one document, which the egress limits and whoever wants it has in memory.
        let bytes = if is_head { Bytes::new() } else { response.bytes().await.map_err(failure)? };
        let size = bytes.len() as u64;
        let body = HttpBody::new(stream::iter([Ok(Buffer::from(bytes))]), (!is_head).then_some(size));
        let mut answer = Response::new(body);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        answer.extensions_mut().insert(uri);
        Ok(answer)
    }
}

fn failure(error: ibid_egress::Error) -> Error {
    let may_pass = error.may_pass();
    let failed = Error::new(ErrorKind::Unexpected, error.to_string());
    if may_pass { failed.set_temporary() } else { failed }
}
