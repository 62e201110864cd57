//! A server of ibid, asked from the terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use bytes::Bytes;
use futures_util::stream::{BoxStream, try_unfold};
use futures_util::{StreamExt, TryStreamExt};
use http::{Method, Request, StatusCode, header};
use ibid_app::{LOCAL_PROOF_PATH, RunningServer, SCOPE_HEADER, Settings, local_proof};
use ibid_core::{RunEvent, Scope, Secret};
use ibid_egress::{Egress, EgressLimits, Host, Response, Rules, SseDecoder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

/// Where the key for a server is taken from.
const KEY: &str = "IBID_KEY";
/// So long a server may be silent. It says something every few seconds while somebody follows it.
const SILENCE: Duration = Duration::from_secs(60);
/// So long it may take to send a file.
const UPLOAD: Duration = Duration::from_secs(30 * 60);
/// So long the server of the data folder may take to show that it is there.
const PROBE: Duration = Duration::from_secs(3);
/// The length of a proof.
const PROOF: usize = 64;
const JSON: &str = "application/json";
const STOPPED: &str = "the server has stopped; what it was doing goes on with its next start";

/// Events of a run, as they come.
pub(crate) type Events<E> = BoxStream<'static, anyhow::Result<RunEvent<E>>>;

/// A server of ibid.
pub(crate) struct Client {
    url: Url,
    key: Option<Secret>,
    /// For whom, where the key does not say so.
    scope: Option<Scope>,
    egress: Egress,
    /// The same with more time, for what is sent.
    upload: Egress,
}

impl Client {
    /// The server at an address, with the key of the environment.
    pub(crate) fn at(url: &Url) -> anyhow::Result<Self> {
        Self::new(url.clone(), std::env::var(KEY).ok().map(|key| Secret::new(&key)), None)
    }

    /// The server that uses the data folder, if one runs.
    pub(crate) async fn running(config: &Settings, scope: &Scope) -> anyhow::Result<Option<Self>> {
        let found = RunningServer::find(&config.data).with_context(|| {
            format!(
                "a server uses {}, and only its owner can reach it from the terminal",
                config.data.display()
            )
        })?;
        let Some(RunningServer { url, key }) = found else { return Ok(None) };
        // One that was killed has left its file behind, and by now another may listen there. It gets no key and no question
        // before it has shown that it is the right one.
        let stranger = Self::new(Url::parse(&url)?, None, None)?;
        let number = Secret::random("");
        let path = format!("{LOCAL_PROOF_PATH}?number={}", number.reveal());
        let asked = async {
            let answer = stranger.send(&stranger.egress, Method::GET, &path, &[], JSON, Bytes::new()).await?;
            anyhow::Ok(answer.beginning(PROOF).await)
        };
        match tokio::time::timeout(PROBE, asked).await {
            Ok(Ok(proof)) if proof == local_proof(&key, number.reveal()) => {
                Ok(Some(Self { key: Some(key), scope: Some(scope.clone()), ..stranger }))
            }
            _ => Ok(None),
        }
    }

    fn new(url: Url, key: Option<Secret>, scope: Option<Scope>) -> anyhow::Result<Self> {
        let limits = EgressLimits { silence: SILENCE, body_bytes: u64::MAX, ..EgressLimits::default() };
        let egress = Egress::new(Rules::only([Host::of_service(&url)?]), limits.clone())?;
        let upload =
            Egress::new(Rules::only([Host::of_service(&url)?]), EgressLimits { silence: UPLOAD, ..limits })?;
        Ok(Self { url, key, scope, egress, upload })
    }

    /// Its address.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The parts that the server cannot do without, and whether each can work.
    pub(crate) async fn readiness(&self) -> anyhow::Result<BTreeMap<String, bool>> {
        #[derive(Deserialize)]
        struct Part {
            ready: bool,
        }
        let answer = self.send(&self.egress, Method::GET, "/readyz", &[], JSON, Bytes::new()).await?;
        let status = answer.status();
        let said: Value = self.parse(answer).await?;
        match BTreeMap::<String, Part>::deserialize(&said["parts"]) {
            Ok(parts) => Ok(parts.into_iter().map(|(name, part)| (name, part.ready)).collect()),
            Err(_) => Err(self.refusal_of(status, &said)),
        }
    }

    /// Asks for something. What the server says against it is the error.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<T> {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let answer = self.send(&self.egress, method, path, &[], JSON, body.into()).await?;
        self.read(answer).await
    }

    /// Stops something. What has ended meanwhile needs no stop.
    pub(crate) async fn cancel(&self, path: &str) -> anyhow::Result<()> {
        let answer = self.send(&self.egress, Method::POST, path, &[], JSON, Bytes::new()).await?;
        match answer.status() {
            status if status.is_success() || status == StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.refusal(answer).await),
        }
    }

    /// Sends a file with what is said of it.
    pub(crate) async fn upload<T: DeserializeOwned>(
        &self,
        path: &str,
        fields: &[(&str, String)],
        name: &str,
        content: &[u8],
    ) -> anyhow::Result<T> {
        // Nobody who wrote the file can know what stands between its parts.
        let boundary = Secret::random("ibid-form-");
        let boundary = boundary.reveal();
        let mut form = Vec::with_capacity(content.len() + 1024);
        for (name, value) in fields {
            let head = format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n");
            form.extend_from_slice(head.as_bytes());
            form.extend_from_slice(value.as_bytes());
            form.extend_from_slice(b"\r\n");
        }
        let name = name.replace(['"', '\r', '\n', '\\'], "_");
        let head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        );
        form.extend_from_slice(head.as_bytes());
        form.extend_from_slice(content);
        form.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        let kind = format!("multipart/form-data; boundary={boundary}");
        let answer = self.send(&self.upload, Method::POST, path, &[], &kind, form.into()).await?;
        self.read(answer).await
    }

    /// Follows a run in ibid's own events, after one of them.
    pub(crate) async fn events<E: DeserializeOwned + Send + 'static>(
        &self,
        path: &str,
        after: u64,
    ) -> anyhow::Result<Events<E>> {
        let after = [("last-event-id", after.to_string())];
        let answer = self.send(&self.egress, Method::GET, path, &after, JSON, Bytes::new()).await?;
        if !answer.status().is_success() {
            return Err(self.refusal(answer).await);
        }
        let state = (answer.into_stream(), SseDecoder::default(), false);
        let data = try_unfold(state, |(mut body, mut decoder, mut over)| async move {
            loop {
                if let Some(data) = decoder.pop() {
                    return anyhow::Ok(Some((data, (body, decoder, over))));
                }
                if over {
                    return Ok(None);
                }
                match body.try_next().await.context(STOPPED)? {
                    Some(piece) => decoder.push(&piece)?,
                    None => {
                        over = true;
                        decoder.end();
                    }
                }
            }
        });
        Ok(data.and_then(|data| async move { event(&data) }).boxed())
    }

    async fn send(
        &self,
        egress: &Egress,
        method: Method,
        path: &str,
        headers: &[(&str, String)],
        kind: &str,
        body: Bytes,
    ) -> anyhow::Result<Response> {
        let url = format!("{}{path}", self.url.as_str().trim_end_matches('/'));
        let mut request = Request::builder().method(method).uri(url);
        if let Some(key) = &self.key {
            request = request.header("x-api-key", key.reveal());
        }
        if let Some(scope) = &self.scope {
            request = request.header(SCOPE_HEADER, serde_json::to_string(scope)?);
        }
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.header(header::CONTENT_TYPE, kind).body(body)?;
        egress.send(request).await.with_context(|| format!("no server answers at {}", self.url))
    }

    async fn read<T: DeserializeOwned>(&self, answer: Response) -> anyhow::Result<T> {
        if !answer.status().is_success() {
            return Err(self.refusal(answer).await);
        }
        self.parse(answer).await
    }

    async fn parse<T: DeserializeOwned>(&self, answer: Response) -> anyhow::Result<T> {
        let body = answer.bytes().await?;
        // Some requests are answered with nothing.
        let body: &[u8] = if body.is_empty() { b"null" } else { &body };
        serde_json::from_slice(body).with_context(|| {
            format!("{} answers in another way than ibid; is it the same version?", self.url)
        })
    }

    /// What a server says against a request.
    async fn refusal(&self, answer: Response) -> anyhow::Error {
        let status = answer.status();
        let said: Value = answer
            .bytes()
            .await
            .map(|body| serde_json::from_slice(&body).unwrap_or_default())
            .unwrap_or_default();
        self.refusal_of(status, &said)
    }

    fn refusal_of(&self, status: StatusCode, said: &Value) -> anyhow::Error {
        match said["detail"].as_str() {
            Some(_) if status == StatusCode::UNAUTHORIZED && self.scope.is_some() => {
                anyhow!("the server was started anew; run the command again")
            }
            Some(detail) if status == StatusCode::UNAUTHORIZED => anyhow!("{detail}; set {KEY} to a key"),
            Some(detail) => anyhow!("{detail}"),
            None => anyhow!("{} answers with status {status}; is it a server of ibid?", self.url),
        }
    }
}

fn event<E: DeserializeOwned>(data: &str) -> anyhow::Result<RunEvent<E>> {
    let said: Value = serde_json::from_str(data).context("the server sent what is no event")?;
    if let Some(problem) = said["message"].as_str().filter(|_| said.get("seq").is_none()) {
        bail!("{problem}");
    }
    serde_json::from_value(said).context("the server sent an event that is not known here")
}
