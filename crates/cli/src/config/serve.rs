//! How assistants are served.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use ibid_core::{Corpus, Label, Tenant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How assistants are served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServeConfig {
    /// Where the server listens. Without keys it listens to this machine only.
    #[schemars(with = "String")]
    pub(crate) address: SocketAddr,
    /// Who may use it, by a name of your own; `ibid keys new` makes a key. Without any, whoever is on this machine.
    pub(crate) keys: BTreeMap<String, KeyConfig>,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 8123)), keys: BTreeMap::new() }
    }
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KeyConfig {
    /// The SHA-256 of the key, in hexadecimal digits.
    pub(crate) sha256: String,
    /// Whose threads and documents its holder sees.
    #[schemars(with = "String")]
    pub(crate) tenant: Tenant,
    /// Only these sets of documents; empty means all of the tenant's.
    #[schemars(with = "Vec<String>")]
    pub(crate) corpora: Vec<Corpus>,
    /// With permission to see what has one of these labels.
    #[schemars(with = "Vec<String>")]
    pub(crate) labels: Vec<Label>,
}

impl Default for KeyConfig {
    fn default() -> Self {
        Self { sha256: String::new(), tenant: Tenant::local(), corpora: Vec::new(), labels: Vec::new() }
    }
}
