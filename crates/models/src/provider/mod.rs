//! A provider: a host that serves models over HTTP, an account there, and what its answers mean.

mod answer;
mod settings;
mod window;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request};
use ibid_core::Secret;
use ibid_core::model::{Caller, ModelError};
use ibid_egress::{Egress, EgressLimits, Host, Response, Rules};
use serde_json::Value;
use url::Url;

pub use settings::{InvalidProvider, ProviderSettings, TimeLimits};

use crate::chat::LearnedSpeed;
use crate::governor::{Ask, Budget, Failure, Governor};
use answer::{failure_of, reason_in};

/// How much of what a provider says about an error is read.
const ERROR_BYTES: usize = 16 << 10;

/// One provider account, reached through the door and behind its governor.
pub struct Provider {
    name: String,
    base: Url,
    key: Option<Secret>,
    key_from: String,
    egress: Egress,
    governor: Arc<Governor>,
    limits: TimeLimits,
    is_near: bool,
    /// Whether its server tells how far it has read.
    tells_progress: AtomicBool,
    /// How fast each of its models is: one for all who use the model.
    speeds: Mutex<HashMap<String, Arc<LearnedSpeed>>>,
}

impl Provider {
    /// A provider as it is configured. Only its own host is ever reached.
    ///
    /// # Errors
    /// Fails when its address cannot be used.
    pub fn new(
        settings: ProviderSettings,
        budget: Option<Arc<Budget>>,
    ) -> Result<Arc<Self>, InvalidProvider> {
        let ProviderSettings { name, base_url, key, key_from, governor, limits, is_near } = settings;
        let invalid = |reason: String| InvalidProvider { name: name.clone(), reason };
        let mut base = Url::parse(&base_url).map_err(|error| invalid(format!("`{base_url}`: {error}")))?;
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let host = Host::of_service(&base).map_err(|error| invalid(error.to_string()))?;
        // The silence is watched where the tokens are; this one is for everything else.
        let silence = limits.first_token.max(limits.between_tokens) * 2;
        let door = EgressLimits { connect: limits.connect, silence, ..EgressLimits::default() };
        let egress = Egress::new(Rules::only([host]), door).map_err(|error| invalid(error.to_string()))?;
        let governor = Governor::new(&name, governor, budget);
        let tells_progress = AtomicBool::new(false);
        let speeds = Mutex::default();
        Ok(Arc::new(Self {
            name,
            base,
            key,
            key_from,
            egress,
            governor,
            limits,
            is_near,
            tells_progress,
            speeds,
        }))
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its governor.
    pub fn governor(&self) -> &Arc<Governor> {
        &self.governor
    }

    /// Whether it runs on this machine or beside it.
    pub fn is_near(&self) -> bool {
        self.is_near
    }

    /// Whether its server tells how far it has read, as far as is known yet.
    pub(crate) fn tells_progress(&self) -> bool {
        self.tells_progress.load(Ordering::Relaxed)
    }

    /// How fast one of its models is.
    pub(crate) fn speed_of(&self, model: &str) -> Arc<LearnedSpeed> {
        let mut speeds = self.speeds.lock().unwrap_or_else(PoisonError::into_inner);
        speeds.entry(model.to_owned()).or_default().clone()
    }

    pub(crate) fn limits(&self) -> &TimeLimits {
        &self.limits
    }

    /// Sends JSON and comes back with an answer that is none of refusal or failure.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Response, Failure> {
        self.send(http::Method::POST, path, Bytes::from(body.to_string())).await
    }

    /// Sends JSON and comes back with the JSON that is answered.
    pub(crate) async fn post_for_json(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let answering = async {
            let body = self.post(path, body).await?.bytes().await.map_err(|error| self.broken(&error))?;
            serde_json::from_slice(&body).map_err(|error| Failure::Final(self.nonsense(&error.to_string())))
        };
        let limit = self.limits.first_token;
        let late = || Failure::Passing(self.too_slow("to answer", limit), None);
        tokio::time::timeout(limit, answering).await.unwrap_or_else(|_| Err(late()))
    }

