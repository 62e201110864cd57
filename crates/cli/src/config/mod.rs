//! The configuration: what can be set, and what it is set to.

mod duration;
mod knowledge;
mod known;
mod layers;
mod models;
mod reference;
mod serve;
mod tools;

use std::collections::BTreeMap;
use std::path::PathBuf;

use ibid_engine::LocalSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use duration::Span;
use knowledge::{IngestConfig, StoreConfig};
pub(crate) use layers::{Loaded, load};
use models::{BudgetConfig, EmbeddingConfig, OnnxConfig, RerankConfig};
pub(crate) use models::{HERE, KNOWN, ModelConfig, ProviderConfig, PullConfig};
pub(crate) use reference::reference;
pub(crate) use serve::{KeyConfig, ServeConfig};
use tools::ToolsConfig;

/// Everything that can be set. Each field says what it is for; the reference is made from this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The folder in which ibid keeps everything. It is made if it is not there.
    pub(crate) data: PathBuf,
    /// How turns are run.
    pub(crate) engine: EngineConfig,
    /// The accounts at providers of models, by a name of your own.
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// The chat models, by a name of your own.
    pub(crate) models: BTreeMap<String, ModelConfig>,
    /// The embedding model.
    pub(crate) embedding: EmbeddingConfig,
    /// The rerank model.
    pub(crate) rerank: RerankConfig,
    /// What models that run here need.
    pub(crate) onnx: OnnxConfig,
    /// Where models are fetched from.
    pub(crate) pull: PullConfig,
    /// What tenants may use.
    pub(crate) budget: BudgetConfig,
    /// Where documents are kept.
    pub(crate) store: StoreConfig,
    /// How documents are read and loaded.
    pub(crate) ingest: IngestConfig,
    /// The folder with assistants of your own.
    pub(crate) assistants: PathBuf,
    /// Tools that ask services elsewhere.
    pub(crate) tools: ToolsConfig,
    /// How assistants are served.
    pub(crate) serve: ServeConfig,
}

/// How turns are run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EngineConfig {
    /// How long the steps and events of an ended turn are kept. Messages are kept for good.
    pub(crate) retention: Span,
    /// How long a stopped step may take to give back what it has.
    pub(crate) stop_grace: Span,
    /// How long an event may wait for others before it is written and told. Longer is cheaper.
    pub(crate) event_delay: Span,
}

impl Default for Config {
    fn default() -> Self {
        let engine = LocalSettings::default();
        Self {
            data: PathBuf::from("ibid-data"),
            engine: EngineConfig {
                retention: Span(engine.retention),
                stop_grace: Span(engine.stop_grace),
                event_delay: Span(engine.event_delay),
            },
            providers: BTreeMap::new(),
            models: BTreeMap::new(),
            embedding: EmbeddingConfig::default(),
            rerank: RerankConfig::default(),
            onnx: OnnxConfig::default(),
            pull: PullConfig::default(),
            budget: BudgetConfig::default(),
            store: StoreConfig::default(),
            ingest: IngestConfig::default(),
            assistants: PathBuf::from("assistants"),
            tools: ToolsConfig::default(),
            serve: ServeConfig::default(),
        }
    }
}

impl Config {
    /// The file of the local engine.
    pub(crate) fn engine_file(&self) -> PathBuf {
        self.data.join("engine.db")
    }

    /// The file of the engine that loads documents: its runs are no conversations.
    pub(crate) fn ingestion_file(&self) -> PathBuf {
        self.data.join("ingestion.db")
    }

    /// Where documents are kept.
    pub(crate) fn store_place(&self) -> String {
        let folder = || self.data.join("store").to_string_lossy().into_owned();
        self.store.place.clone().unwrap_or_else(folder)
    }

    /// The folder of the models that were pulled.
    pub(crate) fn models_folder(&self) -> PathBuf {
        self.data.join("models")
    }

    /// How the local engine behaves.
    pub(crate) fn engine_settings(&self) -> LocalSettings {
        LocalSettings {
            retention: self.engine.retention.0,
            stop_grace: self.engine.stop_grace.0,
            event_delay: self.engine.event_delay.0,
            at_once: None,
        }
    }
}
