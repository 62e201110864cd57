//! The models: providers, chat, embedding and rerank models, made from the settings once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::model::{Caller, Day, Embedder, Grounding, Reranker, Spending, SpendingError, TokenPrices};
use ibid_core::{Secret, Tenant};
use ibid_models::pull;
use ibid_models::{
    Budget, CachedEmbedder, Card, Chat, ChatSettings, EmbeddingSettings, LocalEmbedder, LocalGrounding,
    LocalReranker, MemorySpending, ModelKind, Provider, ProviderSettings, RemoteChat, RemoteEmbedder,
    RemoteGrounding, RemoteReranker, Runtime, Tokenizer, WindowSource,
};
use tokio::sync::OnceCell;
use url::{Host, Url};

use crate::error::{DoingExt, Error};
use crate::nearest::hint;
use crate::settings::{
    GroundingSettings, KNOWN_PROVIDERS, LOCAL_PROVIDERS, ModelSettings, ProviderAccount, Settings,
};

/// What helps where there is no embedding model.
pub const NO_EMBEDDING: &str = "there is no embedding model: `ibid models pull` brings one that runs here (135 MB); \
                            or name one with `embedding.provider` and `embedding.model`";

/// What helps where there is no chat model.
const NO_CHAT: &str = "there is no chat model: add one to ibid.toml, such as\n\n  [models.answer]\n  provider = \"openai\"\n  \
                       model = \"gpt-4o-mini\"\n\nor start Ollama, llama.cpp, vLLM or LM Studio on this machine, or set OPENAI_API_KEY";
/// The provider that is used if there is a key for it and no other model, and its model.
const FALLBACK: (&str, &str) = ("openai", "gpt-4o-mini");
/// So long a model server on this machine may take to say what it has.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the configuration says about models, ready to be used.
pub struct ModelCatalog {
    settings: Arc<Settings>,
    providers: BTreeMap<String, Arc<Provider>>,
    /// What tenants may use, and where it is noted what they do.
    budget: Option<Arc<Budget>>,
    spending: Arc<KeptSpending>,
    /// A provider that nobody configured and one of its models, once they were looked for.
    found: OnceCell<(Arc<Provider>, String)>,
    /// What servers told of their windows, by the names of the models.
    windows: Mutex<BTreeMap<String, usize>>,
}

/// ONNX Runtime, from where the settings say or where it is usually found.
pub(crate) fn find_onnx_runtime(settings: &Settings) -> Option<PathBuf> {
    let named = || std::env::var_os("ORT_DYLIB_PATH").map(PathBuf::from).filter(|path| path.is_file());
    let found = settings.onnx.library.clone().or_else(named);
    found.or_else(|| pull::ONNX_RUNTIME.find(&settings.models_folder()))
}

impl ModelCatalog {
    /// Makes every provider that is configured or used. What tenants use is kept if [`ModelCatalog::keep_spending`] says where.
    ///
    /// # Errors
    /// Fails when the settings of a provider cannot be used.
    pub fn new(settings: Arc<Settings>) -> Result<Self, Error> {
        let config = &*settings;
        let spending = Arc::new(KeptSpending::default());
        let tokens_per_day = config.budget.tokens_per_day;
        let budget = tokens_per_day.map(|tokens| Budget::new(tokens, spending.clone()));
        let used = config.models.values().map(|model| model.provider.as_str());
        let named = [&config.embedding.provider, &config.rerank.provider, &config.grounding.provider];
        let named = named.into_iter().flatten().map(String::as_str);
        let mut providers = BTreeMap::new();
        for name in config.providers.keys().map(String::as_str).chain(used).chain(named) {
            if !name.is_empty() && !providers.contains_key(name) {
                providers.insert(
                    name.to_owned(),
                    Provider::new(provider_settings(config, name)?, budget.clone()).map_err(Error::other)?,
                );
            }
        }
        Ok(Self {
            settings: settings.clone(),
            providers,
            budget,
            spending,
            found: OnceCell::new(),
            windows: Mutex::default(),
        })
    }

