//! What a provider is set up with.

use std::time::Duration;

use ibid_core::Secret;

use crate::governor::GovernorSettings;

/// One provider account.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// Its name in the configuration.
    pub name: String,
    /// Where its API begins, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// Its key, if it wants one.
    pub key: Option<Secret>,
    /// Where the key is taken from, in words, for errors.
    pub key_from: String,
    /// What the account may take.
    pub governor: GovernorSettings,
    /// How long it may take.
    pub limits: TimeLimits,
    /// Whether it runs on this machine or beside it: then a call that takes long is being worked on, and not sent again.
    pub is_near: bool,
}

impl ProviderSettings {
    /// A provider without a key and with default limits.
    pub fn new(name: &str, base_url: &str) -> Self {
        Self {
            name: name.to_owned(),
            base_url: base_url.to_owned(),
            key: None,
            key_from: format!("the environment variable that `providers.{name}.key_env` names"),
            governor: GovernorSettings::default(),
            limits: TimeLimits::default(),
            is_near: false,
        }
    }
}

/// How long a provider may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeLimits {
    /// To take a connection.
    pub connect: Duration,
    /// To begin its answer.
    pub first_token: Duration,
    /// From one piece of its answer to the next.
    pub between_tokens: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_token: Duration::from_secs(60),
            between_tokens: Duration::from_secs(30),
        }
    }
}

/// The provider cannot be used as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the provider `{name}` cannot be used: {reason}")]
pub struct InvalidProvider {
    pub(crate) name: String,
    pub(crate) reason: String,
}
