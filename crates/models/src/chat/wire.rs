//! A request as OpenAI's protocol writes it.

use ibid_core::model::{ChatRequest, Prompt, ToolChoice};
use serde_json::{Map, Value, json};

use super::abilities::{Abilities, SchemaUse, ToolUse};
use super::{prompted, schema};

/// The body of a request to a model, with what the provider lacks put into the prompt.
pub(super) fn body(
    model: &str,
    request: &ChatRequest,
    abilities: Abilities,
    extra: &Map<String, Value>,
) -> Value {
    let mut prompts = request.prompts.clone();
    if abilities.tools == ToolUse::Prompted {
        prompts = prompted::as_text(prompts);
    }
    let mut body = extra.clone();
    let mut set = |field: &str, value: Value| drop(body.insert(field.to_owned(), value));
    set("model", json!(model));
    set("stream", json!(true));
    if abilities.stream_options {
        set("stream_options", json!({ "include_usage": true }));
    }
    if let Some(temperature) = request.temperature.filter(|_| abilities.temperature) {
        set("temperature", json!(temperature));
    }
    if let Some(most) = request.max_output_tokens {
        let field = if abilities.max_completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        set(field, json!(most));
    }
    if !request.tools.is_empty() && request.tool_choice != ToolChoice::None {
        match abilities.tools {
            ToolUse::Native => {
                let tools: Vec<Value> = request
                    .tools
                    .iter()
                    .map(|tool| {
                        json!({ "type": "function", "function": {
                            "name": tool.name, "description": tool.description, "parameters": tool.parameters,
                        } })
                    })
                    .collect();
                set("tools", Value::Array(tools));
                match &request.tool_choice {
                    ToolChoice::Auto | ToolChoice::None => {}
                    ToolChoice::Required => set("tool_choice", json!("required")),
                    ToolChoice::Named(name) => {
                        set("tool_choice", json!({ "type": "function", "function": { "name": name } }));
                    }
                }
            }
            ToolUse::Prompted => {
                prompts = prompted::with_tools(prompts, &request.tools, &request.tool_choice);
            }
        }
    }
    if let Some(wanted) = &request.schema {
        match abilities.schema {
            SchemaUse::Native => set("response_format", schema::for_provider(&wanted.name, &wanted.schema)),
            SchemaUse::JsonMode => {
                set("response_format", json!({ "type": "json_object" }));
                prompts = prompted::with_schema(prompts, wanted);
            }
            SchemaUse::Prompted => prompts = prompted::with_schema(prompts, wanted),
        }
    }
    set("messages", prompts.iter().map(message).collect());
    Value::Object(body)
}

fn message(prompt: &Prompt) -> Value {
    match prompt {
        Prompt::System(text) => json!({ "role": "system", "content": text }),
        Prompt::User(text) => json!({ "role": "user", "content": text }),
        Prompt::Assistant { text, calls } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        Prompt::Assistant { text, calls } => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    let function = json!({ "name": call.name, "arguments": call.arguments.to_string() });
                    json!({ "id": call.id, "type": "function", "function": function })
                })
                .collect();
            json!({ "role": "assistant", "content": text, "tool_calls": calls })
        }
        Prompt::Tool { call, text } => json!({ "role": "tool", "tool_call_id": call, "content": text }),
    }
}
