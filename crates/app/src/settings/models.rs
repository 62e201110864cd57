//! The settings of models: providers, chat models, embedding, reranking, and what runs here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ibid_models::pull::Sources;
use ibid_models::{GovernorSettings, RerankForm, SchemaUse, TimeLimits, ToolUse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Span;

/// One provider account. Those that ibid knows by name need no entry: openai, groq, mistral, deepseek, openrouter,
/// ollama, llamacpp, vllm and lmstudio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderAccount {
    /// Where its API begins. Anything that speaks OpenAI's chat completions will do.
    pub base_url: Option<String>,
    /// The environment variable that holds its key; none if it wants no key.
    pub key_env: Option<String>,
    /// The file that holds its key, and nothing else. It is read at the start, and counts more than a variable.
    pub key_file: Option<PathBuf>,
    /// How many requests may be under way at once.
    pub concurrent: usize,
    /// How many requests may be sent in a minute. Without it, what the provider refuses is the limit.
    pub requests_per_minute: Option<u32>,
    /// How many tokens may be read and written in a minute.
    pub tokens_per_minute: Option<u64>,
    /// How often a request is tried that fails in a way that may pass.
    pub attempts: u32,
    /// How long it may take to connect.
    pub connect: Span,
    /// How long it may take until an answer begins. Without it a minute, and 15 minutes on this machine or a private address,
    /// where a call that takes long is being worked on and not sent again.
    pub first_token: Option<Span>,
    /// How long it may take from one piece of an answer to the next.
    pub between_tokens: Span,
    /// How long a person waits until an answer begins, all attempts included. Without it two minutes, and 16 minutes on this
    /// machine or a private address.
    pub chat_wait: Option<Span>,
    /// How long the reading of documents waits, all attempts included.
    pub ingestion_wait: Span,
    /// How long it waits for room before the next model of a chain is asked.
    pub patience: Span,
    /// After how many failures in a row it is left alone.
    pub breaker_failures: u32,
    /// For how long.
    pub breaker_pause: Span,
}

impl Default for ProviderAccount {
    fn default() -> Self {
        let (governor, limits) = (GovernorSettings::default(), TimeLimits::default());
        Self {
            base_url: None,
            key_env: None,
            key_file: None,
            concurrent: governor.concurrent,
            requests_per_minute: governor.requests_per_minute,
            tokens_per_minute: governor.tokens_per_minute,
            attempts: governor.attempts,
            connect: Span(limits.connect),
            first_token: None,
            between_tokens: Span(limits.between_tokens),
            chat_wait: None,
            ingestion_wait: Span(governor.ingestion_wait),
            patience: Span(governor.patience),
            breaker_failures: governor.breaker_failures,
            breaker_pause: Span(governor.breaker_pause),
        }
    }
}

/// How long a model server on this machine, or beside it, may read before it begins to answer.
const NEAR_FIRST_TOKEN: Duration = Duration::from_secs(15 * 60);

impl ProviderAccount {
    /// The settings of its governor.
    pub fn governor(&self, is_near: bool) -> GovernorSettings {
        let usual = GovernorSettings::default();
        let chat_wait = if is_near { NEAR_FIRST_TOKEN + usual.chat_wait / 2 } else { usual.chat_wait };
        GovernorSettings {
            concurrent: self.concurrent,
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            attempts: self.attempts,
            breaker_failures: self.breaker_failures,
            breaker_pause: self.breaker_pause.0,
            chat_wait: self.chat_wait.map_or(chat_wait, |span| span.0),
            ingestion_wait: self.ingestion_wait.0,
            patience: self.patience.0,
            ..usual
        }
    }

    /// Its time limits.
    pub fn limits(&self, is_near: bool) -> TimeLimits {
        let usual = TimeLimits::default();
        let first_token = if is_near { NEAR_FIRST_TOKEN } else { usual.first_token };
        TimeLimits {
            connect: self.connect.0,
            first_token: self.first_token.map_or(first_token, |span| span.0),
            between_tokens: self.between_tokens.0,
        }
    }
}

/// One chat model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSettings {
    /// Whose model it is: a name under `providers`, or one that ibid knows.
    pub provider: String,
    /// Its name there.
    pub model: String,
    /// How many tokens it can read and write in one call. Without it, what its server tells (llama.cpp, Ollama, vLLM, LM
    /// Studio), else 8192. What a server tells is never exceeded.
    pub context: Option<usize>,
    /// How many tokens it may write; what the provider allows if not set.
    pub max_output: Option<usize>,
    /// What a million tokens that it reads cost, in US dollars.
    pub input_price: Option<f64>,
    /// What a million tokens that it writes cost, in US dollars.
    pub output_price: Option<f64>,
    /// The models to ask in its place when it cannot answer, in their order.
    pub fallback: Vec<String>,
    /// How it calls tools; found out if not set.
    pub tools: Option<ToolUse>,
    /// How it is held to a form; found out if not set.
    pub schema: Option<SchemaUse>,
    /// How its tokens are counted: o200k, cl100k, estimate, or the path of a tokenizer.json; by its name if not set.
    pub tokenizer: Option<String>,
    /// Further fields of each request, such as { reasoning_effort = "low" }.
    pub extra: BTreeMap<String, serde_json::Value>,
}

