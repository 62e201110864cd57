//! A server of ibid, asked from the terminal.

use anyhow::{Context, bail};
use bytes::Bytes;
use http::{Method, Request, header};
use ibid_core::Secret;
use ibid_egress::{Egress, Host, Limits, Rules};
use serde_json::Value;
use url::Url;

/// Where the key for a server is taken from.
const KEY: &str = "IBID_KEY";

/// A server of ibid.
pub(crate) struct Remote {
    url: Url,
    key: Option<Secret>,
    egress: Egress,
}

impl Remote {
    /// The server at an address, with the key of the environment.
    pub(crate) fn at(url: &Url) -> anyhow::Result<Self> {
        let egress = Egress::new(Rules::only([Host::of(url)?]), Limits::default())?;
        let key = std::env::var(KEY).ok().map(|key| Secret::new(&key));
        Ok(Self { url: url.clone(), key, egress })
    }

    /// Asks for something. What the server says against it is the error.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        let url = self.url.join(path).with_context(|| format!("`{}` is no address of a server", self.url))?;
        let mut request = Request::builder().method(method).uri(url.as_str());
        if let Some(key) = &self.key {
            request = request.header("x-api-key", key.reveal());
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = request.header(header::CONTENT_TYPE, "application/json").body(Bytes::from(body))?;
        let answer =
            self.egress.send(request).await.with_context(|| format!("no server answers at {}", self.url))?;
        let status = answer.status();
        let body = answer.bytes().await?;
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() {
            return Ok(said);
        }
        match said["detail"].as_str() {
            Some(detail) if status.as_u16() == 401 => bail!("{detail}; set {KEY} to a key"),
            Some(detail) => bail!("{detail}"),
            None => bail!("{} answers with status {status}; is it a server of ibid?", self.url),
        }
    }
}