    /// Sends JSON on behalf of a caller, when the governor lets it, and reads what is answered. What it takes is estimated from the
    /// letters that are to be read.
    pub(crate) async fn ask_json<T>(
        &self,
        caller: &Caller,
        path: &str,
        body: &Value,
        letters: usize,
        read: impl Fn(&Value) -> Result<T, ModelError>,
    ) -> Result<T, ModelError> {
        let ask = Ask::reading(caller, letters);
        let tokens = ask.tokens;
        let attempt = async || {
            let answer = self.post_for_json(path, body).await?;
            read(&answer).map_err(Failure::Final)
        };
        let (answer, permit) = self.governor().call(ask, attempt).await?;
        permit.done(tokens, true);
        Ok(answer)
    }

    /// The names of the models that it serves, as far as it tells.
    ///
    /// # Errors
    /// Fails when it cannot be reached, refuses, or tells something else.
    pub async fn models(&self) -> Result<Vec<String>, ModelError> {
        let asking = async {
            let answer = self.send(http::Method::GET, "models", Bytes::new()).await?;
            answer.bytes().await.map_err(|error| self.broken(&error))
        };
        let limit = self.limits.connect * 2;
        let answer = tokio::time::timeout(limit, asking).await;
        let body = match answer {
            Ok(Ok(body)) => body,
            Ok(Err(failure)) => return Err(failure.into_error(&self.name)),
            Err(_) => return Err(self.too_slow("to list its models", limit)),
        };
        let list: Value = serde_json::from_slice(&body).map_err(|error| self.nonsense(&error.to_string()))?;
        let models = list["data"].as_array().ok_or_else(|| self.nonsense("it has no list of models"))?;
        Ok(models.iter().filter_map(|model| model["id"].as_str()).map(str::to_owned).collect())
    }

    async fn send(&self, method: http::Method, path: &str, body: Bytes) -> Result<Response, Failure> {
        let url = self.base.join(path).map_err(|error| Failure::Final(self.nonsense(&error.to_string())))?;
        let mut request = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let Some(key) = &self.key {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", key.reveal()));
            let mut bearer =
                bearer.map_err(|_| Failure::Final(self.wrong_key("it holds letters that no key has")))?;
            bearer.set_sensitive(true);
            request = request.header(AUTHORIZATION, bearer);
        }
        let request =
            request.body(body).map_err(|error| Failure::Final(self.nonsense(&error.to_string())))?;
        let response = self.egress.send(request).await.map_err(|error| self.broken(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        // Hidden before it is cut, so that no part of a key is left over.
        let reason = reason_in(&self.hide(&response.beginning(ERROR_BYTES).await));
        Err(failure_of(self, status, &headers, reason))
    }

    /// The failure that a provider tells in the middle of a stream, where there is no status.
    pub(crate) fn failure_in(&self, chunk: &Value) -> Option<Failure> {
        let error = chunk.get("error").filter(|error| !error.is_null())?;
        let number = error["code"].as_u64().or_else(|| error["status"].as_u64()).unwrap_or(500);
        let status = u16::try_from(number).ok().and_then(|number| http::StatusCode::from_u16(number).ok());
        let reason = reason_in(&self.hide(&chunk.to_string()));
        let status = status.unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
        Some(failure_of(self, status, &http::HeaderMap::new(), reason))
    }

    pub(crate) fn broken(&self, error: &ibid_egress::Error) -> Failure {
        let passing = error.may_pass();
        let error = self.cut(&error.to_string());
        if passing { Failure::Passing(error, None) } else { Failure::Final(error) }
    }

    pub(crate) fn cut(&self, reason: &str) -> ModelError {
        ModelError::Broken { provider: self.name.clone(), reason: self.hide(reason) }
    }

    pub(crate) fn nonsense(&self, reason: &str) -> ModelError {
        ModelError::Nonsense { provider: self.name.clone(), reason: self.hide(reason) }
    }

    pub(crate) fn too_slow(&self, waiting_for: &'static str, limit: std::time::Duration) -> ModelError {
        ModelError::TimeLimit { provider: self.name.clone(), waiting_for, limit }
    }

    fn wrong_key(&self, reason: &str) -> ModelError {
        let help = match &self.key {
            Some(_) => format!("the key is taken from {}", self.key_from),
            None => format!("there is no key; put it into {}", self.key_from),
        };
        ModelError::Key { provider: self.name.clone(), reason: reason.to_owned(), help }
    }

    /// What a provider says may repeat the key that it was sent.
    fn hide(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hide_in(text))
    }
}
