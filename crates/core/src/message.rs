//! What is said in a conversation.

use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::AnswerMetadata;

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
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What was said.
    pub text: String,
    /// What the client that sent it calls it.
    pub id: Option<String>,
    /// What an answer carries besides its text; none for what people say.
    pub metadata: Option<Box<AnswerMetadata>>,
    /// Fields that this version does not know. In a box, since hardly a message has any and every turn reads many messages.
    extra: Option<Box<Map<String, Value>>>,
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

    /// A message.
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), id: None, metadata: None, extra: None }
    }

    /// An answer with what it carries.
    pub fn answer(text: impl Into<String>, metadata: AnswerMetadata) -> Self {
        Self { metadata: Some(Box::new(metadata)), ..Self::assistant(text) }
    }

    /// Everything besides role, text and id, as it is stored and sent: the metadata of an answer field by field, and what
    /// this version does not know.
    pub fn additional_fields(&self) -> Map<String, Value> {
        let metadata = self.metadata.as_deref().and_then(|metadata| serde_json::to_value(metadata).ok());
        let mut fields = match metadata {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        fields.extend(self.extra.as_deref().cloned().unwrap_or_default());
        fields
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Stored<'a> {
            role: Role,
            text: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            id: Option<&'a str>,
            #[serde(flatten)]
            metadata: Option<&'a AnswerMetadata>,
            #[serde(flatten)]
            extra: Option<&'a Map<String, Value>>,
        }
        let (text, id, metadata) = (&self.text, self.id.as_deref(), self.metadata.as_deref());
        Stored { role: self.role, text, id, metadata, extra: self.extra.as_deref() }.serialize(serializer)
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
                let (mut role, mut text, mut id, mut extra) = (None, None, None, Map::new());
                while let Some(field) = map.next_key::<String>()? {
                    match field.as_str() {
                        "role" => role = Some(map.next_value()?),
                        "text" => text = Some(map.next_value()?),
                        _ => match map.next_value()? {
                            Value::String(given) if field == "id" => id = Some(given),
                            value => drop(extra.insert(field, value)),
                        },
                    }
                }
                let role = role.ok_or_else(|| de::Error::missing_field("role"))?;
                let text = text.ok_or_else(|| de::Error::missing_field("text"))?;
                let metadata = if role == Role::Assistant { take_metadata(&mut extra) } else { None };
                let extra = (!extra.is_empty()).then(|| Box::new(extra));
                Ok(Message { role, text, id, metadata, extra })
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// Takes the metadata of an answer out of the fields of a message, if they are there and of this version's form.
fn take_metadata(fields: &mut Map<String, Value>) -> Option<Box<AnswerMetadata>> {
    // Every answer that has metadata has its sources, also where there are none.
    fields.get("sources")?;
    let own: Map<String, Value> = AnswerMetadata::FIELDS
        .iter()
        .filter_map(|name| fields.get(*name).map(|value| ((*name).to_owned(), value.clone())))
        .collect();
    let metadata = serde_json::from_value(Value::Object(own)).ok()?;
    fields.retain(|name, _| !AnswerMetadata::FIELDS.contains(&name.as_str()));
    Some(Box::new(metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_other_versions_are_kept() {
        let stored = r#"{"role":"assistant","text":"2 %","citations":[{"page":7}],"mood":"sure"}"#;
        let message: Message = serde_json::from_str(stored).unwrap();
        assert_eq!(message.additional_fields()["citations"][0]["page"], 7);
        let written = serde_json::to_value(&message).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(stored).unwrap());
    }

    #[test]
    fn an_answer_keeps_its_metadata_as_fields_of_the_message() {
        let stored = r#"{"role":"assistant","text":"2 % [1]","format":"text","citations":[],"warnings":[],"sources":[{"number":1,"document_id":"a1","document_type":"general","title":"Rates","page":7,"section":[],"score":0.5}],"searched":["lamps"],"unanswered":true,"usage":{"input_tokens":7,"output_tokens":2,"cached_tokens":0,"estimated":false},"mood":"sure"}"#;
        let message: Message = serde_json::from_str(stored).unwrap();
        let metadata = message.metadata.as_ref().unwrap();
        assert_eq!((metadata.sources[0].page, metadata.unanswered), (Some(7), true));
        assert_eq!(serde_json::to_string(&message).unwrap(), stored);
        let partial = r#"{"role":"assistant","text":"2","partial":true,"sources":[]}"#;
        let message: Message = serde_json::from_str(partial).unwrap();
        assert!(message.metadata.as_ref().unwrap().partial);
        assert_eq!(serde_json::to_string(&message).unwrap(), partial);
    }

    #[test]
    fn a_message_without_a_role_or_a_text_is_refused() {
        for (stored, missing) in [(r#"{"text":"2 %"}"#, "role"), (r#"{"role":"user"}"#, "text")] {
            let error = serde_json::from_str::<Message>(stored).unwrap_err().to_string();
            assert!(error.contains(&format!("missing field `{missing}`")), "{error}");
        }
    }
}
