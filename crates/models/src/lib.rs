//! Models behind the ports of `ibid-core`: chat over any OpenAI-compatible server, embeddings and reranking in
//! this process or over HTTP, and one governor over every provider account.

mod chat;
mod embed;
mod governor;
mod local;
mod provider;
pub mod pull;
mod rerank;

pub use chat::{Chat, ChatSettings, RemoteChat, SchemaUse, Tokenizer, ToolUse, UnknownTokenizer};
pub use embed::{CachedEmbedder, EmbeddingSettings, LocalEmbedder, RemoteEmbedder};
pub use governor::{Budget, Governor, GovernorSettings, MemorySpending, Stats, WaitedStats};
pub use local::{Card, Kind, Pooling, Runtime};
pub use provider::{InvalidProvider, Provider, ProviderSettings, TimeLimits};
pub use rerank::{LocalReranker, RemoteReranker, RerankForm};
