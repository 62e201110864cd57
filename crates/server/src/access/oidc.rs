//! Tokens of an OpenID Connect issuer: signed by it, for us, not expired; and what they say about their holder.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use axum::http::Request;
use bytes::Bytes;
use ibid_core::{AccessRole, Corpus, Label, Scope, Tenant};
use ibid_egress::Egress;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, RwLock};

use crate::http::{Caller, Problem};

/// The issuer is not asked more often than this, whether for an unknown key or because it did not answer.
const BETWEEN: Duration = Duration::from_secs(60);
/// Keys that were fetched longer ago are fetched anew, since the issuer may have withdrawn one.
const FRESH: Duration = Duration::from_secs(3600);
/// While the issuer does not answer, keys are trusted for so long after they were fetched, and no longer.
const TRUSTED: Duration = Duration::from_secs(24 * 3600);
/// So long a key lasts that somebody makes with a token: they may have left by then.
const LONGEST_KEY: Duration = Duration::from_secs(90 * 24 * 3600);
/// So long the issuer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Signatures that only the issuer can make. With a shared secret anybody who checks could sign.
const ALGORITHMS: [Algorithm; 7] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// Who issues tokens, and how they are read.
pub struct Issuer {
    /// Its address, as it stands in its tokens.
    pub url: String,
    /// For whom its tokens must be.
    pub audience: String,
    /// What its tokens tell.
    pub claims: Claims,
    /// The way to it.
    pub egress: Egress,
}

/// The names under which tokens tell what their holder may see.
#[derive(Debug, Clone)]
pub struct Claims {
    /// The tenant, a text.
    pub tenant: String,
    /// The corpora, a list of texts; without it, all of the tenant's.
    pub corpora: String,
    /// The labels, a list of texts.
    pub labels: String,
    /// What the holder may do: the name of a role, or a list with some.
    pub role: String,
    /// What they may do if the token says nothing of it.
    pub default_role: AccessRole,
}

/// The issuer's keys, as they were last fetched.
#[derive(Default)]
struct Fetched {
    keys: Vec<Jwk>,
    /// When that worked.
    when: Option<Instant>,
    /// When it was last tried.
    tried: Option<Instant>,
}

/// Reads tokens.
pub(super) struct Tokens {
    issuer: Issuer,
    fetched: RwLock<Fetched>,
    asking: Mutex<()>,
}

#[derive(Deserialize)]
struct Discovered {
    issuer: String,
    jwks_uri: String,
}

impl Tokens {
    pub(super) fn of(issuer: Issuer) -> Self {
        Self { issuer, fetched: RwLock::default(), asking: Mutex::default() }
    }

    /// Whose a token is.
    pub(super) async fn caller(&self, token: &str) -> Result<Caller, Problem> {
        let refused =
            |why: &dyn std::fmt::Display| Problem::unauthorized(format!("the token is not accepted: {why}"));
        let head = decode_header(token).map_err(|error| refused(&error))?;
        if !ALGORITHMS.contains(&head.alg) {
            return Err(refused(&format!("{:?} is no signature of an issuer", head.alg)));
        }
        let key = self.key(head.kid.as_deref()).await?.ok_or_else(|| refused(&"its key is not known"))?;
        let key = DecodingKey::from_jwk(&key).map_err(|error| refused(&error))?;
        let mut rules = Validation::new(head.alg);
        rules.set_audience(&[&self.issuer.audience]);
        rules.set_issuer(&[&self.issuer.url]);
        rules.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        rules.validate_nbf = true;
        let claims =
            decode::<Map<String, Value>>(token, &key, &rules).map_err(|error| refused(&error))?.claims;
        let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
        let scope = self.issuer.claims.scope(&claims).map_err(|why| refused(&why))?;
        let role = self.issuer.claims.role(&claims).map_err(|why| refused(&why))?;
        let name = format!("{}/{subject}", scope.tenant());
        let caller = Caller::somebody(name, format!("user:{subject}"), role, &scope);
        // What somebody makes with a token goes on without it, but not for ever.
        Ok(Caller { expires: SystemTime::now().checked_add(LONGEST_KEY), ..caller })
    }

