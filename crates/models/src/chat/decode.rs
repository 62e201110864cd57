//! Puts a reply together from the pieces in which a provider sends it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ibid_core::model::{ChatPart, Finish, ToolCall, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::thinking::{Sorted, Thinking};
use super::written_calls::{WrittenCalls, arguments_of, fresh_id};

/// No call takes more tokens than this.
const MOST_TOKENS: u64 = 20_000_000;

/// Turns the pieces of one reply into parts.
pub(super) struct Decoder {
    thinking: Thinking,
    written: WrittenCalls,
    calls: Vec<Pieces>,
    /// Where the newest call of each number stands.
    newest: BTreeMap<u64, usize>,
    finish: Option<String>,
    usage: Option<Usage>,
    begun: bool,
    refused: bool,
}

/// The words of a piece that has nothing else, as nearly all pieces: read without making a tree of it.
pub(super) fn words_only(data: &str) -> Option<Cow<'_, str>> {
    let Plain { choices: [choice], error: None, usage: None } = serde_json::from_str(data).ok()? else {
        return None;
    };
    match choice {
        Choice {
            delta:
                Delta { content, reasoning_content: None, reasoning: None, refusal: None, tool_calls: None },
            finish_reason: None,
            message: None,
        } => Some(content),
        _ => None,
    }
}

