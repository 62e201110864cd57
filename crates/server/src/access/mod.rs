//! Who may use the server, as whom, and how often.

mod oidc;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use axum::http::{HeaderMap, header};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use ibid_app::{Cells, LOCAL_KEY_PREFIX, SCOPE_HEADER, local_proof};
use ibid_core::{AccessRole, Scope, Secret, Tenant};
use ibid_engine::ApiKey;
use sha2::{Digest as _, Sha256};
use url::{Host, Url};

pub use oidc::{Claims, Issuer};

use crate::http::{Caller, Problem};
use oidc::Tokens;

/// What keys begin with, so that they are known where they should not be.
pub const KEY_PREFIX: &str = "ibid_";

const DAY: Duration = Duration::from_secs(24 * 3600);
const MOST_DAYS: u32 = 36_525;

/// What proxies add to requests.
const FORWARDED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

/// A key as it is configured: never the key itself.
#[derive(Debug, Clone)]
pub struct Key {
    /// What it is called in the log and in limits.
    pub name: String,
    /// The SHA-256 of the key.
    pub hash: [u8; 32],
    /// On whose behalf its holder reads and writes.
    pub scope: Scope,
    /// What its holder may do.
    pub role: AccessRole,
    /// How many requests it may make in a minute; none means that it is not limited.
    pub per_minute: Option<NonZeroU32>,
}

/// Who may use the server.
#[derive(Default)]
pub struct Access {
    keys: HashMap<[u8; 32], Key>,
    /// Where keys are that were made while the server runs.
    cells: Option<Cells>,
    tokens: Option<Tokens>,
    open: Option<Scope>,
    /// The key of the terminal beside this server.
    terminal: Option<Secret>,
    origins: Vec<String>,
    per_minute: Option<NonZeroU32>,
}

impl Access {
    /// Everybody who reaches this machine's own addresses, without a key.
    pub fn open(scope: Scope) -> Self {
        Self { open: Some(scope), ..Self::default() }
    }

    /// Whoever holds one of the keys.
    pub fn keys(keys: impl IntoIterator<Item = Key>) -> Self {
        Self { keys: keys.into_iter().map(|key| (key.hash, key)).collect(), ..Self::default() }
    }

    /// And whoever holds a key that an engine of these keeps.
    pub(crate) fn and_keys_of(mut self, cells: Cells) -> Self {
        self.cells = Some(cells);
        self
    }

    /// And whoever holds a token of an issuer.
    #[must_use]
    pub fn and_tokens_of(mut self, issuer: Issuer) -> Self {
        self.tokens = Some(Tokens::of(issuer));
        self
    }

    /// And the terminal on this machine, with the key that only whoever owns the data folder can read. It says for whom it
    /// asks, and may ask as often as it likes.
    #[must_use]
    pub fn and_terminal(mut self, key: &Secret) -> Self {
        self.terminal = Some(key.clone());
        self
    }

    /// Pages of these origins may use it in a browser.
    #[must_use]
    pub fn for_pages_of(mut self, origins: Vec<String>) -> Self {
        self.origins = origins;
        self
    }

    /// So many requests in a minute, for whoever has no limit of their own.
    #[must_use]
    pub fn at_most(mut self, per_minute: Option<NonZeroU32>) -> Self {
        self.per_minute = per_minute;
        self
    }

    /// Shows a terminal that this is the server it looks for.
    pub(crate) fn proof(&self, number: &str) -> Option<String> {
        self.terminal.as_ref().map(|key| local_proof(key, number))
    }

    /// Whether whoever is on this machine may use it, without a key.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The origins whose pages may use it.
    pub(crate) fn origins(&self) -> &[String] {
        &self.origins
    }

    /// Who asks, if they may, and not too often.
    pub(crate) async fn caller(&self, key: Option<&str>, headers: &HeaderMap) -> Result<Caller, Problem> {
        if let Some(key) = key.filter(|key| key.starts_with(LOCAL_KEY_PREFIX)) {
            return self.terminal(key, headers);
        }
        let caller = self.known(key, headers).await?;
        self.admit(&caller).await?;
        Ok(caller)
    }

    /// Takes a request off the caller's allowance, which all servers of an engine share.
    async fn admit(&self, caller: &Caller) -> Result<(), Problem> {
        let (Some(per_minute), Some(cells)) = (caller.per_minute.or(self.per_minute), &self.cells) else {
            return Ok(());
        };
        match cells.of(caller.scope.tenant()).engine()?.admit_request(&caller.name, per_minute).await? {
            None => Ok(()),
            Some(wait) => {
                let name = &caller.name;
                let detail = format!("{name} may make {per_minute} requests in a minute; wait a little");
                Err(Problem::too_many(detail, wait))
            }
        }
    }

