//! What comes from a chat model, piece by piece or as a whole.

use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChatStream, ModelError, ToolCall};

/// One piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatPart {
    /// A piece of the answer.
    Text(String),
    /// A piece of the model's thinking. It is no part of the answer.
    Reasoning(String),
    /// A tool is to be called. It comes whole, after its pieces are put together.
    Call(ToolCall),
    /// The text so far did not have the form that was asked for, and the model was told so: what follows
    /// takes its place.
    Again {
        /// What was wrong.
        reason: String,
    },
    /// The reply is complete. It is the last part.
    End {
        /// Why the model stopped.
        finish: Finish,
        /// What it took.
        usage: Usage,
        /// Which model answered, by its name in the configuration. It may be a fallback.
        model: String,
    },
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It had said everything.
    Stop,
    /// It reached its limit of tokens: the answer is cut off.
    Length,
    /// It wants tools to be called.
    Tools,
    /// The provider withheld the rest.
    Filtered,
    /// Something that only the provider knows.
    Other(String),
}

/// What a call took, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens that the model read.
    pub input_tokens: u64,
    /// Tokens that it wrote, thinking included.
    pub output_tokens: u64,
    /// How many of those that it read the provider had kept from before.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Whether this is an estimate, because the provider did not say.
    #[serde(default)]
    pub estimated: bool,
}

impl Usage {
    /// Read and written together.
    pub fn total(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }

    /// Adds what another call took.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cached_tokens: self.cached_tokens + other.cached_tokens,
            estimated: self.estimated || other.estimated,
        }
    }
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    /// The answer.
    pub text: String,
    /// What the model thought before it.
    pub reasoning: String,
    /// The tools that it wants to be called.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: Finish,
    /// What it took.
    pub usage: Usage,
    /// Which model answered.
    pub model: String,
}

impl ChatReply {
    /// Puts a reply together from its parts.
    ///
    /// # Errors
    /// Fails as the stream fails, and when it breaks off before its end.
    pub async fn collect(mut parts: ChatStream) -> Result<Self, ModelError> {
        let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
        while let Some(part) = parts.next().await {
            match part? {
                ChatPart::Text(piece) => text.push_str(&piece),
                ChatPart::Reasoning(piece) => reasoning.push_str(&piece),
                ChatPart::Call(call) => calls.push(call),
                ChatPart::Again { .. } => {
                    text.clear();
                    reasoning.clear();
                    calls.clear();
                }
                ChatPart::End { finish, usage, model } => {
                    return Ok(Self { text, reasoning, calls, finish, usage, model });
                }
            }
        }
        Err(ModelError::Broken {
            provider: "the model".to_owned(),
            reason: "the reply has no end".to_owned(),
        })
    }
}
