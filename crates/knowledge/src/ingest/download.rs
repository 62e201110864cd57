//! Documents from other hosts, through the one door out.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use ibid_egress::Egress;

use crate::Error;

/// A download is tried so often.
const MOST_ATTEMPTS: u32 = 5;
/// The first pause; each next one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Fetches documents from hosts that are allowed.
#[derive(Clone)]
pub struct Download {
    egress: Egress,
    pause: Duration,
}

impl Download {
    /// Fetches through this door, which knows the hosts and the limits.
    pub fn new(egress: Egress) -> Self {
        Self { egress, pause: FIRST_PAUSE }
    }

    /// Waits so long before the second attempt.
    #[must_use]
    pub fn pausing(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    pub(crate) async fn fetch(&self, url: &str) -> Result<Bytes, Error> {
        let mut pause = self.pause;
        let mut attempt = 1;
        loop {
            match self.once(url).await {
                Ok(bytes) => return Ok(bytes),
                Err((why, true)) if attempt < MOST_ATTEMPTS => {
                    tracing::info!(
                        url = without_query(url),
                        attempt,
                        why,
                        "a download failed and is tried again"
                    );
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                    attempt += 1;
                }
                Err((why, _)) => {
                    let tried =
                        if attempt > 1 { format!(" after {attempt} attempts") } else { String::new() };
                    return Err(Error::Document(format!("{url} could not be fetched{tried}: {why}")));
                }
            }
        }
    }

    /// One attempt. Says why it failed and whether another one may help.
    async fn once(&self, url: &str) -> Result<Bytes, (String, bool)> {
        let request = Request::get(url)
            .body(Bytes::new())
            .map_err(|error| (format!("this is no URL ({error})"), false))?;
        let response = self.egress.send(request).await.map_err(|error| {
            let help = match &error {
                ibid_egress::Error::Refused { .. } => "; `ingest.hosts` names those that may be reached",
                _ => "",
            };
            (format!("{error}{help}"), error.may_pass())
        })?;
        match response.status() {
            StatusCode::OK => response.bytes().await.map_err(|error| (error.to_string(), error.may_pass())),
            status => {
                let may_pass = status.is_server_error()
                    || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
                Err((format!("the host answered {status}"), may_pass))
            }
        }
    }
}

/// What follows a question mark may be a secret.
fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}