    /// A key of the issuer, fetched anew if it is not known or was fetched long ago.
    async fn key(&self, id: Option<&str>) -> Result<Option<Jwk>, Problem> {
        let find = |fetched: &Fetched| match id {
            Some(id) => fetched.keys.iter().find(|key| key.common.key_id.as_deref() == Some(id)).cloned(),
            None => fetched.keys.first().filter(|_| fetched.keys.len() == 1).cloned(),
        };
        let age = |when: Option<Instant>| when.map_or(Duration::MAX, |when| when.elapsed());
        let known = |fetched: &Fetched, most: Duration| find(fetched).filter(|_| age(fetched.when) < most);
        if let Some(key) = known(&*self.fetched.read().await, FRESH) {
            return Ok(Some(key));
        }
        // One asks for all. Those whose key was known do not wait for it.
        let _asking = match self.asking.try_lock() {
            Ok(asking) => asking,
            Err(_) => {
                // Let go of what is read before waiting: whoever asks has to write it.
                let known = known(&*self.fetched.read().await, TRUSTED);
                match known {
                    Some(key) => return Ok(Some(key)),
                    None => self.asking.lock().await,
                }
            }
        };
        {
            let fetched = self.fetched.read().await;
            if let Some(key) = known(&fetched, FRESH) {
                return Ok(Some(key));
            }
            if age(fetched.tried) < BETWEEN {
                return match known(&fetched, TRUSTED) {
                    Some(key) => Ok(Some(key)),
                    None if age(fetched.when) < FRESH => Ok(None),
                    None => Err(Problem::unavailable("the issuer of tokens did not answer a moment ago")),
                };
            }
        }
        let asked = match tokio::time::timeout(PATIENCE, self.fetch()).await {
            Ok(asked) => asked,
            Err(_) => Err(Problem::unavailable("the issuer of tokens does not answer")),
        };
        let mut fetched = self.fetched.write().await;
        fetched.tried = Some(Instant::now());
        match asked {
            Ok(keys) => *fetched = Fetched { keys, when: fetched.tried, ..*fetched },
            Err(problem) => {
                tracing::warn!(
                    why = problem.detail(),
                    "the keys of the issuer of tokens could not be fetched"
                );
                return known(&fetched, TRUSTED).map(Some).ok_or(problem);
            }
        }
        Ok(find(&fetched))
    }

    async fn fetch(&self) -> Result<Vec<Jwk>, Problem> {
        let about = format!("{}/.well-known/openid-configuration", self.issuer.url.trim_end_matches('/'));
        let about: Discovered = self.get(&about).await?;
        if about.issuer != self.issuer.url {
            let why = "the issuer of tokens calls itself by another name than `serve.oidc.issuer`";
            return Err(Problem::unavailable(why));
        }
        Ok(self.get::<JwkSet>(&about.jwks_uri).await?.keys)
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, url: &str) -> Result<T, Problem> {
        let unreachable = |why: &dyn std::fmt::Display| {
            Problem::unavailable(format!("the issuer of tokens cannot be asked: {why}"))
        };
        let request = Request::get(url).body(Bytes::new()).map_err(|error| unreachable(&error))?;
        let response = self.issuer.egress.send(request).await.map_err(|error| unreachable(&error))?;
        if !response.status().is_success() {
            return Err(unreachable(&response.status()));
        }
        let bytes = response.bytes().await.map_err(|error| unreachable(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| unreachable(&error))
    }
}

impl Claims {
    /// What a holder may do: the most that the token says.
    fn role(&self, claims: &Map<String, Value>) -> Result<AccessRole, String> {
        let named = |value: &Value| value.as_str().and_then(|text| text.parse::<AccessRole>().ok());
        match claims.get(&self.role) {
            None | Some(Value::Null) => Ok(self.default_role),
            Some(Value::String(text)) => {
                text.parse().map_err(|error: ibid_core::InvalidRole| error.to_string())
            }
            // Among the groups of a person, some may be no roles of ours.
            Some(Value::Array(list)) => Ok(list.iter().filter_map(named).max().unwrap_or(self.default_role)),
            Some(_) => Err(format!("`{}` is no role", self.role)),
        }
    }

    /// What a holder may see. Who belongs to no tenant sees nothing.
    fn scope(&self, claims: &Map<String, Value>) -> Result<Scope, String> {
        let tenant = claims.get(&self.tenant).and_then(Value::as_str);
        let tenant = tenant.ok_or_else(|| format!("it does not say `{}`", self.tenant))?;
        let tenant: Tenant = tenant.parse().map_err(|error: ibid_core::InvalidName| error.to_string())?;
        let scope = Scope::of(tenant).holding(names::<Label>(claims, &self.labels)?);
        Ok(match claims.contains_key(&self.corpora) {
            true => scope.within(names::<Corpus>(claims, &self.corpora)?),
            false => scope,
        })
    }
}

/// The names in a list.
fn names<T: std::str::FromStr<Err = ibid_core::InvalidName> + Ord>(
    claims: &Map<String, Value>,
    name: &str,
) -> Result<BTreeSet<T>, String> {
    let list = match claims.get(name) {
        None | Some(Value::Null) => return Ok(BTreeSet::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(format!("`{name}` is no list")),
    };
    let read = |value: &Value| {
        let text = value.as_str().ok_or_else(|| format!("`{name}` has more than texts"))?;
        text.parse().map_err(|error: ibid_core::InvalidName| error.to_string())
    };
    list.iter().map(read).collect()
}
