//! Puts a reply together from the pieces in which a provider sends it.

use std::collections::BTreeMap;

use ibid_core::model::{ChatPart, Finish, ToolCall, Usage};
use serde_json::Value;

use super::thinking::{Sorted, Thinking};
use super::written_calls::{WrittenCalls, arguments_of, fresh_id};

/// Turns the pieces of one reply into parts.
pub(super) struct Decoder {
    thinking: Thinking,
    written: WrittenCalls,
    calls: BTreeMap<usize, Pieces>,
    finish: Option<String>,
    usage: Option<Usage>,
    begun: bool,
}

/// A tool call that comes in pieces.
#[derive(Default)]
struct Pieces {
    id: String,
    name: String,
    arguments: String,
}

/// How a reply ended, once its last piece has come.
pub(super) struct Ended {
    pub(super) parts: Vec<ChatPart>,
    pub(super) finish: Finish,
    /// What it took, if the provider said.
    pub(super) usage: Option<Usage>,
}

impl Decoder {
    /// For a reply in which these tools may be called.
    pub(super) fn new(tools: Vec<String>) -> Self {
        Self {
            thinking: Thinking::default(),
            written: WrittenCalls::of(tools),
            calls: BTreeMap::new(),
            finish: None,
            usage: None,
            begun: false,
        }
    }

    /// Whether the model has begun to answer, though perhaps nothing can be passed on yet.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether the model has said why it stopped, so that nothing is missing.
    pub(super) fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    /// Takes one piece, or a whole reply that was not sent in pieces.
    pub(super) fn push(&mut self, chunk: &Value) -> Vec<ChatPart> {
        if let Some(usage) = usage_of(&chunk["usage"]) {
            self.usage = Some(usage);
        }
        let choice = &chunk["choices"][0];
        let message = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        let mut parts = Vec::new();
        for field in ["reasoning_content", "reasoning"] {
            let text = text_of(&message[field]);
            if !text.is_empty() {
                self.begun = true;
                parts.push(ChatPart::Reasoning(text));
                break;
            }
        }
        let text = text_of(&message["content"]);
        if !text.is_empty() {
            self.begun = true;
            let sorted = self.thinking.push(&text);
            self.sort(sorted, &mut parts);
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            self.begun = true;
            self.piece_of_call(call);
        }
        if let Some(finish) = choice["finish_reason"].as_str() {
            self.begun = true;
            self.finish = Some(finish.to_owned());
        }
        parts
    }

    /// The last piece has come.
    pub(super) fn end(mut self) -> Ended {
        let mut parts = Vec::new();
        let rest = self.thinking.end();
        self.sort(rest, &mut parts);
        let (text, written) = self.written.end();
        push_text(text, &mut parts);
        let sent = self.calls.into_values().filter(|call| !call.name.is_empty()).map(|call| ToolCall {
            id: if call.id.is_empty() { fresh_id() } else { call.id },
            name: call.name,
            arguments: arguments_of(Some(Value::String(call.arguments))),
        });
        let calls: Vec<ToolCall> = sent.chain(written).collect();
        // Calls whose arguments can be read are whole, whatever the model went on to say.
        let callable = !calls.is_empty() && calls.iter().all(|call| call.arguments.is_object());
        let finish = match self.finish.as_deref() {
            _ if callable => Finish::Tools,
            Some("length" | "max_tokens") => Finish::Length,
            Some("content_filter") => Finish::Filtered,
            _ if !calls.is_empty() => Finish::Tools,
            Some("stop" | "tool_calls" | "function_call" | "eos" | "end_turn") | None => Finish::Stop,
            Some(other) => Finish::Other(other.to_owned()),
        };
        parts.extend(calls.into_iter().map(ChatPart::Call));
        Ended { parts, finish, usage: self.usage }
    }

    fn sort(&mut self, Sorted { thinking, answer }: Sorted, parts: &mut Vec<ChatPart>) {
        if !thinking.is_empty() {
            parts.push(ChatPart::Reasoning(thinking));
        }
        if !answer.is_empty() {
            push_text(self.written.push(&answer), parts);
        }
    }

