//! The port to a rerank model.

use async_trait::async_trait;

use super::{Caller, ModelError};

/// A model that reads a question and a passage together and says how well they belong together.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// Its name in the configuration.
    fn name(&self) -> &str;

    /// How relevant each passage is to the question, from 0 to 1, in the order of the passages.
    ///
    /// # Errors
    /// Fails when the model cannot be reached or run, or the budget is spent.
    async fn rerank(
        &self,
        caller: &Caller,
        question: &str,
        passages: &[&str],
    ) -> Result<Vec<f32>, ModelError>;
}
