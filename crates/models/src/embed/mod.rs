//! Embedding models, here and over HTTP.

mod cached;
mod local;
mod remote;
mod settings;

pub use cached::CachedEmbedder;
pub use local::LocalEmbedder;
pub use remote::RemoteEmbedder;
pub use settings::EmbeddingSettings;