    /// Keeps what tenants use from now on.
    pub fn keep_spending(&self, kept: Arc<dyn Spending>) {
        // Who said it first has said it.
        let _ = self.spending.kept.set(kept);
    }

    /// The providers that are configured or used.
    pub fn providers(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.providers.values()
    }

    /// The providers whose accounts other machines may use, too: those that are not on this machine.
    pub(crate) fn shared_providers(&self) -> Vec<Arc<Provider>> {
        let is_here = |name: &str| {
            let settings = provider_settings(&self.settings, name);
            settings.is_ok_and(|settings| is_on_this_machine(&settings.base_url))
        };
        self.providers.values().filter(|provider| !is_here(provider.name())).cloned().collect()
    }

    /// A chat model with its chain of fallbacks.
    ///
    /// # Errors
    /// Fails when there is no such model, or when its settings cannot be used.
    pub fn chat(&self, name: &str) -> Result<Chat, Error> {
        let first = self.remote_chat(name)?;
        let fallbacks = self.settings.models[name].fallback.iter().map(|name| self.remote_chat(name));
        let fallbacks = fallbacks.collect::<Result<_, Error>>();
        Ok(Chat::new(first, fallbacks.doing(|| format!("in `models.{name}.fallback`"))?))
    }

    /// A chat model that has been asked for its window.
    async fn learned(&self, name: &str) -> Result<Chat, Error> {
        let chat = self.chat(name)?;
        chat.first().learn_window().await;
        if let Some(window) = chat.first().told_window() {
            self.windows.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), window);
        }
        Ok(chat)
    }

    /// How many tokens a model takes at once, as its server told.
    pub fn window(&self, name: &str) -> Option<usize> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    /// The model of a role: the one that is named, else the one that has the name of the role, else the only one that is
    /// configured, else one that is found.
    ///
    /// # Errors
    /// Fails when there is none, or when there are several.
    pub async fn chat_of(&self, role: &str, named: Option<&str>) -> Result<Chat, Error> {
        let models = &self.settings.models;
        if let Some(name) = named.or(models.contains_key(role).then_some(role)) {
            return self.learned(name).await;
        }
        let mut names = models.keys();
        match (names.next(), names.next()) {
            (Some(only), None) => self.learned(only).await,
            (Some(_), Some(_)) => {
                let names: Vec<&str> = models.keys().map(String::as_str).collect();
                Err(Error::Settings(format!(
                    "which model answers? There are {}: call one of them `{role}`, or name it in the assistant",
                    names.join(", ")
                )))
            }
            (None, _) => self.chat_found(role).await,
        }
    }

    /// The first chat model of a server on this machine, at the usual ports, or else of a provider whose key is there. All
    /// who use it share its account.
    async fn chat_found(&self, role: &str) -> Result<Chat, Error> {
        let found = self.found.get_or_try_init(|| async {
            for name in LOCAL_PROVIDERS {
                let provider = self.known(name)?;
                if let Some(model) = listed_chat_models(&provider, PATIENCE).await.into_iter().min() {
                    return Ok((provider, model));
                }
            }
            let (name, model) = FALLBACK;
            if provider_settings(&self.settings, name)?.key.is_none() {
                return Err(Error::Missing(NO_CHAT.to_owned()));
            }
            Ok((self.known(name)?, model.to_owned()))
        });
        let (provider, model) = found.await?;
        let mut settings = ChatSettings::new(role, model);
        if LOCAL_PROVIDERS.contains(&provider.name()) {
            settings.window = WindowSource::Server;
        }
        let chat = Chat::new(RemoteChat::new(provider.clone(), settings), Vec::new());
        chat.first().learn_window().await;
        if let Some(window) = chat.first().told_window() {
            self.windows.lock().unwrap_or_else(PoisonError::into_inner).insert(role.to_owned(), window);
        }
        Ok(chat)
    }

    /// A provider by name, the same for all who use it.
    fn known(&self, name: &str) -> Result<Arc<Provider>, Error> {
        match self.providers.get(name) {
            Some(provider) => Ok(provider.clone()),
            None => Provider::new(provider_settings(&self.settings, name)?, self.budget.clone())
                .map_err(Error::other),
        }
    }

    /// The model that was found without being configured, and who has it.
    pub fn chat_in_use(&self) -> Option<(&str, &str)> {
        self.found.get().map(|(provider, model)| (provider.name(), model.as_str()))
    }

    /// The embedding model: the one that is configured, else one that was pulled, else one that a provider has, if
    /// there is any. Finding out how long its vectors are is a call on the caller's behalf.
    ///
    /// # Errors
    /// Fails when its settings cannot be used, or when it does not run.
    pub async fn embedder(&self, caller: &Caller) -> Result<Option<Arc<dyn Embedder>>, Error> {
        let config = &self.settings.embedding;
        let settings = EmbeddingSettings {
            query_prefix: config.query_prefix.clone(),
            passage_prefix: config.passage_prefix.clone(),
            batch: config.batch,
            send_dimensions: config.dimensions.is_some(),
        };
        let inner: Arc<dyn Embedder> = if let Some(path) = &config.path {
            Arc::new(
                LocalEmbedder::load(&self.runtime()?, path, self.settings.onnx.threads)
                    .map_err(Error::other)?,
            )
        } else if let Some(provider) = &config.provider {
            let provider = self.provider(provider)?;
            let Some(model) = &config.model else {
                let missing = "`embedding.provider` is set, but `embedding.model` is not";
                return Err(Error::Settings(missing.to_owned()));
            };
            match config.dimensions {
                Some(dimensions) => Arc::new(RemoteEmbedder::new(provider, model, dimensions, settings)),
                None => Arc::new(
                    RemoteEmbedder::found(caller, provider, model, settings).await.map_err(Error::other)?,
                ),
            }
        } else if let Some(folder) = self.pulled(ModelKind::Embedding) {
            Arc::new(
                LocalEmbedder::load(&self.runtime()?, &folder, self.settings.onnx.threads)
                    .map_err(Error::other)?,
            )
        } else {
            let Some((provider, model)) = self.embedding_of_a_provider().await else { return Ok(None) };
            Arc::new(RemoteEmbedder::found(caller, provider, &model, settings).await.map_err(Error::other)?)
        };
        Ok(Some(Arc::new(CachedEmbedder::new(inner, config.cache))))
    }

    /// Whether there is an embedding model. It is not loaded for that.
    pub async fn has_embedding(&self) -> bool {
        let config = &self.settings.embedding;
        config.path.is_some()
            || config.provider.is_some()
            || self.pulled(ModelKind::Embedding).is_some()
            || self.embedding_of_a_provider().await.is_some()
    }

    /// The rerank model, if one is configured.
    ///
    /// # Errors
    /// Fails when its settings cannot be used, or when it does not run.
    pub fn reranker(&self) -> Result<Option<Arc<dyn Reranker>>, Error> {
        let config = &self.settings.rerank;
        if let Some(path) = &config.path {
            let reranker = LocalReranker::load(&self.runtime()?, path, self.settings.onnx.threads);
            return Ok(Some(Arc::new(reranker.map_err(Error::other)?)));
        }
        let Some(provider) = &config.provider else { return Ok(None) };
        let Some(model) = &config.model else {
            return Err(Error::Settings("`rerank.provider` is set, but `rerank.model` is not".to_owned()));
        };
        Ok(Some(Arc::new(RemoteReranker::new(self.provider(provider)?, model, config.form))))
    }

    /// The model that checks sentences against sources, if one is configured.
    ///
    /// # Errors
    /// Fails when its settings cannot be used, or when it does not run.
    pub fn grounding(&self) -> Result<Option<Arc<dyn Grounding>>, Error> {
        let GroundingSettings { path, provider, supports } = &self.settings.grounding;
        if let Some(path) = path {
            let grounding = LocalGrounding::load(&self.runtime()?, path, self.settings.onnx.threads);
            return Ok(Some(Arc::new(grounding.map_err(Error::other)?)));
        }
        let Some(provider) = provider else { return Ok(None) };
        Ok(Some(Arc::new(RemoteGrounding::new(self.provider(provider)?, supports))))
    }

    /// ONNX Runtime, from where the configuration says or where it is usually found.
    ///
    /// # Errors
    /// Fails when it is not there.
    pub fn runtime(&self) -> Result<Runtime, Error> {
        Runtime::load(&self.library()?).map_err(Error::other)
    }

    fn library(&self) -> Result<PathBuf, Error> {
        find_onnx_runtime(&self.settings).ok_or_else(|| {
            Error::Missing(
                "ONNX Runtime, which models need that run here, is not there: `ibid models pull` brings it; \
                 or set `onnx.library` to the file libonnxruntime.so"
                    .to_owned(),
            )
        })
    }

    /// A model of a kind that was pulled, the first by name.
    fn pulled(&self, kind: ModelKind) -> Option<PathBuf> {
        pulled_models(&self.settings)
            .into_iter()
            .find(|(_, card)| card.kind == kind)
            .map(|(folder, _)| folder)
    }

    /// The first provider that lists an embedding model. Those that cannot be asked are passed over.
    async fn embedding_of_a_provider(&self) -> Option<(Arc<Provider>, String)> {
        for provider in self.providers.values() {
            let models = provider.models().await.unwrap_or_default();
            // The first by name, so that it is the same one at the next start.
            let embedding = models.into_iter().filter(|model| model.to_lowercase().contains("embed")).min();
            if let Some(model) = embedding {
                return Some((provider.clone(), model));
            }
        }
        None
    }

    fn remote_chat(&self, name: &str) -> Result<Arc<RemoteChat>, Error> {
        let Some(model) = self.settings.models.get(name) else {
            let hint = hint(name, self.settings.models.keys().map(String::as_str));
            let hint = if self.settings.models.is_empty() {
                "none is configured: add [models.NAME] to ibid.toml"
            } else {
                &hint
            };
            return Err(Error::Unknown(format!("there is no model `{name}`; {hint}")));
        };
        let provider = self.provider(&model.provider).doing(|| format!("in `models.{name}`"))?;
        let mut settings = chat_settings(name, model)?;
        // Those that many share tell no window, and need not be asked.
        if KNOWN_PROVIDERS.iter().any(|known| known.name == model.provider && known.key_env.is_some()) {
            settings.window = WindowSource::Settings;
        }
        Ok(RemoteChat::new(provider, settings))
    }

    fn provider(&self, name: &str) -> Result<Arc<Provider>, Error> {
        if name.is_empty() {
            return Err(Error::Settings("no `provider` is named".to_owned()));
        }
        let provider = self.providers.get(name).cloned();
        provider.ok_or_else(|| Error::Unknown(format!("there is no provider `{name}`")))
    }
}

