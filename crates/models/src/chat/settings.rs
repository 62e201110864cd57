//! What a chat model is set up with.

use ibid_core::model::TokenPrices;
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
    /// Whether its server is asked for that.
    pub window: WindowSource,
    /// How many tokens it may write if the request does not say.
    pub max_output_tokens: Option<usize>,
    /// How its tokens are counted.
    pub tokenizer: Tokenizer,
    /// How it calls tools; found out if not set.
    pub tools: Option<ToolUse>,
    /// How it is held to a form; found out if not set.
    pub schema: Option<SchemaUse>,
    /// What its tokens cost, if that is known.
    pub prices: Option<TokenPrices>,
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
            window: WindowSource::Settings,
            max_output_tokens: None,
            tokenizer: Tokenizer::of_model(model),
            tools: None,
            schema: None,
            prices: None,
            extra: Map::new(),
        }
    }
}

/// Where it is known from how many tokens a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowSource {
    /// From the settings.
    Settings,
    /// From its server, and at most what the settings say.
    ServerAtMost,
    /// From its server; from the settings only where that does not tell.
    Server,
}
