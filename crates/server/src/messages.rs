//! Messages as LangGraph's clients know them, in both directions.

use std::sync::Arc;

use ibid_core::model::Usage;
use ibid_core::{AnswerMetadata, Message, Role, Scope, ThreadId};
use ibid_engine::{Engine, MessageWindow, Run, ThreadMessage};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::http::Problem;

/// So many messages of a thread are told at most; the newest.
const MOST: usize = 1000;

/// The messages of a thread, the newest if there are very many.
pub(crate) async fn of_thread(
    engine: &Arc<dyn Engine>,
    scope: &Scope,
    thread: ThreadId,
) -> Result<Vec<ThreadMessage>, Problem> {
    let window = MessageWindow { before: None, limit: MOST };
    Ok(engine.messages(scope, thread, window).await?)
}

/// The messages of a thread before a position.
pub(crate) async fn before(
    engine: &Arc<dyn Engine>,
    scope: &Scope,
    thread: ThreadId,
    position: u64,
) -> Result<Vec<ThreadMessage>, Problem> {
    // A position is a number of the store, which knows no larger ones.
    let before = Some(position.min(i64::MAX as u64));
    let window = MessageWindow { before, limit: MOST };
    Ok(engine.messages(scope, thread, window).await?)
}

/// What a run answered, if it did.
pub(crate) async fn answer_of(
    engine: &Arc<dyn Engine>,
    scope: &Scope,
    run: &Run,
) -> Result<Option<ThreadMessage>, Problem> {
    if run.output.is_empty() {
        return Ok(None);
    }
    let limit = usize::try_from(run.output.end - run.output.start).unwrap_or(MOST);
    let window = MessageWindow { before: Some(run.output.end), limit };
    Ok(engine.messages(scope, run.thread, window).await?.pop())
}

/// A message as LangGraph's clients know it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Message")]
pub(crate) struct MessageView {
    /// Who said it: human, ai, tool or system.
    #[serde(rename = "type")]
    kind: &'static str,
    content: String,
    id: String,
    /// Ours: where it stands in the conversation, from 0.
    position: u64,
    name: Option<String>,
    /// The metadata of an answer; empty for what people say.
    #[schemars(with = "Option<AnswerMetadata>")]
    additional_kwargs: Map<String, Value>,
    response_metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invalid_tool_calls: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage_metadata: Option<Value>,
}

/// As it is sent. The metadata of an answer stands in `additional_kwargs`.
pub(crate) fn to_wire(said: &ThreadMessage) -> MessageView {
    let by_assistant = said.message.role == Role::Assistant;
    MessageView {
        kind: kind(said.message.role),
        content: said.message.text.clone(),
        id: id_of(said),
        position: said.position,
        name: None,
        additional_kwargs: said.message.additional_fields(),
        response_metadata: Map::new(),
        tool_calls: by_assistant.then(Vec::new),
        invalid_tool_calls: by_assistant.then(Vec::new),
        usage_metadata: by_assistant.then(|| {
            usage(
                said.message
                    .metadata
                    .as_ref()
                    .filter(|metadata| !metadata.partial)
                    .map(|metadata| &metadata.usage),
            )
        }),
    }
}

/// By which clients know a message again: what they called it themselves, or the run that said it.
pub(crate) fn id_of(said: &ThreadMessage) -> String {
    if let Some(id) = &said.message.id {
        return id.clone();
    }
    match (said.run, said.message.role) {
        (Some(run), Role::Assistant) => run.to_string(),
        (Some(run), _) => format!("{run}-{}", said.position),
        (None, _) => said.position.to_string(),
    }
}

fn kind(role: Role) -> &'static str {
    match role {
        Role::User => "human",
        Role::Assistant => "ai",
        Role::Tool => "tool",
        Role::System => "system",
    }
}

/// Tokens, as clients add them up.
pub(crate) fn usage(usage: Option<&Usage>) -> Value {
    let Some(usage) = usage else { return Value::Null };
    json!({
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total(),
        "input_token_details": { "cache_read": usage.cached_tokens },
        "output_token_details": {},
    })
}

/// Messages that join without a turn of their own: those without a name get one, since no run can name them all.
pub(crate) fn joining(mut messages: Vec<Message>) -> Vec<Message> {
    for message in &mut messages {
        message.id.get_or_insert_with(|| uuid::Uuid::now_v7().simple().to_string());
    }
    messages
}

/// The messages of an input: `{"messages": […]}`, a list, one message, or a text.
pub(crate) fn read_all(input: &Value) -> Result<Vec<Message>, Problem> {
    match input {
        Value::Object(fields) if fields.contains_key("messages") => read_all(&fields["messages"]),
        Value::Array(list) => list.iter().map(read).collect(),
        Value::Null => Ok(Vec::new()),
        one => Ok(vec![read(one)?]),
    }
}

fn read(value: &Value) -> Result<Message, Problem> {
    let unclear = || {
        let hint = r#"a message is written {"role": "user", "content": "…"}"#;
        Problem::invalid(format!("{hint}, not {}", short(value)))
    };
    let (role, content, id) = match value {
        Value::String(_) => ("user", value, None),
        Value::Array(pair) => match pair.as_slice() {
            [Value::String(role), content] => (role.as_str(), content, None),
            _ => return Err(unclear()),
        },
        Value::Object(fields) => {
            let role = fields.get("role").or(fields.get("type")).and_then(Value::as_str);
            (role.ok_or_else(unclear)?, fields.get("content").ok_or_else(unclear)?, fields.get("id"))
        }
        _ => return Err(unclear()),
    };
    let role = match role {
        "user" | "human" => Role::User,
        "assistant" | "ai" | "AIMessageChunk" => Role::Assistant,
        "system" | "developer" => Role::System,
        "tool" => Role::Tool,
        other => return Err(Problem::invalid(format!("`{other}` is no role of a message"))),
    };
    let mut message = Message::new(role, text_of(content).ok_or_else(unclear)?);
    message.id = id.and_then(Value::as_str).map(str::to_owned);
    Ok(message)
}

/// The text of a content: a string, or parts of which each is a text.
pub(crate) fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts
            .iter()
            .map(|part| part.as_str().or_else(|| part["text"].as_str()).map(str::to_owned))
            .collect(),
        Value::Null => Some(String::new()),
        _ => None,
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_in_every_way_that_clients_write_them() {
        for input in [
            json!({ "messages": [{ "role": "user", "content": "hi" }] }),
            json!({ "messages": [{ "type": "human", "content": [{ "type": "text", "text": "hi" }] }] }),
            json!({ "messages": [["user", "hi"]] }),
            json!([{ "role": "human", "content": "hi" }]),
            json!("hi"),
        ] {
            let read = read_all(&input).unwrap();
            assert_eq!((read[0].role, read[0].text.as_str()), (Role::User, "hi"), "{input}");
        }
        assert!(read_all(&json!({ "messages": [{ "content": "hi" }] })).is_err());
        assert!(read_all(&json!(7)).is_err());
    }
}
