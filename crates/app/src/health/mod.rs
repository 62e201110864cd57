//! Whether each part works, and what the server is set up with.

mod network;
mod parts;
mod providers;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibid_core::evidence::DocumentId;
use ibid_core::model::{Embedder, Grounding, Reranker};
use ibid_core::{Scope, Tenant};
use ibid_engine::Engine;
use ibid_knowledge::Store;
use schemars::JsonSchema;
use serde::Serialize;

use crate::assistants::AssistantRegistry;
use crate::live::LiveAssistants;
use crate::models::ModelCatalog;
use crate::settings::Settings;

pub(crate) use self::network::network_file_system;
pub(crate) use self::parts::ON_NETWORK;
pub use self::parts::{
    data_folder_check, disk_check, embedding_check, engine_file_check, grounding_check,
    outdated_runtime_check, pdf_check, provider_check, recognition_check, reranking_check, sandbox_check,
    set_aside_loads_check,
};

/// A part of the server that can be checked.
pub struct HealthCheck {
    /// The name of the part.
    pub name: String,
    /// Whether the server is not ready without it.
    pub vital: bool,
    /// Checks it.
    pub run: Box<dyn Fn() -> BoxFuture<'static, CheckResult> + Send + Sync>,
}

impl HealthCheck {
    fn new<F>(name: &str, vital: bool, run: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = CheckResult> + Send + 'static,
    {
        Self { name: name.to_owned(), vital, run: Box::new(move || Box::pin(run())) }
    }
}

/// What came of a check.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
#[schemars(rename = "Finding")]
pub enum CheckResult {
    /// It works.
    Fine {
        /// What is there.
        what: String,
    },
    /// It is not there, and can be done without.
    Missing {
        /// What that means.
        what: String,
    },
    /// It does not work.
    Wrong {
        /// What happened.
        what: String,
        /// What helps.
        help: String,
    },
}

impl CheckResult {
    /// It works, and this is there.
    pub fn fine(what: impl Into<String>) -> Self {
        Self::Fine { what: what.into() }
    }

    /// It is not there.
    pub fn missing(what: impl Into<String>) -> Self {
        Self::Missing { what: what.into() }
    }

    /// It does not work, and this helps.
    pub fn wrong(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Wrong { what: what.into(), help: help.into() }
    }
}

/// What a server is set up with, as it is shown to those who use it: nothing secret.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(rename = "Facts")]
pub struct ServerInfo {
    /// The models that may answer.
    pub models: Vec<ModelInfo>,
    /// What is limited, by the names of the settings.
    pub limits: BTreeMap<String, String>,
}

/// A model that may answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Model")]
pub struct ModelInfo {
    /// What it is called here.
    pub name: String,
    /// Who has it.
    pub provider: String,
    /// What it is called there.
    pub model: String,
    /// How many tokens it can read and write in one call.
    pub context: usize,
    /// What a million tokens that it reads cost, if that is known.
    pub input_price: Option<f64>,
    /// What a million tokens that it writes cost, if that is known.
    pub output_price: Option<f64>,
}

/// How many tokens a model takes: what its server told, and at most what is set.
fn context(set: Option<usize>, told: Option<usize>) -> usize {
    const USUAL: usize = 8192;
    match (set, told) {
        (Some(set), Some(told)) => set.min(told),
        (set, told) => set.or(told).unwrap_or(USUAL),
    }
}

impl ServerInfo {
    /// What the settings say, and the model that was found without them.
    pub(crate) fn of(settings: &Settings, models: &ModelCatalog) -> Self {
        let configured = settings.models.iter().map(|(name, model)| ModelInfo {
            name: name.clone(),
            provider: model.provider.clone(),
            model: model.model.clone(),
            context: context(model.context, models.window(name)),
            input_price: model.input_price,
            output_price: model.output_price,
        });
        let found = models.chat_in_use().map(|(provider, model)| ModelInfo {
            name: "answer".to_owned(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            context: context(None, models.window("answer")),
            input_price: None,
            output_price: None,
        });
        let mut limits = BTreeMap::from([
            ("ingest.largest_mb".to_owned(), settings.ingest.largest_mb.to_string()),
            ("ingest.at_once".to_owned(), settings.ingest.at_once.to_string()),
        ]);
        let mut limit = |name: String, value: Option<String>| {
            limits.insert(name, value.unwrap_or_else(|| "none".to_owned()));
        };
        limit("serve.per_minute".to_owned(), settings.serve.per_minute.map(|limit| limit.to_string()));
        limit(
            "budget.tokens_per_day".to_owned(),
            settings.budget.tokens_per_day.map(|limit| limit.to_string()),
        );
        for (name, provider) in &settings.providers {
            limit(format!("providers.{name}.concurrent"), Some(provider.concurrent.to_string()));
        }
        Self { models: configured.chain(found).collect(), limits }
    }
}

/// What is checked while a server runs.
pub(crate) struct Checked<'a> {
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) models: &'a ModelCatalog,
    pub(crate) assistants: &'a LiveAssistants,
    pub(crate) turns: &'a Arc<dyn Engine>,
    /// What there is besides, where documents are served.
    pub(crate) documents: Option<CheckedDocuments<'a>>,
    pub(crate) reranker: Option<Arc<dyn Reranker>>,
    pub(crate) grounding: Option<Arc<dyn Grounding>>,
}