/// The model that gives texts their vectors. Without any of this, one that was pulled is used, else one of a
/// provider that has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EmbeddingModelSettings {
    /// The folder of a model that runs here.
    pub path: Option<PathBuf>,
    /// Whose model it is, if it does not run here.
    pub provider: Option<String>,
    /// Its name there.
    pub model: Option<String>,
    /// How long its vectors are; found out if not set.
    pub dimensions: Option<usize>,
    /// What stands before a text that is searched with; for models of a provider.
    pub query_prefix: String,
    /// What stands before a text that is to be found; for models of a provider.
    pub passage_prefix: String,
    /// How many texts go in one request to a provider.
    pub batch: usize,
    /// How many questions are remembered with their vectors.
    pub cache: usize,
}

impl Default for EmbeddingModelSettings {
    fn default() -> Self {
        Self {
            path: None,
            provider: None,
            model: None,
            dimensions: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            batch: 32,
            cache: 10_000,
        }
    }
}

/// The model that reads question and passage together. Without any of this, nothing is reranked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RerankSettings {
    /// The folder of a model that runs here.
    pub path: Option<PathBuf>,
    /// Whose model it is, if it does not run here.
    pub provider: Option<String>,
    /// Its name there.
    pub model: Option<String>,
    /// How its requests are written: cohere (Cohere, Jina, vLLM, llama.cpp) or tei.
    pub form: RerankForm,
}

/// The model that says whether a source supports a sentence, for the checks of corrective graphs. Without any of this, the small model
/// says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GroundingSettings {
    /// The folder of a model that runs here: a classifier of entailment.
    pub path: Option<PathBuf>,
    /// Whose model it is, if it does not run here: a server of classifiers, as Text Embeddings Inference is one.
    pub provider: Option<String>,
    /// The label of the class for "supported" there.
    pub supports: String,
}

impl Default for GroundingSettings {
    fn default() -> Self {
        Self { path: None, provider: None, supports: "entailment".to_owned() }
    }
}

/// What models that run here need.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OnnxSettings {
    /// The library of ONNX Runtime (libonnxruntime.so). Looked for if not set: where ORT_DYLIB_PATH says, among the
    /// models, and where the system keeps libraries.
    pub library: Option<PathBuf>,
    /// How many threads a model uses; as many as the machine has if not set.
    pub threads: Option<usize>,
}

/// Where `ibid models pull` gets models and libraries from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PullSettings {
    /// The model hub, or a mirror of it.
    pub hub: String,
    /// Where the releases of ONNX Runtime are, or a mirror of them.
    pub onnx_releases: String,
    /// Where the releases of PDFium are, or a mirror of them.
    pub pdfium_releases: String,
}

impl Default for PullSettings {
    fn default() -> Self {
        let Sources { hub, onnx_releases, pdfium_releases } = Sources::default();
        Self { hub, onnx_releases, pdfium_releases }
    }
}

/// What tenants may use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetSettings {
    /// How many tokens each tenant may use in a day (UTC), over all providers; no limit if not set.
    pub tokens_per_day: Option<u64>,
}

/// A provider that ibid knows by name.
pub struct KnownProvider {
    /// Its name.
    pub name: &'static str,
    /// Where its API begins.
    pub base_url: &'static str,
    /// The environment variable that holds its key.
    pub key_env: Option<&'static str>,
}

/// The providers that need no entry.
pub const KNOWN_PROVIDERS: [KnownProvider; 9] = [
    KnownProvider { name: "openai", base_url: "https://api.openai.com/v1", key_env: Some("OPENAI_API_KEY") },
    KnownProvider { name: "groq", base_url: "https://api.groq.com/openai/v1", key_env: Some("GROQ_API_KEY") },
    KnownProvider {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        key_env: Some("MISTRAL_API_KEY"),
    },
    KnownProvider {
        name: "deepseek",
        base_url: "https://api.deepseek.com/v1",
        key_env: Some("DEEPSEEK_API_KEY"),
    },
    KnownProvider {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        key_env: Some("OPENROUTER_API_KEY"),
    },
    KnownProvider { name: "ollama", base_url: "http://127.0.0.1:11434/v1", key_env: None },
    KnownProvider { name: "llamacpp", base_url: "http://127.0.0.1:8080/v1", key_env: None },
    KnownProvider { name: "vllm", base_url: "http://127.0.0.1:8000/v1", key_env: None },
    KnownProvider { name: "lmstudio", base_url: "http://127.0.0.1:1234/v1", key_env: None },
];

/// The known providers that run on a machine of one's own, in the order in which they are looked for.
pub const LOCAL_PROVIDERS: [&str; 4] = ["ollama", "llamacpp", "vllm", "lmstudio"];
