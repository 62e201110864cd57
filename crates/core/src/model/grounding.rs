//! The port to a model that says whether a text supports a statement.

use async_trait::async_trait;

use super::{Caller, ModelError};

/// A classifier of entailment: it reads a text and a statement together.
#[async_trait]
pub trait Grounding: Send + Sync {
    /// Its name in the configuration.
    fn name(&self) -> &str;

    /// How sure it is that a text supports a statement, from 0 to 1, for each pair of a text and a statement.
    ///
    /// # Errors
    /// Fails when the model cannot be reached or run, or the budget is spent.
    async fn support(&self, caller: &Caller, pairs: &[(&str, &str)]) -> Result<Vec<f32>, ModelError>;
}
