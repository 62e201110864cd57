//! Who may use the server, and as whom.

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::{HeaderMap, header};
use ibid_core::Scope;
use sha2::{Digest as _, Sha256};
use url::{Host, Url};

use crate::http::{Caller, Problem};

/// A key as it is configured: never the key itself.
#[derive(Debug, Clone)]
pub struct Key {
    /// What it is called in the log and in limits.
    pub name: String,
    /// The SHA-256 of the key.
    pub hash: [u8; 32],
    /// On whose behalf its holder reads and writes.
    pub scope: Scope,
}

/// Who may use the server.
#[derive(Debug, Clone)]
pub struct Access {
    keys: HashMap<[u8; 32], Key>,
    open: Option<Scope>,
}

impl Access {
    /// Everybody who reaches this machine's own addresses, without a key.
    pub fn open(scope: Scope) -> Self {
        Self { keys: HashMap::new(), open: Some(scope) }
    }

    /// Whoever holds one of the keys.
    pub fn keys(keys: impl IntoIterator<Item = Key>) -> Self {
        Self { keys: keys.into_iter().map(|key| (key.hash, key)).collect(), open: None }
    }

    /// Who asks.
    pub(crate) fn caller(&self, key: Option<&str>, headers: &HeaderMap) -> Result<Caller, Problem> {
        if let Some(scope) = &self.open {
            from_here(headers)?;
            return Ok(Caller { name: Arc::from("local"), scope: scope.clone() });
        }
        let Some(key) = key else {
            return Err(Problem::unauthorized("send a key, as `x-api-key` or `Authorization: Bearer …`"));
        };
        let hash: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        let known = self.keys.get(&hash).ok_or_else(|| Problem::unauthorized("the key is not known"))?;
        Ok(Caller { name: known.name.as_str().into(), scope: known.scope.clone() })
    }
}

/// Without keys, other pages in the browser must not ask on a person's behalf: neither under a name that leads here
/// nor from another origin.
fn from_here(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(header::HOST).unwrap_or_default();
    let local = |url: &str| {
        Url::parse(url).ok().is_some_and(|url| match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        })
    };
    if !local(&format!("http://{host}/")) {
        let detail = format!("`{host}` is not this machine; a server that others reach needs keys");
        return Err(Problem::forbidden(detail));
    }
    match text(header::ORIGIN) {
        Some(origin) if !local(origin) => {
            Err(Problem::forbidden(format!("pages of {origin} may not use this server without a key")))
        }
        _ => Ok(()),
    }
}
