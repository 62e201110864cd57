//! Everything that can be set, as types. Where settings come from (files, environment, flags) is up to the program.

mod cells;
mod documents;
mod duration;
mod models;
mod serve;
mod sources;

use std::collections::BTreeMap;
use std::path::PathBuf;

use ibid_assistants::tools::ToolSettings;
use ibid_core::{SourceName, Tenant};
use ibid_engine::{PostgresSettings, RunSettings};
use ibid_telemetry::{LogSettings, TraceSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cells::CellSettings;
pub use documents::{IngestSettings, NamedDocuments, StoreSettings};
pub use duration::Span;
pub use models::{
    BudgetSettings, EmbeddingModelSettings, GroundingSettings, KNOWN_PROVIDERS, KnownProvider,
    LOCAL_PROVIDERS, ModelSettings, OnnxSettings, ProviderAccount, PullSettings, RerankSettings,
};
pub use serve::{KeySettings, OidcSettings, ServeRole, ServeSettings};
pub use sources::{SourcePathSettings, SourceSettings};

/// Everything that can be set. Each field says what it is for; the reference is made from this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The folder in which ibid keeps everything. It is made if it is not there.
    pub data: PathBuf,
    /// How turns are run.
    pub engine: EngineSettings,
    /// The accounts at providers of models, by a name of your own.
    pub providers: BTreeMap<String, ProviderAccount>,
    /// The chat models, by a name of your own.
    pub models: BTreeMap<String, ModelSettings>,
    /// The embedding model.
    pub embedding: EmbeddingModelSettings,
    /// The rerank model.
    pub rerank: RerankSettings,
    /// The model that checks sentences against sources.
    pub grounding: GroundingSettings,
    /// What models that run here need.
    pub onnx: OnnxSettings,
    /// Where models are fetched from.
    pub pull: PullSettings,
    /// Databases and stores side by side, by a name of your own: each tenant is in one of them. For what one database cannot bear.
    pub cells: BTreeMap<String, CellSettings>,
    /// What is different for single tenants.
    pub tenants: BTreeMap<Tenant, TenantSettings>,
    /// What tenants may use.
    pub budget: BudgetSettings,
    /// Where documents are kept.
    pub store: StoreSettings,
    /// How documents are read and loaded.
    pub ingest: IngestSettings,
    /// Places whose documents are kept in step, by a name of your own.
    pub sources: BTreeMap<SourceName, SourceSettings>,
    /// The folder with assistants of your own.
    pub assistants: PathBuf,
    /// Tools that ask services elsewhere.
    pub tools: ToolSettings,
    /// How assistants are served.
    pub serve: ServeSettings,
    /// What is logged, and how.
    pub log: LogSettings,
    /// Where traces are sent.
    pub traces: TraceSettings,
    /// What is counted for Prometheus.
    pub metrics: MetricsSettings,
}

/// What is counted for Prometheus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsSettings {
    /// Whether a server counts and tells at `/metrics`.
    pub enabled: bool,
    /// The names of the keys that may read it, on a server with keys: it tells of all tenants.
    pub keys: Vec<String>,
}

impl Default for MetricsSettings {
    fn default() -> Self {
        Self { enabled: true, keys: Vec::new() }
    }
}

/// How turns are run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// Where conversations and loads are kept so that several processes share them: `postgres://user@host/database`. Without it,
    /// in files of the data folder, for one process.
    pub url: Option<String>,
    /// The environment variable that holds the password for it, if it does not stand there.
    pub password_env: Option<String>,
    /// The address of the database itself, if `engine.url` leads to a pooler in transaction mode: there, processes tell each other
    /// what is new.
    pub listen_url: Option<String>,
    /// The most connections of a process to the database.
    pub connections: usize,
    /// How long a process may be silent before others take over what it works on.
    pub lease: Span,
    /// How long the steps and events of an ended turn are kept as they are. Messages are kept for good.
    pub retention: Span,
    /// How long they are kept in all, packed, so that it can be seen how an answer came about.
    pub trace_retention: Span,
    /// How long a conversation is kept after it was last used. Without it, for good.
    pub thread_retention: Option<Span>,
    /// How long a stopped step may take to give back what it has.
    pub stop_grace: Span,
    /// How long an event may wait for others before it is written and told. Longer is cheaper.
    pub event_delay: Span,
    /// How many processes may end without a word at the same step of a turn, before the turn is set aside as failed.
    pub crashes: u32,
}

/// What is different for one tenant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TenantSettings {
    /// How long its conversations are kept after they were last used, in place of `engine.thread_retention`.
    pub thread_retention: Option<Span>,
    /// Which of `cells` it is in. Without it, one that is the same on every machine.
    pub cell: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let (engine, postgres) = (RunSettings::default(), PostgresSettings::new(""));
        Self {
            data: PathBuf::from("ibid-data"),
            engine: EngineSettings {
                url: None,
                password_env: None,
                listen_url: None,
                connections: postgres.connections,
                lease: Span(postgres.lease),
                retention: Span(engine.retention),
                trace_retention: Span(engine.trace_retention),
                thread_retention: engine.thread_retention.map(Span),
                stop_grace: Span(engine.stop_grace),
                event_delay: Span(engine.event_delay),
                crashes: u32::try_from(engine.crashes).unwrap_or(u32::MAX),
            },
            providers: BTreeMap::new(),
            models: BTreeMap::new(),
            embedding: EmbeddingModelSettings::default(),
            rerank: RerankSettings::default(),
            grounding: GroundingSettings::default(),
            onnx: OnnxSettings::default(),
            pull: PullSettings::default(),
            budget: BudgetSettings::default(),
            cells: BTreeMap::new(),
            tenants: BTreeMap::new(),
            store: StoreSettings::default(),
            ingest: IngestSettings::default(),
            sources: BTreeMap::new(),
            assistants: PathBuf::from("assistants"),
            tools: ToolSettings::default(),
            serve: ServeSettings::default(),
            log: LogSettings::default(),
            traces: TraceSettings::default(),
            metrics: MetricsSettings::default(),
        }
    }
}

impl Settings {
    /// The file of the local engine.
    pub fn engine_file(&self) -> PathBuf {
        self.data.join("engine.db")
    }

    /// The file of the engine that loads documents: its runs are no conversations.
    pub fn ingestion_file(&self) -> PathBuf {
        self.data.join("ingestion.db")
    }

    /// Where documents are kept.
    pub fn store_location(&self) -> String {
        let folder = || self.data.join("store").to_string_lossy().into_owned();
        self.store.location.clone().unwrap_or_else(folder)
    }

    /// Where files lie for a moment; whoever makes some there removes what an earlier process left.
    pub fn scratch_folder(&self) -> PathBuf {
        self.data.join("scratch")
    }

    /// The folder of the models that were pulled.
    pub fn models_folder(&self) -> PathBuf {
        self.data.join("models")
    }

    /// How turns are run, wherever they are kept.
    pub fn engine_settings(&self) -> RunSettings {
        RunSettings {
            retention: self.engine.retention.0,
            trace_retention: self.engine.trace_retention.0,
            thread_retention: self.engine.thread_retention.map(|kept| kept.0),
            tenant_retention: self
                .tenants
                .iter()
                .filter_map(|(tenant, settings)| Some((tenant.clone(), settings.thread_retention?.0)))
                .collect(),
            stop_grace: self.engine.stop_grace.0,
            event_delay: self.engine.event_delay.0,
            crashes: self.engine.crashes.into(),
            ..RunSettings::default()
        }
    }
}
