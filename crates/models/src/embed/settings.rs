//! What every embedding model is set up with, wherever it runs.

use ibid_core::model::Purpose;

/// How texts are put before an embedding model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingSettings {
    /// What stands before a text that is searched with.
    pub query_prefix: String,
    /// What stands before a text that is to be found.
    pub passage_prefix: String,
    /// How many texts go in one request.
    pub batch: usize,
    /// Whether the provider is told how long the vectors are to be; some models can shorten them.
    pub send_dimensions: bool,
}

impl Default for EmbeddingSettings {
    fn default() -> Self {
        Self { query_prefix: String::new(), passage_prefix: String::new(), batch: 32, send_dimensions: false }
    }
}

impl EmbeddingSettings {
    pub(super) fn prefixed(&self, purpose: Purpose, text: &str) -> String {
        let prefix = match purpose {
            Purpose::Query => &self.query_prefix,
            Purpose::Passage => &self.passage_prefix,
        };
        format!("{prefix}{text}")
    }
}
