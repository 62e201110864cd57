//! Models behind the ports of `ibid-core`: chat over any OpenAI-compatible server, embeddings and reranking in
//! this process or over HTTP, and one governor over every provider account.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use ibid_core::Tenant;
//! use ibid_core::model::{Caller, ChatRequest, Prompt, ask};
//! use ibid_models::{Chat, ChatSettings, Provider, ProviderSettings, RemoteChat};
//!
//! let provider = Provider::new(ProviderSettings::new("mine", "http://127.0.0.1:8080/v1"), None)?;
//! let model = Chat::new(RemoteChat::new(provider, ChatSettings::new("small", "qwen2.5")), Vec::new());
//! let question = Prompt::User("What is the duty rate for LED lamps?".to_owned());
//! let reply = ask(&model, ChatRequest::new(Caller::chat(Tenant::local()), vec![question])).await?;
//! # let _ = reply.text;
//! # Ok(())
//! # }
//! ```

mod chat;
mod embed;
mod governor;
mod grounding;
mod local;
mod provider;
pub mod pull;
mod rerank;

#[cfg(feature = "fuzzing")]
pub use chat::fuzzing;
pub use chat::{
    Chat, ChatSettings, ModelSpeed, RemoteChat, SchemaUse, Tokenizer, ToolUse, UnknownTokenizer, WindowSource,
};
pub use embed::{CachedEmbedder, EmbeddingSettings, LocalEmbedder, RemoteEmbedder};
pub use governor::{Budget, Governor, GovernorSettings, MemorySpending, Stats, WaitedStats};
pub use grounding::{LocalGrounding, RemoteGrounding};
pub use local::{Card, ModelKind, Pooling, Runtime};
pub use provider::{InvalidProvider, Provider, ProviderSettings, TimeLimits};
pub use rerank::{LocalReranker, RemoteReranker, RerankForm};
