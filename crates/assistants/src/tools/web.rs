//! Asking a service elsewhere, through the one door out.

use bytes::Bytes;
use ibid_core::tool::ToolError;
use ibid_egress::{Egress, EgressLimits, Host, Rules};
use serde_json::Value;
use url::Url;

use super::failure;

/// An answer of a service is at most this large.
const LARGEST: u64 = 1 << 20;

/// A service at an address, and nothing else.
pub(super) struct Service {
    name: &'static str,
    base: Url,
    egress: Egress,
}

impl Service {
    /// The service at an address.
    pub(super) fn at(name: &'static str, base: &str) -> Result<Self, String> {
        let base =
            Url::parse(base).map_err(|error| format!("the address of {name} cannot be used: {error}"))?;
        let host = Host::of_service(&base)
            .map_err(|error| format!("the address of {name} cannot be used: {error}"))?;
        let limits = EgressLimits { body_bytes: LARGEST, ..EgressLimits::default() };
        let egress = Egress::new(Rules::only([host]), limits).map_err(|error| error.to_string())?;
        Ok(Self { name, base, egress })
    }

    /// What it answers to a path with a query.
    pub(super) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<String, ToolError> {
        self.get_with(path, query, &[]).await
    }

    async fn get_with(
        &self,
        path: &str,
        query: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Result<String, ToolError> {
        let mut url = self.base.join(path).map_err(|error| self.failed(&error.to_string()))?;
        url.query_pairs_mut().extend_pairs(query);
        self.send(http::Request::get(url.as_str()), headers, Bytes::new()).await
    }

    /// What it answers, as JSON, to something that is sent to a path.
    pub(super) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Result<Value, ToolError> {
        let url = self.base.join(path).map_err(|error| self.failed(&error.to_string()))?;
        let request = http::Request::post(url.as_str()).header("content-type", "application/json");
        self.read(&self.send(request, headers, Bytes::from(body.to_string())).await?)
    }

    async fn send(
        &self,
        mut request: http::request::Builder,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<String, ToolError> {
        let failed = |reason: &dyn std::fmt::Display| failure(self.name, reason);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body).map_err(|error| failed(&error))?;
        let response = self.egress.send(request).await.map_err(|error| failed(&error))?;
        let status = response.status();
        let body = response.bytes().await.map_err(|error| failed(&error))?;
        if !status.is_success() {
            return Err(failed(&format!("it answered with status {}", status.as_u16())));
        }
        String::from_utf8(body.to_vec()).map_err(|_| failed(&"its answer is no text"))
    }

    /// The same as JSON.
    pub(super) async fn json(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, ToolError> {
        self.json_with(path, query, &[]).await
    }

    /// The same with headers.
    pub(super) async fn json_with(
        &self,
        path: &str,
        query: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Result<Value, ToolError> {
        self.read(&self.get_with(path, query, headers).await?)
    }

    fn read(&self, text: &str) -> Result<Value, ToolError> {
        serde_json::from_str(text)
            .map_err(|error| failure(self.name, format!("its answer is no JSON: {error}")))
    }

    /// The service failed in a way of its own.
    pub(super) fn failed(&self, reason: &str) -> ToolError {
        failure(self.name, reason)
    }
}
