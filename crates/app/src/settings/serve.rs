//! How assistants are served.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;

use ibid_core::{AccessRole, Corpus, Label, Tenant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a process does of what all processes on an engine do together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServeRole {
    /// It answers requests, and works on turns and loads.
    #[default]
    All,
    /// It answers requests; others work on turns and loads.
    Server,
    /// It works on turns and loads, and answers requests about its health only.
    Worker,
}

/// How assistants are served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServeSettings {
    /// Where the server listens. Without keys it listens to this machine only.
    #[schemars(with = "String")]
    pub address: SocketAddr,
    /// What this process does: `all`, or with `engine.url` also `server` (answers requests) or `worker` (works on turns and loads).
    pub role: ServeRole,
    /// Who may use it, by a name of your own; `ibid keys new` makes a key. Without any, whoever is on this machine.
    pub keys: BTreeMap<String, KeySettings>,
    /// Who else may use it: holders of an issuer's tokens.
    pub oidc: OidcSettings,
    /// The origins whose pages may use it in a browser, such as `https://desk.example`.
    pub origins: Vec<String>,
    /// How many requests each caller may make in a minute. Without it, they are not limited.
    pub per_minute: Option<NonZeroU32>,
    /// Whether it is written down who signs in, loads, deletes, changes, shares and exports, and who is refused: in
    /// `audit.jsonl` in the data folder.
    pub audit: bool,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 8123)),
            role: ServeRole::All,
            keys: BTreeMap::new(),
            oidc: OidcSettings::default(),
            origins: Vec::new(),
            per_minute: None,
            audit: true,
        }
    }
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeySettings {
    /// The SHA-256 of the key, in hexadecimal digits.
    pub sha256: String,
    /// Whose threads and documents its holder sees.
    #[schemars(with = "String")]
    pub tenant: Tenant,
    /// Only these sets of documents; empty means all of the tenant's.
    #[schemars(with = "Vec<String>")]
    pub corpora: Vec<Corpus>,
    /// With permission to see what has one of these labels.
    #[schemars(with = "Vec<String>")]
    pub labels: Vec<Label>,
    /// What its holder may do: `reader` asks, `editor` loads and deletes documents, too, `admin` makes keys and sees the
    /// threads of all others at the tenant.
    pub role: AccessRole,
    /// How many requests its holder may make in a minute, instead of `serve.per_minute`.
    pub per_minute: Option<NonZeroU32>,
}

impl Default for KeySettings {
    fn default() -> Self {
        Self {
            sha256: String::new(),
            tenant: Tenant::local(),
            corpora: Vec::new(),
            labels: Vec::new(),
            role: AccessRole::Editor,
            per_minute: None,
        }
    }
}

/// An issuer of tokens, by OpenID Connect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OidcSettings {
    /// Its address. Without it, there are no tokens.
    pub issuer: Option<String>,
    /// For whom its tokens must be.
    pub audience: String,
    /// The claim that names the tenant.
    pub tenant_claim: String,
    /// The claim that lists the corpora; a token without it sees all of the tenant's.
    pub corpora_claim: String,
    /// The claim that lists the labels.
    pub labels_claim: String,
    /// The claim that names what the holder may do: `reader`, `editor` or `admin`, or a list with one of them.
    pub role_claim: String,
    /// What holders of tokens without that claim may do.
    pub default_role: AccessRole,
}

impl Default for OidcSettings {
    fn default() -> Self {
        Self {
            issuer: None,
            audience: "ibid".to_owned(),
            tenant_claim: "tenant".to_owned(),
            corpora_claim: "corpora".to_owned(),
            labels_claim: "labels".to_owned(),
            role_claim: "role".to_owned(),
            default_role: AccessRole::Reader,
        }
    }
}
