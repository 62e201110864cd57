//! Sends requests by the rules and within the limits.

use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Request};
use reqwest::redirect::{Attempt, Policy};
use url::Url;

use crate::error::{Error, RefusedRedirect, failure, root_cause};
use crate::resolve::Guarded;
use crate::response::Response;
use crate::rules::Rules;

/// How long and how large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressLimits {
    /// How long it may take to connect.
    pub connect: Duration,
    /// How long the other side may be silent.
    pub silence: Duration,
    /// How large an answer may be.
    pub body_bytes: u64,
    /// How often an answer may point elsewhere.
    pub redirects: usize,
}

impl Default for EgressLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(60),
            body_bytes: 64 << 20,
            redirects: 5,
        }
    }
}

/// Whether this machine has certificates of authorities, by which others can be known.
static HAS_CERTIFICATES: LazyLock<bool> =
    LazyLock::new(|| !rustls_native_certs::load_native_certs().certs.is_empty());

/// Says which trace the work that runs now belongs to, as a header tells it.
static TRACE: OnceLock<fn() -> Option<String>> = OnceLock::new();

/// From now on, every request says which trace it belongs to, in the header `traceparent`. Only the first call counts.
pub fn trace_requests(current: fn() -> Option<String>) {
    let _ = TRACE.set(current);
}

/// The way out, with its rules and limits. Clones share their connections.
#[derive(Clone)]
pub struct Egress {
    client: reqwest::Client,
    rules: Arc<Rules>,
    limits: Arc<EgressLimits>,
    traced: bool,
}

impl Egress {
    /// A way out by these rules.
    ///
    /// # Errors
    /// Fails when the client cannot be made.
    pub fn new(rules: Rules, limits: EgressLimits) -> Result<Self, Error> {
        // One library for all of TLS. Whoever installed one before has chosen for the process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (rules, limits) = (Arc::new(rules), Arc::new(limits));
        let mut client = reqwest::Client::builder();
        if !*HAS_CERTIFICATES {
            // Without any, no client would be made at all, not even for servers on this machine.
            client = client.tls_certs_only([]);
        }
        let client = client
            .user_agent(concat!("ibid/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .dns_resolver(Arc::new(Guarded(rules.clone())))
            .redirect(redirects(rules.clone(), limits.redirects))
            .connect_timeout(limits.connect)
            .build()
            .map_err(|error| Error::Request(root_cause(error)))?;
        Ok(Self { client, rules, limits, traced: true })
    }

    /// The same way out for requests that belong to no trace.
    #[must_use]
    pub fn untraced(self) -> Self {
        Self { traced: false, ..self }
    }

    /// Sends a request and comes back with the head of the answer. To drop this is to close the connection.
    ///
    /// # Errors
    /// Fails when the rules forbid it, nobody answers, the connection breaks or the other side is too slow.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response, Error> {
        let (mut parts, body) = request.into_parts();
        let url = Url::parse(&parts.uri.to_string()).map_err(|error| Error::Request(error.to_string()))?;
        self.rules.check(&url)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        if url.scheme() == "https" && !*HAS_CERTIFICATES {
            return Err(Error::NoCertificates { host });
        }
        let trace = TRACE.get().filter(|_| self.traced).and_then(|current| current());
        if let Some(trace) = trace.and_then(|trace| HeaderValue::try_from(trace).ok()) {
            parts.headers.insert("traceparent", trace);
        }
        let began = Instant::now();
        let sending = self.client.request(parts.method, url).headers(parts.headers).body(body).send();
        let limit = self.limits.silence;
        let answer = match tokio::time::timeout(limit, sending).await {
            Ok(answer) => answer.map_err(|error| failure(&host, error)),
            Err(_) => Err(Error::Slow { host: host.clone(), limit }),
        };
        let elapsed_ms = began.elapsed().as_millis() as u64;
        match &answer {
            Ok(response) => tracing::debug!(host, status = response.status().as_u16(), elapsed_ms, "sent"),
            Err(error) => tracing::debug!(host, %error, elapsed_ms, "failed"),
        }
        let response = answer?;
        if response.content_length().is_some_and(|length| length > self.limits.body_bytes) {
            return Err(Error::TooLarge { host, limit: self.limits.body_bytes });
        }
        Ok(Response::new(host, response, self.limits.body_bytes, limit))
    }
}

/// Follows a redirect only where a request could have gone at once, and never from https to http.
fn redirects(rules: Arc<Rules>, most: usize) -> Policy {
    Policy::custom(move |attempt: Attempt<'_>| {
        if attempt.previous().len() > most {
            return attempt.error(RefusedRedirect("it points elsewhere too often".to_owned()));
        }
        let was_safe = attempt.previous().last().is_some_and(|url| url.scheme() == "https");
        if was_safe && attempt.url().scheme() != "https" {
            return attempt.error(RefusedRedirect("it points from https to http".to_owned()));
        }
        match rules.check(attempt.url()) {
            Ok(()) => attempt.follow(),
            Err(error) => attempt.error(RefusedRedirect(format!("it points elsewhere, but {error}"))),
        }
    })
}
