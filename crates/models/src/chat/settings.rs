//! What a chat model is set up with.

use serde_json::{Map, Value};

use super::abilities::{SchemaUse, ToolUse};
use super::tokens::Tokenizer;

/// One chat model of a provider.
#[derive(Clone)]
pub struct ChatSettings {
    /// Its name in the configuration.
    pub name: String,
    /// Its name at the provider.
    pub model: String,
    /// How many tokens it can read and write in one call.
    pub context_tokens: usize,
    /// How many tokens it may write if the request does not say.
    pub max_output_tokens: Option<usize>,
    /// How its tokens are counted.
    pub tokenizer: Tokenizer,
    /// How it calls tools; found out if not set.
    pub tools: Option<ToolUse>,
    /// How it is held to a form; found out if not set.
    pub schema: Option<SchemaUse>,
    /// Further fields of each request, as the provider wants them.
    pub extra: Map<String, Value>,
}

impl ChatSettings {
    /// A model by its name at the provider, with what is known of it.
    pub fn new(name: &str, model: &str) -> Self {
        Self {
            name: name.to_owned(),
            model: model.to_owned(),
            context_tokens: 8192,
            max_output_tokens: None,
            tokenizer: Tokenizer::of_model(model),
            tools: None,
            schema: None,
            extra: Map::new(),
        }
    }

    /// How many tokens are kept free for the answer.
    pub(super) fn reserved_for_answer(&self, wanted: Option<usize>) -> usize {
        let usual = (self.context_tokens / 4).min(2048);
        wanted.or(self.max_output_tokens).unwrap_or(usual).min(self.context_tokens)
    }
}