    /// The terminal beside this server. The key of another one is refused also where none is needed: who sends it looks for
    /// that other server.
    fn terminal(&self, key: &str, headers: &HeaderMap) -> Result<Caller, Problem> {
        if self.terminal.as_ref().is_none_or(|own| key_hash(own.reveal()) != key_hash(key)) {
            return Err(Problem::unauthorized("this is the key of another server's terminal"));
        }
        let scope = match headers.get(SCOPE_HEADER) {
            Some(scope) => serde_json::from_slice(scope.as_bytes())
                .map_err(|error| Problem::invalid(format!("`{SCOPE_HEADER}` cannot be read: {error}")))?,
            None => Scope::of(Tenant::local()),
        };
        Ok(Caller::operator("terminal", scope))
    }

    async fn known(&self, key: Option<&str>, headers: &HeaderMap) -> Result<Caller, Problem> {
        if let Some(scope) = &self.open {
            self.must_be_here(headers)?;
            return Ok(Caller::operator("local", scope.clone()));
        }
        let Some(key) = key else {
            return Err(Problem::unauthorized("send a key, as `x-api-key` or `Authorization: Bearer …`"));
        };
        let hash = key_hash(key);
        if let Some(Key { name, scope, role, per_minute, .. }) = self.keys.get(&hash) {
            let caller = Caller::somebody(name.as_str(), format!("key:{name}"), *role, scope);
            return Ok(Caller { per_minute: *per_minute, ..caller });
        }
        if let Some(ApiKey { name, scope, role, per_minute, expires, .. }) = self.kept(key, hash).await? {
            // Not the name alone, which somebody at another tenant or in the configuration may have, too.
            let known_as = format!("{}/key:{name}", scope.tenant());
            let caller = Caller::somebody(known_as, format!("key:{name}"), role, &scope);
            return Ok(Caller { per_minute, expires, ..caller });
        }
        match &self.tokens {
            Some(tokens) if key.split('.').count() == 3 => tokens.caller(key).await,
            _ => Err(Problem::unauthorized("the key is not known")),
        }
    }

    /// A key that the engine keeps.
    async fn kept(&self, key: &str, hash: [u8; 32]) -> Result<Option<ApiKey>, Problem> {
        let Some(cells) = self.cells.as_ref().filter(|_| key.starts_with(KEY_PREFIX)) else {
            return Ok(None);
        };
        let found = find_key(cells, hash).await?;
        if found.as_ref().and_then(|key| key.expires).is_some_and(|end| end <= SystemTime::now()) {
            return Err(Problem::unauthorized("the key has expired; an admin of the tenant makes another"));
        }
        Ok(found)
    }

    /// Without keys, other pages in the browser must not ask on a person's behalf: neither under a name that leads here
    /// nor from another origin.
    fn must_be_here(&self, headers: &HeaderMap) -> Result<(), Problem> {
        // Whoever asks through a proxy seems to be here, too, wherever they are.
        if let Some(name) = FORWARDED.iter().find(|name| headers.contains_key(**name)) {
            let detail =
                format!("`{name}` says that a proxy stands before this server, which then needs keys");
            return Err(Problem::forbidden(detail));
        }
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let host = text(header::HOST).unwrap_or_default();
        if !is_local(&format!("http://{host}/")) {
            let detail = format!("`{host}` is not this machine; a server that others reach needs keys");
            return Err(Problem::forbidden(detail));
        }
        match text(header::ORIGIN) {
            Some(origin) if !is_own(origin, host) && !self.origins.iter().any(|known| known == origin) => {
                let detail =
                    format!("pages of {origin} may not use this server; `serve.origins` can allow them");
                Err(Problem::forbidden(detail))
            }
            _ => Ok(()),
        }
    }
}

/// A key that one of the engines keeps. The one that has it answers for all: whoever is known waits for no other.
async fn find_key(cells: &Cells, hash: [u8; 32]) -> Result<Option<ApiKey>, Problem> {
    let asked =
        cells.all().map(|(_, app)| async move { Ok::<_, Problem>(app.engine()?.api_key(hash).await?) });
    let (mut answers, mut failed) = (asked.collect::<FuturesUnordered<_>>(), None);
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(Some(key)) => return Ok(Some(key)),
            Ok(None) => {}
            Err(problem) => failed = Some(problem),
        }
    }
    failed.map_or(Ok(None), Err)
}

