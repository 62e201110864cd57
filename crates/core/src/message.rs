//! What is said in a conversation.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person.
    User,
    /// The assistant.
    Assistant,
    /// A tool that the assistant called.
    Tool,
    /// Whoever set the assistant up.
    System,
}

/// One message of a conversation.
///
/// Messages are kept for years, so a field that this version does not know is kept as it is in `extra`
/// and written back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What was said.
    pub text: String,
    /// What else belongs to it: citations, tool calls, structured output.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Message {
    /// A message of the person.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }

    /// A message of the assistant.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, text)
    }

    fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), extra: Map::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_other_versions_are_kept() {
        let stored = r#"{"role":"assistant","text":"2 %","citations":[{"page":7}],"mood":"sure"}"#;
        let message: Message = serde_json::from_str(stored).unwrap();
        assert_eq!(message.extra["citations"][0]["page"], 7);
        let written = serde_json::to_value(&message).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(stored).unwrap());
    }
}
