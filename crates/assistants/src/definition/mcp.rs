//! Servers whose tools an assistant may use.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server that speaks the Model Context Protocol: a command that is run here, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// What it is called in the names of its tools.
    pub name: String,
    /// The command that runs it, with its arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// Variables of its environment. A command sees these, those of `pass_env`, and PATH, HOME and LANG.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The names of variables of ibid's own environment that it sees too.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// Its address.
    #[serde(default)]
    pub url: Option<String>,
    /// Headers of every request to that address.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The environment variable that holds the token for that address.
    #[serde(default)]
    pub token_env: Option<String>,
    /// Which of its tools; empty means all.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Whether its tools that can act, and not only read, are called without asking a person.
    #[serde(default)]
    pub without_consent: bool,
}
