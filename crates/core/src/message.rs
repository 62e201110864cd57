//! What is said in a conversation.

use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// Written by hand, because `flatten` reads every message into a buffer first, and every turn reads a
/// window of messages.
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Message;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a message with a role and a text")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Message, A::Error> {
                let (mut role, mut text, mut extra) = (None, None, Map::new());
                while let Some(field) = map.next_key::<String>()? {
                    match field.as_str() {
                        "role" => role = Some(map.next_value()?),
                        "text" => text = Some(map.next_value()?),
                        _ => drop(extra.insert(field, map.next_value()?)),
                    }
                }
                let role = role.ok_or_else(|| de::Error::missing_field("role"))?;
                let text = text.ok_or_else(|| de::Error::missing_field("text"))?;
                Ok(Message { role, text, extra })
            }
        }

        deserializer.deserialize_map(Fields)
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

    #[test]
    fn a_message_without_a_role_or_a_text_is_refused() {
        for (stored, missing) in [(r#"{"text":"2 %"}"#, "role"), (r#"{"role":"user"}"#, "text")] {
            let error = serde_json::from_str::<Message>(stored).unwrap_err().to_string();
            assert!(error.contains(&format!("missing field `{missing}`")), "{error}");
        }
    }
}