/// What is checked of the documents.
#[derive(Clone, Copy)]
pub(crate) struct CheckedDocuments<'a> {
    pub(crate) loads: &'a Arc<dyn Engine>,
    pub(crate) store: &'a Arc<Store>,
    pub(crate) embedder: &'a Arc<dyn Embedder>,
}

impl Checked<'_> {
    /// One check for each part: what the server cannot do without, and what else `ibid doctor` would say.
    pub(crate) fn checks(self) -> Vec<HealthCheck> {
        let mut checks = vec![engine_check("turns", "conversations are kept", self.turns)];
        if let Some(CheckedDocuments { loads, store, .. }) = self.documents {
            checks.push(engine_check("loads", "documents can be loaded", loads));
            checks.push(store_check(store, self.settings.store_location()));
        }
        let assistants = self.assistants.clone();
        checks
            .push(HealthCheck::new("assistants", false, move || std::future::ready(able(&assistants.get()))));
        checks.extend(providers::checks(self.settings, self.models));
        if let Some(CheckedDocuments { embedder, .. }) = self.documents {
            let embedder = embedder.clone();
            checks.push(HealthCheck::new("embedding", false, move || {
                let embedder = embedder.clone();
                async move { embedding_check(embedder.as_ref()).await }
            }));
            let reranker = self.reranker;
            checks.push(HealthCheck::new("reranking", false, move || {
                let reranker = reranker.clone();
                async move { reranking_check(reranker.as_deref()).await }
            }));
        }
        if let Some(grounding) = self.grounding {
            checks.push(HealthCheck::new("grounding", false, move || {
                let grounding = grounding.clone();
                async move { grounding_check(grounding.as_ref()).await }
            }));
        }
        if self.documents.is_some() {
            let settings = self.settings.clone();
            checks.push(HealthCheck::new("sandbox", false, move || {
                let settings = settings.clone();
                async move { sandbox_check(&settings).await }
            }));
        }
        type Look = fn(&Settings) -> CheckResult;
        let quick: [(&str, bool, Look); 4] = [
            ("data folder", false, |settings| data_folder_check(&settings.data)),
            ("disk", true, |settings| disk_check(&settings.data)),
            ("PDFs", false, pdf_check),
            ("scanned pages", false, recognition_check),
        ];
        checks.extend(quick.map(|(name, vital, look)| {
            let settings = self.settings.clone();
            HealthCheck::new(name, vital, move || {
                let settings = settings.clone();
                async move {
                    let looked = tokio::task::spawn_blocking(move || look(&settings)).await;
                    looked.unwrap_or_else(|error| CheckResult::wrong(error.to_string(), "see the log"))
                }
            })
        }));
        checks
    }
}

fn anybody() -> Scope {
    Scope::of(Tenant::local())
}

fn engine_check(name: &str, holds: &'static str, engine: &Arc<dyn Engine>) -> HealthCheck {
    let engine = engine.clone();
    HealthCheck::new(name, true, move || {
        let engine = engine.clone();
        async move {
            match engine.check().await {
                Ok(()) => CheckResult::fine(holds),
                Err(error) => CheckResult::wrong(
                    ibid_core::error_chain(&error),
                    "see whether its file, or the database of `engine.url`, can be written",
                ),
            }
        }
    })
}

fn store_check(store: &Arc<Store>, location: String) -> HealthCheck {
    let store = store.clone();
    HealthCheck::new("store", true, move || {
        let (store, location) = (store.clone(), location.clone());
        async move {
            match store.document(&anybody(), &DocumentId(String::new())).await {
                Ok(_) => CheckResult::fine(format!("{location} can be read")),
                Err(error) => {
                    CheckResult::wrong(error.to_string(), "see whether its location can be reached")
                }
            }
        }
    })
}

/// Whether every assistant can answer.
fn able(assistants: &AssistantRegistry) -> CheckResult {
    let obstacles = assistants.obstacles();
    if obstacles.is_empty() {
        return CheckResult::fine(format!("{} can answer", assistants.ready().len()));
    }
    CheckResult::wrong(
        obstacles.join("\n"),
        "mend this; a change of an assistant's folder is seen at once, other settings with the next start",
    )
}
