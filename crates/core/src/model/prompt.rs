//! What a model is shown: a list of prompts, each with a role.

use serde_json::Value;

use crate::{Message, Role};

/// One entry of what a model is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Prompt {
    /// How it is to behave.
    System(String),
    /// What a person said.
    User(String),
    /// What the model said before.
    Assistant {
        /// Its words.
        text: String,
        /// The tools that it called.
        calls: Vec<ToolCall>,
    },
    /// What a tool gave back.
    Tool {
        /// Which call this answers.
        call: String,
        /// What came of it.
        text: String,
    },
}

/// A tool that a model wants to be called.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// By which the result is matched with the call.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// With what. Untrusted: check it against the tool's parameters.
    pub arguments: Value,
}

impl Prompt {
    /// Words of the model, without tool calls.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { text: text.into(), calls: Vec::new() }
    }

    /// Its words.
    pub fn text(&self) -> &str {
        match self {
            Self::System(text)
            | Self::User(text)
            | Self::Assistant { text, .. }
            | Self::Tool { text, .. } => text,
        }
    }
}

/// A message of the conversation as a model is shown it. What tools gave back in earlier turns is shown as
/// the assistant's own words, since the calls are no longer there to match it with.
impl From<&Message> for Prompt {
    fn from(message: &Message) -> Self {
        let text = message.text.clone();
        match message.role {
            Role::User => Self::User(text),
            Role::System => Self::System(text),
            Role::Assistant | Role::Tool => Self::assistant(text),
        }
    }
}