    /// Not every provider numbers the calls: then a new name begins a new one.
    fn piece_of_call(&mut self, call: &Value) {
        let last = self.calls.last_key_value().map(|(index, _)| *index);
        let (id, function) = (call["id"].as_str().unwrap_or_default(), &call["function"]);
        let name = function["name"].as_str().unwrap_or_default();
        let index = match (call["index"].as_u64(), last) {
            (Some(index), _) => index as usize,
            (None, None) => 0,
            (None, Some(last)) => {
                let same = self.calls.get(&last).is_some_and(|known| id.is_empty() || known.id == id);
                if same && name.is_empty() { last } else { last + 1 }
            }
        };
        let pieces = self.calls.entry(index).or_default();
        if pieces.id.is_empty() {
            pieces.id = id.to_owned();
        }
        pieces.name.push_str(name);
        match &function["arguments"] {
            Value::String(text) => pieces.arguments.push_str(text),
            Value::Null => {}
            value => pieces.arguments = value.to_string(),
        }
    }
}

fn push_text(text: String, parts: &mut Vec<ChatPart>) {
    if !text.is_empty() {
        parts.push(ChatPart::Text(text));
    }
}

/// A text, also where it comes as a list of parts.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(|item| item["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn usage_of(value: &Value) -> Option<Usage> {
    let input_tokens = value["prompt_tokens"].as_u64()?;
    let output_tokens = value["completion_tokens"].as_u64().unwrap_or(0);
    let cached_tokens = value["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0);
    Some(Usage { input_tokens, output_tokens, cached_tokens, estimated: false })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decode(chunks: &[Value]) -> (Vec<ChatPart>, Finish, Option<Usage>) {
        let mut decoder = Decoder::new(vec!["search".to_owned()]);
        let mut parts: Vec<ChatPart> = chunks.iter().flat_map(|chunk| decoder.push(chunk)).collect();
        let ended = decoder.end();
        parts.extend(ended.parts);
        (parts, ended.finish, ended.usage)
    }

    fn delta(delta: Value) -> Value {
        json!({ "choices": [{ "delta": delta }] })
    }

    fn finish(reason: &str) -> Value {
        json!({ "choices": [{ "delta": {}, "finish_reason": reason }] })
    }

    #[test]
    fn reasoning_is_kept_apart_under_both_of_its_names() {
        for field in ["reasoning_content", "reasoning"] {
            let (parts, finish, _) =
                decode(&[delta(json!({ field: "hm" })), delta(json!({ "content": "2 %" })), finish("stop")]);
            assert_eq!(parts, [ChatPart::Reasoning("hm".to_owned()), ChatPart::Text("2 %".to_owned())]);
            assert_eq!(finish, Finish::Stop);
        }
    }

    #[test]
    fn calls_without_numbers_are_told_apart_by_their_names() {
        let call = |id: &str, query: &str| {
            let function = json!({ "name": "search", "arguments": json!({ "query": query }).to_string() });
            delta(json!({ "tool_calls": [{ "id": id, "function": function }] }))
        };
        let (parts, finish, _) = decode(&[call("a", "x"), call("b", "y"), finish("tool_calls")]);
        let queries: Vec<&str> = parts
            .iter()
            .map(|part| match part {
                ChatPart::Call(call) => call.arguments["query"].as_str().unwrap(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!((queries, finish), (vec!["x", "y"], Finish::Tools));
    }

    #[test]
    fn arguments_that_are_no_json_stay_a_text() {
        let function = json!({ "name": "search", "arguments": "{\"query\": " });
        let (parts, ..) = decode(&[delta(json!({ "tool_calls": [{ "index": 0, "function": function }] }))]);
        let [ChatPart::Call(call)] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!(call.arguments, json!("{\"query\": "));
        assert!(!call.id.is_empty());
    }

    #[test]
    fn a_reply_in_one_piece_is_read_like_one_in_many() {
        let message = json!({ "role": "assistant", "content": [{ "type": "text", "text": "2 %" }] });
        let usage = json!({ "prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 1 } });
        let whole = json!({ "choices": [{ "message": message, "finish_reason": "length" }], "usage": usage });
        let (parts, finish, usage) = decode(&[whole]);
        assert_eq!((parts, finish), (vec![ChatPart::Text("2 %".to_owned())], Finish::Length));
        assert_eq!(usage.map(|usage| (usage.total(), usage.cached_tokens)), Some((5, 1)));
    }
}
