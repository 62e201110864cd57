//! Rerank models, here and over HTTP.

mod local;
mod remote;

pub use local::LocalReranker;
pub use remote::{RemoteReranker, RerankForm};
