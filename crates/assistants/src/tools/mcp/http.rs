//! The protocol over HTTP, through the one door out: only the host of the server's own address is reached.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use ibid_egress::{Egress, EgressLimits, Error, Host, Response, Rules};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use url::Url;

/// What an answer may take, in bytes.
const LARGEST: u64 = 16 << 20;
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

type Failed = StreamableHttpError<Error>;

/// The way to one server.
#[derive(Clone)]
pub(super) struct EgressClient(Egress);

impl EgressClient {
    /// The way to the server at an address.
    pub(super) fn to(address: &str) -> Result<Self, String> {
        let url = Url::parse(address).map_err(|error| format!("{address} is no address: {error}"))?;
        let host = Host::of_service(&url).map_err(|error| error.to_string())?;
        let limits = EgressLimits { body_bytes: LARGEST, ..EgressLimits::default() };
        Egress::new(Rules::only([host]), limits).map(Self).map_err(|error| error.to_string())
    }

    async fn send(
        &self,
        method: Method,
        uri: &str,
        body: Vec<u8>,
        headers: impl IntoIterator<Item = (HeaderName, String)>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Response, Failed> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        for (name, value) in more {
            request = request.header(name, value);
        }
        let unsendable = |error: http::Error| Failed::UnexpectedServerResponse(error.to_string().into());
        let request = request.body(Bytes::from(body)).map_err(unsendable)?;
        self.0.send(request).await.map_err(Failed::Client)
    }
}

/// Headers that a server is to be sent with every request.
pub(super) fn headers(given: &BTreeMap<String, String>) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let header = |(name, value): (&String, &String)| {
        let wrong = || format!("`{name}` in `headers` is no header");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        Ok((name, HeaderValue::from_str(value).map_err(|_| wrong())?))
    };
    given.iter().map(header).collect()
}

/// The headers of every request.
fn usual(session: Option<Arc<str>>, key: Option<String>) -> Vec<(HeaderName, String)> {
    let mut headers = vec![(ACCEPT, format!("{JSON}, {EVENTS}"))];
    headers.extend(session.map(|session| (HeaderName::from_static(SESSION), session.to_string())));
    headers.extend(key.map(|key| (AUTHORIZATION, format!("Bearer {key}"))));
    headers
}

fn content_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    SseStream::from_bytes_stream(response.into_stream()).boxed()
}

impl StreamableHttpClient for EgressClient {
    type Error = Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let had_session = session_id.is_some();
        let mut headers = usual(session_id, auth_header);
        headers.push((CONTENT_TYPE, JSON.to_owned()));
        let body = serde_json::to_vec(&message)?;
        let response = self.send(Method::POST, &uri, body, headers, custom_headers).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(Failed::SessionExpired);
        }
        let session =
            response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let kind = content_type(&response);
        if kind.starts_with(EVENTS) && status.is_success() {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        let body = response.bytes().await.map_err(Failed::Client)?;
        // A server that refuses may say why in the protocol's own words, whatever the status.
        match serde_json::from_slice(&body) {
            Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            Err(_) => {
                Err(Failed::UnexpectedServerResponse(format!("it answered with status {status}").into()))
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let headers = usual(Some(session_id), auth_header);
        self.send(Method::DELETE, &uri, Vec::new(), headers, custom_headers).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let mut headers = usual(session_id, auth_header);
        headers.extend(last_event_id.map(|last| (HeaderName::from_static(LAST_EVENT), last)));
        let response = self.send(Method::GET, &uri, Vec::new(), headers, custom_headers).await?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(Failed::ServerDoesNotSupportSse);
        }
        let kind = content_type(&response);
        if !response.status().is_success() || !kind.starts_with(EVENTS) {
            return Err(Failed::UnexpectedContentType(Some(kind)));
        }
        Ok(events(response))
    }
}