/// The chat models of a provider; none if it does not list them in time.
pub(crate) async fn listed_chat_models(provider: &Provider, patience: Duration) -> Vec<String> {
    let listed = tokio::time::timeout(patience, provider.models()).await;
    let listed = listed.ok().and_then(Result::ok).unwrap_or_default();
    listed.into_iter().filter(|model| !model.to_lowercase().contains("embed")).collect()
}

/// What tenants use of models: kept by an engine, once there is one. Models are there before it.
#[derive(Default)]
struct KeptSpending {
    memory: MemorySpending,
    kept: OnceLock<Arc<dyn Spending>>,
}

impl KeptSpending {
    fn store(&self) -> &dyn Spending {
        self.kept.get().map_or(&self.memory, |kept| &**kept)
    }
}

#[async_trait]
impl Spending for KeptSpending {
    async fn spent(&self, tenant: &Tenant, day: Day) -> Result<u64, SpendingError> {
        self.store().spent(tenant, day).await
    }

    async fn add(&self, tenant: &Tenant, day: Day, tokens: u64) -> Result<(), SpendingError> {
        self.store().add(tenant, day, tokens).await
    }
}

/// The models that were pulled, with their cards, by name.
pub fn pulled_models(config: &Settings) -> Vec<(PathBuf, Card)> {
    let folders =
        std::fs::read_dir(config.models_folder()).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> =
        folders.filter_map(|folder| Card::read(&folder).ok().map(|card| (folder, card))).collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

fn chat_settings(name: &str, model: &ModelSettings) -> Result<ChatSettings, Error> {
    if model.model.is_empty() {
        let missing =
            format!("`models.{name}.model` is not set; it is the model's name at `{}`", model.provider);
        return Err(Error::Settings(missing));
    }
    let mut settings = ChatSettings::new(name, &model.model);
    settings.window = if model.context.is_some() { WindowSource::ServerAtMost } else { WindowSource::Server };
    settings.context_tokens = model.context.unwrap_or(settings.context_tokens);
    settings.max_output_tokens = model.max_output;
    settings.tools = model.tools;
    settings.schema = model.schema;
    settings.prices = TokenPrices::known(model.input_price, model.output_price);
    settings.extra = model.extra.clone().into_iter().collect();
    if let Some(tokenizer) = &model.tokenizer {
        settings.tokenizer = Tokenizer::named(tokenizer).doing(|| format!("in `models.{name}.tokenizer`"))?;
    }
    Ok(settings)
}

pub(crate) fn provider_settings(config: &Settings, name: &str) -> Result<ProviderSettings, Error> {
    let known = KNOWN_PROVIDERS.iter().find(|known| known.name == name);
    let default = ProviderAccount::default();
    let given = config.providers.get(name).unwrap_or(&default);
    let base_url = given.base_url.as_deref().or(known.map(|known| known.base_url)).ok_or_else(|| {
        let names = KNOWN_PROVIDERS.iter().map(|known| known.name).chain(config.providers.keys().map(String::as_str));
        let hint = hint(name, names.collect::<Vec<_>>());
        Error::Settings(format!(
            "the provider `{name}` has no address: set `providers.{name}.base_url`, or use one that is known; {hint}"
        ))
    })?;
    let mut settings = ProviderSettings::new(name, base_url);
    let variable = given.key_env.as_deref().or(known.and_then(|known| known.key_env));
    if let Some(file) = &given.key_file {
        let shown = file.display();
        let key = std::fs::read_to_string(file).doing(|| {
            format!("the key of `{name}` cannot be read from {shown} (`providers.{name}.key_file`)")
        })?;
        settings.key = Some(Secret::new(&key));
        settings.key_from = format!("the file {shown}");
    } else if let Some(variable) = variable {
        settings.key = std::env::var(variable).ok().map(|key| Secret::new(&key));
        settings.key_from = format!("the environment variable {variable}");
    }
    settings.is_near = is_near(base_url);
    settings.governor = given.governor(settings.is_near);
    settings.limits = given.limits(settings.is_near);
    Ok(settings)
}

fn is_on_this_machine(base_url: &str) -> bool {
    Url::parse(base_url).is_ok_and(|url| match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    })
}

/// Whether an address is on this machine, or on a network that only those beside it reach.
fn is_near(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else { return false };
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_private() || address.is_link_local(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unique_local(),
        // A name without a dot is one of the own network.
        Some(Host::Domain(name)) => {
            !name.contains('.') || name.ends_with(".local") || name.ends_with(".internal")
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_near;

    #[test]
    fn a_server_on_this_machine_or_beside_it_is_near() {
        for near in
            ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://192.168.1.7/v1", "http://gpu:8000/v1"]
        {
            assert!(is_near(near), "{near}");
        }
        for far in ["https://api.openai.com/v1", "http://8.8.8.8/v1", "nonsense"] {
            assert!(!is_near(far), "{far}");
        }
    }
}