/// When a key ends that is to last so many days. More than a hundred years are a hundred.
pub fn key_expiry(created: SystemTime, days: NonZeroU32) -> SystemTime {
    created + DAY * days.get().min(MOST_DAYS)
}

/// The hash by which a key is known.
pub fn key_hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// Whether an origin is the one that the request goes to.
fn is_own(origin: &str, host: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, own)| own == host)
}

fn is_local(url: &str) -> bool {
    Url::parse(url).ok().is_some_and(|url| match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use ibid_core::Tenant;

    use super::*;

    fn headers(host: &'static str, origin: Option<&'static str>) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
        headers.extend(origin.map(|origin| (header::ORIGIN, HeaderValue::from_static(origin))));
        headers
    }

    #[tokio::test]
    async fn without_keys_only_this_machine_may_ask() {
        let access =
            Access::open(Scope::of(Tenant::local())).for_pages_of(vec!["https://desk.example".to_owned()]);
        for (host, origin, allowed) in [
            ("127.0.0.1:8123", None, true),
            ("localhost:8123", Some("http://localhost:8123"), true),
            ("[::1]:8123", Some("https://desk.example"), true),
            ("rebound.example:8123", None, false),
            ("127.0.0.1:8123", Some("https://evil.example"), false),
            ("127.0.0.1:8123", Some("null"), false),
            ("127.0.0.1:8123", Some("http://127.0.0.1:3000"), false),
        ] {
            let known = access.caller(None, &headers(host, origin)).await;
            assert_eq!(known.is_ok(), allowed, "{host} {origin:?}");
        }
    }

    #[tokio::test]
    async fn without_keys_nobody_asks_through_a_proxy() {
        let access = Access::open(Scope::of(Tenant::local()));
        for name in FORWARDED {
            let mut headers = headers("127.0.0.1:8123", None);
            headers.insert(name, HeaderValue::from_static("203.0.113.7"));
            let refused = access.caller(None, &headers).await.unwrap_err();
            assert!(refused.detail().contains("needs keys"), "{refused:?}");
        }
    }

    #[tokio::test]
    async fn the_terminal_asks_for_whom_it_says_and_only_at_its_own_server() {
        let key = Secret::random(LOCAL_KEY_PREFIX);
        let other = Secret::random(LOCAL_KEY_PREFIX);
        let acme = Scope::of("acme".parse().unwrap()).holding(["legal".parse().unwrap()]);
        let mut headers = headers("127.0.0.1:8123", None);
        for access in [Access::open(Scope::of(Tenant::local())), Access::keys([])] {
            let access = access.at_most(NonZeroU32::new(1)).and_terminal(&key);
            headers.remove(SCOPE_HEADER);
            let caller = access.caller(Some(key.reveal()), &headers).await.unwrap();
            assert_eq!(caller.scope, Scope::of(Tenant::local()));
            let header = HeaderValue::from_str(&serde_json::to_string(&acme).unwrap()).unwrap();
            headers.insert(SCOPE_HEADER, header);
            let caller = access.caller(Some(key.reveal()), &headers).await.unwrap();
            assert_eq!((&*caller.name, &caller.scope), ("terminal", &acme));
            assert!(access.caller(Some(other.reveal()), &headers).await.is_err());
        }
        // Whoever has another key cannot widen what it gives by saying so.
        let open = Access::open(Scope::of(Tenant::local()));
        let caller = open.caller(None, &headers).await.unwrap();
        assert_eq!(caller.scope, Scope::of(Tenant::local()));
        assert!(open.caller(Some(key.reveal()), &headers).await.is_err());
    }

    #[tokio::test]
    async fn a_key_is_known_by_its_hash() {
        let key = Key {
            name: "desk".to_owned(),
            hash: Sha256::digest(b"ibid_secret").into(),
            scope: Scope::of("acme".parse().unwrap()),
            role: AccessRole::Reader,
            per_minute: None,
        };
        let access = Access::keys([key]);
        let none = HeaderMap::new();
        assert!(access.caller(None, &none).await.is_err());
        assert!(access.caller(Some("ibid_other"), &none).await.is_err());
        let caller = access.caller(Some("ibid_secret"), &none).await.unwrap();
        assert_eq!((&*caller.name, caller.scope.tenant().as_str()), ("desk", "acme"));
    }
}