#[derive(Deserialize)]
struct Plain<'a> {
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
    error: Option<IgnoredAny>,
    usage: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
    finish_reason: Option<IgnoredAny>,
    message: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
    reasoning_content: Option<IgnoredAny>,
    reasoning: Option<IgnoredAny>,
    refusal: Option<IgnoredAny>,
    tool_calls: Option<IgnoredAny>,
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
            calls: Vec::new(),
            newest: BTreeMap::new(),
            finish: None,
            usage: None,
            begun: false,
            refused: false,
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
        let thought = ["reasoning_content", "reasoning"].iter().map(|field| text_of(&message[*field]));
        let thought = thought.chain([thinking_in(&message["content"])]).find(|text| !text.is_empty());
        if let Some(text) = thought {
            self.begun = true;
            parts.push(ChatPart::Reasoning(text));
        }
        let refusal = text_of(&message["refusal"]);
        self.refused |= !refusal.is_empty();
        self.words(&(text_of(&message["content"]) + &refusal), &mut parts);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            self.begun = true;
            self.piece_of_call(call);
        }
        if let Some(finish) = choice["finish_reason"].as_str().filter(|finish| !finish.is_empty()) {
            self.begun = true;
            self.finish = Some(finish.to_owned());
        }
        parts
    }

    /// Takes a piece that has nothing but words.
    pub(super) fn push_words(&mut self, text: &str) -> Vec<ChatPart> {
        let mut parts = Vec::new();
        self.words(text, &mut parts);
        parts
    }

    fn words(&mut self, text: &str, parts: &mut Vec<ChatPart>) {
        if !text.is_empty() {
            self.begun = true;
            let sorted = self.thinking.push(text);
            self.sort(sorted, parts);
        }
    }

    /// The model was cut off: what was held back of its text.
    pub(super) fn cut_off(self) -> Vec<ChatPart> {
        let parts = self.end().parts;
        parts.into_iter().filter(|part| !matches!(part, ChatPart::Call(_))).collect()
    }

    /// The last piece has come.
    pub(super) fn end(mut self) -> Ended {
        let mut parts = Vec::new();
        let rest = self.thinking.end();
        self.sort(rest, &mut parts);
        let (text, written) = self.written.end();
        push_text(text, &mut parts);
        let sent = self.calls.into_iter().filter(|call| !call.name.is_empty()).map(|call| ToolCall {
            id: if call.id.is_empty() { fresh_id() } else { call.id },
            name: call.name,
            arguments: arguments_of(Some(Value::String(call.arguments))),
        });
        let calls: Vec<ToolCall> = sent.chain(written).collect();
        // Calls whose arguments can be read are whole, whatever the model went on to say.
        let callable = !calls.is_empty() && calls.iter().all(|call| call.arguments.is_object());
        let finish = match self.finish.as_deref() {
            _ if self.refused => Finish::Filtered,
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

    /// Puts a piece to the call that it belongs to. Not every provider numbers the calls, or each with a number of its
    /// own, or gives ids that stay: a new call is one that brings a name where there is one already, and an id of its
    /// own or arguments after whole ones.
    fn piece_of_call(&mut self, piece: &Value) {
        let (id, function) = (piece["id"].as_str().unwrap_or_default(), &piece["function"]);
        let name = function["name"].as_str().unwrap_or_default();
        let number = piece["index"].as_u64();
        let known = match number {
            Some(number) => self.newest.get(&number).copied(),
            None => self.calls.len().checked_sub(1),
        };
        let begins_another = |call: &Pieces| {
            let named_again = !name.is_empty() && !call.name.is_empty();
            let other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
            let no_ids = id.is_empty() || call.id.is_empty();
            named_again && (other_id || (no_ids && call.is_whole() && !function["arguments"].is_null()))
        };
        let place = known.filter(|place| self.calls.get(*place).is_some_and(|call| !begins_another(call)));
        let place = place.unwrap_or_else(|| {
            self.calls.push(Pieces::default());
            self.calls.len() - 1
        });
        if let Some(number) = number {
            self.newest.insert(number, place);
        }
        let Some(call) = self.calls.get_mut(place) else { return };
        if call.id.is_empty() {
            call.id = id.to_owned();
        }
        // Some repeat the name in every piece.
        if call.name != name {
            call.name.push_str(name);
        }
        match &function["arguments"] {
            Value::String(text) => call.arguments.push_str(text),
            Value::Null => {}
            value => call.arguments = value.to_string(),
        }
    }
}

impl Pieces {
    /// Whether nothing is missing in its arguments.
    fn is_whole(&self) -> bool {
        serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok()
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

/// The thinking in a list of parts.
fn thinking_in(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten().filter(|item| item["type"] == "thinking");
    parts.map(|item| text_of(&item["thinking"])).collect()
}

fn usage_of(value: &Value) -> Option<Usage> {
    // No call takes more; whoever says so must not empty a tenant's budget.
    let number = |value: &Value| value.as_u64().map(|tokens| tokens.min(MOST_TOKENS));
    let input_tokens = number(&value["prompt_tokens"])?;
    let output_tokens = number(&value["completion_tokens"]).unwrap_or(0);
    let cached_tokens = number(&value["prompt_tokens_details"]["cached_tokens"]).unwrap_or(0);
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

    /// Pieces of calls as (number, id, name, arguments), and the calls that they are.
    fn calls(pieces: &[(Option<u64>, &str, &str, &str)]) -> Vec<(String, String)> {
        let chunks: Vec<Value> = pieces
            .iter()
            .map(|(number, id, name, arguments)| {
                let mut call = json!({ "function": {} });
                for (field, text) in [("name", name), ("arguments", arguments)] {
                    if !text.is_empty() {
                        call["function"][field] = json!(text);
                    }
                }
                if let Some(number) = number {
                    call["index"] = json!(number);
                }
                call["id"] = json!(id);
                delta(json!({ "tool_calls": [call] }))
            })
            .collect();
        let (parts, ..) = decode(&chunks);
        let call = |part: &ChatPart| match part {
            ChatPart::Call(call) => (call.name.clone(), call.arguments.to_string()),
            other => panic!("{other:?}"),
        };
        parts.iter().map(call).collect()
    }

    #[test]
    fn calls_are_told_apart_however_providers_number_them() {
        let (x, y) = (r#"{"q":"x"}"#, r#"{"q":"y"}"#);
        let both = [("search".to_owned(), x.to_owned()), ("search".to_owned(), y.to_owned())];
        let (zero, one) = (Some(0), Some(1));
        let ways: [(&str, &[_]); 8] = [
            (
                "in turn",
                &[(zero, "a", "search", ""), (one, "b", "search", ""), (zero, "", "", x), (one, "", "", y)],
            ),
            ("one number, whole", &[(zero, "a", "search", x), (zero, "b", "search", y)]),
            ("one number, no ids", &[(zero, "", "search", x), (zero, "", "search", y)]),
            (
                "one number, then pieces without an id",
                &[(zero, "a", "search", ""), (zero, "", "", x), (zero, "b", "search", ""), (zero, "", "", y)],
            ),
            ("no numbers", &[(None, "a", "search", x), (None, "b", "search", y)]),
            ("no numbers, no ids", &[(None, "", "search", x), (None, "", "search", y)]),
            (
                "the id in every piece",
                &[
                    (zero, "a", "search", "{\"q\":"),
                    (zero, "a", "", "\"x\"}"),
                    (one, "b", "search", "{\"q\":"),
                    (one, "b", "", "\"y\"}"),
                ],
            ),
            (
                "ids that change and names that repeat",
                &[
                    (zero, "a", "search", "{\"q\":"),
                    (zero, "z", "", "\"x\"}"),
                    (one, "", "search", "{\"q\":"),
                    (one, "", "search", "\"y\"}"),
                ],
            ),
        ];
        for (way, pieces) in ways {
            assert_eq!(calls(pieces), both, "{way}");
        }
    }

    #[test]
    fn a_refusal_is_told_and_named_and_thinking_in_parts_is_kept_apart() {
        let (parts, finish, _) = decode(&[delta(json!({ "refusal": "I will not." })), finish("stop")]);
        assert_eq!((parts, finish), (vec![ChatPart::Text("I will not.".to_owned())], Finish::Filtered));
        let thinking = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }]);
        let (parts, ..) =
            decode(&[delta(json!({ "content": thinking })), delta(json!({ "content": "2 %" }))]);
        assert_eq!(parts, [ChatPart::Reasoning("hm".to_owned()), ChatPart::Text("2 %".to_owned())]);
    }

    #[test]
    fn absurd_usage_is_not_believed() {
        let usage =
            json!({ "choices": [], "usage": { "prompt_tokens": u64::MAX, "completion_tokens": u64::MAX } });
        let (.., usage) = decode(&[usage]);
        assert_eq!(usage.unwrap().total(), 2 * MOST_TOKENS);
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
