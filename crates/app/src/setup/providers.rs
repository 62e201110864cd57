//! Who may have a chat model: servers on this machine, and accounts elsewhere.

use std::time::Duration;

use futures_util::future::join_all;
use ibid_models::Provider;
use serde::Serialize;

use crate::models::{listed_chat_models, provider_settings};
use crate::settings::{KNOWN_PROVIDERS, LOCAL_PROVIDERS, Settings};

/// So long a provider may take to list its models.
const PATIENCE: Duration = Duration::from_secs(3);
/// So many of its models are shown; who wants another one types its name.
const MOST_MODELS: usize = 500;

/// Somebody who may have a chat model.
#[derive(Debug, Clone, Serialize)]
pub struct SetupProvider {
    /// The name.
    pub name: String,
    /// Where its API begins.
    pub base_url: String,
    /// Whether it is a server on this machine.
    pub is_local: bool,
    /// The environment variable that holds its key, if it wants one.
    pub key_env: Option<String>,
    /// Whether there is a key.
    pub has_key: bool,
    /// Its chat models, if it was asked and answered.
    pub models: Vec<String>,
}

/// All who may have one. Those on this machine are asked, and those whose key is there.
pub(super) async fn find_providers(settings: &Settings) -> Vec<SetupProvider> {
    let own = settings.providers.keys().map(String::as_str);
    let own = own.filter(|name| !KNOWN_PROVIDERS.iter().any(|known| known.name == *name));
    let local = LOCAL_PROVIDERS.into_iter();
    let remote =
        KNOWN_PROVIDERS.iter().map(|known| known.name).filter(|name| !LOCAL_PROVIDERS.contains(name));
    let found = join_all(local.chain(own).chain(remote).map(|name| find_provider(settings, name))).await;
    found.into_iter().flatten().collect()
}

async fn find_provider(settings: &Settings, name: &str) -> Option<SetupProvider> {
    let account = provider_settings(settings, name).ok()?;
    let known = KNOWN_PROVIDERS.iter().find(|known| known.name == name);
    let given = settings.providers.get(name).and_then(|given| given.key_env.as_deref());
    let key_env = given.or(known.and_then(|known| known.key_env)).map(str::to_owned);
    let (base_url, has_key) = (account.base_url.clone(), account.key.is_some());
    let mut models = Vec::new();
    if (has_key || key_env.is_none())
        && let Ok(provider) = Provider::new(account, None)
    {
        models = listed_chat_models(&provider, PATIENCE).await;
        models.sort_unstable();
        models.truncate(MOST_MODELS);
    }
    Some(SetupProvider {
        name: name.to_owned(),
        base_url,
        is_local: LOCAL_PROVIDERS.contains(&name),
        key_env,
        has_key,
        models,
    })
}
