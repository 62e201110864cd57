//! Whether each part works, and what the server is set up with.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibid_core::evidence::DocumentId;
use ibid_core::model::{Caller, Embedder, Grounding, Purpose, Reranker};
use ibid_core::{Scope, Tenant};
use ibid_engine::{Engine, EngineFile, ThreadFilter};
use ibid_knowledge::Store;
use ibid_models::Provider;
use schemars::JsonSchema;
use serde::Serialize;

use crate::assistants::AssistantRegistry;
use crate::live::LiveAssistants;
use crate::models::ModelCatalog;
use crate::settings::Settings;
use crate::store::{NO_PDFIUM, find_pdfium, recognition_languages};

const PULL: &str = "`ibid models pull` brings a model that runs here, and what it needs";
const NOT_RERANKED: &str = "nothing is reranked, which is fine";
const MEND_GROUNDING: &str =
    "mend `grounding` in ibid.toml, or take it out: the small model checks sentences, too";
const MEND_RERANKER: &str = "mend `rerank` in ibid.toml, or take it out: reranking is optional";

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
        checks.extend(self.models.providers().map(|provider| {
            let provider = provider.clone();
            HealthCheck::new(&format!("models of {}", provider.name()), true, move || {
                let provider = provider.clone();
                async move { provider_check(&provider).await }
            })
        }));
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
        type Look = fn(&Settings) -> CheckResult;
        let quick: [(&str, Look); 3] = [
            ("data folder", |settings| data_folder_check(&settings.data)),
            ("PDFs", pdf_check),
            ("scanned pages", recognition_check),
        ];
        checks.extend(quick.map(|(name, look)| {
            let settings = self.settings.clone();
            HealthCheck::new(name, false, move || {
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
            match engine.count_threads(&anybody(), ThreadFilter::default()).await {
                Ok(_) => CheckResult::fine(holds),
                Err(error) => CheckResult::wrong(error.to_string(), "see whether its file can be written"),
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

/// Whether the data folder can be written.
pub fn data_folder_check(path: &Path) -> CheckResult {
    let shown = path.display();
    if !path.exists() {
        return CheckResult::fine(format!("{shown} is not there yet; it is made when it is needed"));
    }
    let probe = path.join(format!(".doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, b"ibid").and_then(|()| std::fs::remove_file(&probe));
    match written {
        Ok(()) => CheckResult::fine(format!("{shown} can be written")),
        Err(error) => CheckResult::wrong(
            format!("{shown} cannot be written: {error}"),
            "give this user the right to write there, or set `data` to another folder",
        ),
    }
}

/// Whether the engine's file is sound, and what it holds.
pub fn engine_file_check(settings: &Settings) -> CheckResult {
    let path = settings.engine_file();
    let shown = path.display();
    if !path.exists() {
        return CheckResult::fine(format!(
            "{shown} is not there yet; it is made with the first conversation"
        ));
    }
    match EngineFile::at(&path).inspect() {
        Ok(report) if report.damage.is_empty() => CheckResult::fine(format!(
            "{shown} is sound: {} conversations, {} unfinished turns, {} KB, schema {}, {}",
            report.threads,
            report.unfinished,
            report.bytes / 1024,
            report.schema,
            if report.in_use { "in use by a running ibid" } else { "not in use" },
        )),
        Ok(report) => CheckResult::wrong(
            format!("{shown} is damaged: {}", report.damage.join("; ")),
            "stop ibid, keep a copy of the file, and restore it from a backup",
        ),
        Err(error) => CheckResult::wrong(
            crate::Error::from(error).chain(),
            "set `data` to another folder, or put the right file there",
        ),
    }
}

/// Whether PDFs can be read.
pub fn pdf_check(settings: &Settings) -> CheckResult {
    match find_pdfium(settings) {
        Some(path) if path.is_file() => CheckResult::fine(format!("PDFium at {}", path.display())),
        Some(path) => CheckResult::wrong(
            format!("{} is not there", path.display()),
            "set `ingest.pdfium` to the file libpdfium.so",
        ),
        None => CheckResult::missing(NO_PDFIUM),
    }
}

/// Whether scanned pages can be read.
pub fn recognition_check(settings: &Settings) -> CheckResult {
    match recognition_languages(settings) {
        Some(languages) => CheckResult::fine(format!("tesseract reads them in {languages}")),
        None => CheckResult::missing(
            "they are named in the ledger and not read; install tesseract-ocr and its languages to read them",
        ),
    }
}

/// Whether a provider answers.
pub async fn provider_check(provider: &Provider) -> CheckResult {
    match provider.models().await {
        Ok(models) => {
            let plural = if models.len() == 1 { "" } else { "s" };
            CheckResult::fine(format!("answers, and lists {} model{plural}", models.len()))
        }
        Err(error) => CheckResult::wrong(
            crate::Error::other(error).chain(),
            "check its address and its key, and that it is running",
        ),
    }
}

/// Whether the embedding model works.
pub async fn embedding_check(embedder: &dyn Embedder) -> CheckResult {
    let texts = ["What is the duty rate?", "¿Cuál es el arancel?"];
    match embedder.embed(&Caller::chat(Tenant::local()), Purpose::Query, &texts).await {
        Ok(vectors) => {
            let (dimensions, name) = (vectors.dimensions(), embedder.name());
            CheckResult::fine(format!("{name} runs, and gives vectors of {dimensions} dimensions"))
        }
        Err(error) => CheckResult::wrong(crate::Error::other(error).chain(), PULL),
    }
}

/// Whether the reranker works, if there is one.
pub async fn reranking_check(reranker: Option<&dyn Reranker>) -> CheckResult {
    let Some(reranker) = reranker else { return CheckResult::missing(NOT_RERANKED) };
    let texts = ["The rate is 2 %.", "Lamps give light."];
    match reranker.rerank(&Caller::chat(Tenant::local()), "What is the duty rate?", &texts).await {
        Ok(_) => CheckResult::fine(format!("{} runs", reranker.name())),
        Err(error) => CheckResult::wrong(crate::Error::other(error).chain(), MEND_RERANKER),
    }
}

/// Whether the model works that checks sentences against sources.
pub async fn grounding_check(grounding: &dyn Grounding) -> CheckResult {
    let pairs = [("The rate is 2 %.", "It has a rate.")];
    match grounding.support(&Caller::chat(Tenant::local()), &pairs).await {
        Ok(_) => CheckResult::fine(format!("{} runs", grounding.name())),
        Err(error) => CheckResult::wrong(crate::Error::other(error).chain(), MEND_GROUNDING),
    }
}
