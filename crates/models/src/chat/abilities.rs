//! What a model can do beyond talking, as configured or as found out from what its provider refuses.

use serde::{Deserialize, Serialize};

/// How a model is asked to call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolUse {
    /// The provider has tools.
    Native,
    /// It has none: the tools stand in the prompt, and the call is read from the answer.
    Prompted,
}

/// How a model is held to a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchemaUse {
    /// The provider enforces JSON schemas.
    Native,
    /// It enforces JSON only: the schema stands in the prompt.
    JsonMode,
    /// It enforces nothing: the schema stands in the prompt.
    Prompted,
}

/// What is sent, and what is left out because the provider refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Abilities {
    pub(super) tools: ToolUse,
    pub(super) schema: SchemaUse,
    pub(super) stream_options: bool,
    pub(super) temperature: bool,
    /// Newer models of OpenAI want another name for the limit.
    pub(super) max_completion_tokens: bool,
}

impl Abilities {
    pub(super) fn new(tools: Option<ToolUse>, schema: Option<SchemaUse>) -> Self {
        Self {
            tools: tools.unwrap_or(ToolUse::Native),
            schema: schema.unwrap_or(SchemaUse::Native),
            stream_options: true,
            temperature: true,
            max_completion_tokens: false,
        }
    }

    /// What to leave out after a refusal, if the refusal is about something that can be left out. `sent` is what
    /// the request held.
    ///
    /// The words must say that something is not known or supported: a request can be refused for what is wrong with
    /// its tools or its messages, too, and that is nobody's lack.
    pub(super) fn without_refused(self, reason: &str, sent: &serde_json::Value) -> Option<Self> {
        const LACKING: [&str; 12] = [
            "support",
            "unknown",
            "unrecogni",
            "unavailable",
            "not available",
            "extra",
            "not permitted",
            "not allowed",
            "unexpected",
            "not implemented",
            "requires --",
            "use 'max_completion_tokens'",
        ];
        const TOOL_WORDS: [&str; 7] =
            ["tools", "tool_choice", "tool choice", "tool-choice", "tool call", "tool use", "function call"];
        let reason = reason.to_lowercase();
        let lacking = LACKING.iter().any(|word| reason.contains(word));
        let about = |field: &str, words: &[&str]| {
            lacking && sent.get(field).is_some() && words.iter().any(|word| reason.contains(word))
        };
        let mut changed = self;
        if about("stream_options", &["stream_options"]) {
            changed.stream_options = false;
        } else if about("max_tokens", &["max_completion_tokens"]) {
            changed.max_completion_tokens = true;
        } else if about("temperature", &["temperature"]) {
            changed.temperature = false;
        } else if about("tools", &TOOL_WORDS) && !reason.contains("role") {
            changed.tools = ToolUse::Prompted;
        } else if about("response_format", &["response_format", "schema", "grammar", "json", "structured"]) {
            changed.schema = match self.schema {
                SchemaUse::Native => SchemaUse::JsonMode,
                SchemaUse::JsonMode | SchemaUse::Prompted => SchemaUse::Prompted,
            };
        }
        (changed != self).then_some(changed)
    }
}

impl Abilities {
    /// Takes over what a call found out that began with `before` and ended with `found`. Others may have found out
    /// something else meanwhile.
    pub(super) fn learn(&mut self, before: Self, found: Self) {
        fn take<T: PartialEq>(own: &mut T, before: T, found: T) {
            if found != before {
                *own = found;
            }
        }
        take(&mut self.tools, before.tools, found.tools);
        take(&mut self.schema, before.schema, found.schema);
        take(&mut self.stream_options, before.stream_options, found.stream_options);
        take(&mut self.temperature, before.temperature, found.temperature);
        take(&mut self.max_completion_tokens, before.max_completion_tokens, found.max_completion_tokens);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_refused_is_left_out_step_by_step() {
        let sent = json!({ "tools": [], "response_format": {}, "stream_options": {}, "temperature": 0, "max_tokens": 1 });
        let mut abilities = Abilities::new(None, None);
        for reason in [
            "llama2 does not support tools",
            "This response_format type is unavailable now",
            "unknown field `response_format`",
            "Unrecognized request argument supplied: stream_options",
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            "'temperature' does not support 0 with this model",
        ] {
            abilities = abilities.without_refused(reason, &sent).expect(reason);
        }
        assert_eq!((abilities.tools, abilities.schema), (ToolUse::Prompted, SchemaUse::Prompted));
        assert!(abilities.max_completion_tokens && !abilities.stream_options && !abilities.temperature);
        assert_eq!(abilities.without_refused("this model does not exist", &sent), None);
        for unrelated in [
            "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
            "Invalid 'tools[0].function.name': string does not match pattern",
            "Unexpected role 'user' after role 'tool'",
            "Invalid schema for response_format 'Rate': 'required' is missing",
        ] {
            let abilities = Abilities::new(None, None);
            assert_eq!(abilities.without_refused(unrelated, &sent), None, "{unrelated}");
        }
        assert_eq!(abilities.without_refused("tools are not supported", &json!({})), None, "there were none");
    }
}
