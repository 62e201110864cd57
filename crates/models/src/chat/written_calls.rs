//! Finds tool calls that a model wrote as text: small models put them into a block of JSON, and models whose
//! provider has no tools are asked to.

use ibid_core::model::ToolCall;
use serde_json::Value;

use super::thinking::overlap;

const FENCE: &str = "```";
const TAG: &str = "<tool_call>";
const END_TAG: &str = "</tool_call>";
/// As some models write a brace, whose template has it so.
const DOUBLED: &str = "{{";

/// Watches the text of one reply. Text that may be a call is held back until it is known.
#[derive(Debug)]
pub(super) struct WrittenCalls {
    names: Vec<String>,
    held: String,
    /// Whether what is held begins with what may be a call.
    inside: bool,
    /// Whether the text so far ends with a line, so that a bare brace may begin a call.
    at_line_start: bool,
    found: Vec<ToolCall>,
}

impl WrittenCalls {
    /// Looks for calls of these tools. Without any, text passes as it is.
    pub(super) fn of(names: Vec<String>) -> Self {
        Self { names, held: String::new(), inside: false, at_line_start: true, found: Vec::new() }
    }

    /// Takes the next piece and gives the text that is certainly no call.
    pub(super) fn push(&mut self, piece: &str) -> String {
        if self.names.is_empty() {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        // Only such letters can make something whole; a long call is not read again for every piece of it.
        self.settle(piece.contains(['}', ']', '`', '>', '\n']))
    }

    /// Gives the text of what is held that is certainly no call. `closes` says whether anything may have become whole.
    fn settle(&mut self, closes: bool) -> String {
        let mut passed = String::new();
        loop {
            if !self.inside {
                match self.beginning() {
                    Some(at) => {
                        self.pass(at, &mut passed);
                        self.inside = true;
                    }
                    None => {
                        let unsure = overlap(&self.held, FENCE).max(overlap(&self.held, TAG));
                        self.pass(self.held.len() - unsure, &mut passed);
                        return passed;
                    }
                }
            }
            let Some((end, json)) = self.whole(closes) else { return passed };
            let calls = calls_in(json, &self.names);
            self.inside = false;
            if calls.is_empty() {
                self.pass(end, &mut passed);
            } else {
                self.found.extend(calls);
                self.held.drain(..end);
            }
        }
    }

    /// What is left at the end: text that was held back for nothing, and the calls.
    pub(super) fn end(mut self) -> (String, Vec<ToolCall>) {
        let mut passed = self.settle(true);
        if self.inside {
            // A block that was never closed, or text around the JSON in it.
            let body = self.held.trim_start_matches('`').trim_start_matches(TAG);
            let json = body.find(['{', '[']).map_or("", |at| &body[at..]);
            let json = if json.starts_with(DOUBLED) { &json[1..] } else { json };
            let calls = calls_in(json, &self.names);
            if !calls.is_empty() {
                self.found.extend(calls);
                self.held.clear();
            }
        }
        passed.push_str(&self.held);
        (passed, self.found)
    }

    fn pass(&mut self, end: usize, passed: &mut String) {
        let text: String = self.held.drain(..end).collect();
        self.at_line_start = text.chars().fold(self.at_line_start, stays_at_line_start);
        passed.push_str(&text);
    }

    /// Where something begins that may be a call.
    fn beginning(&self) -> Option<usize> {
        let mut at_line_start = self.at_line_start;
        for (at, letter) in self.held.char_indices() {
            let rest = &self.held[at..];
            if rest.starts_with(FENCE) || rest.starts_with(TAG) || (letter == '{' && at_line_start) {
                return Some(at);
            }
            at_line_start = stays_at_line_start(at_line_start, letter);
        }
        None
    }

    /// Where the thing that began ends, once it has, and the JSON in it. What turns out to be no JSON ends where it
    /// begins, so that the text behind it is not held back.
    fn whole(&self, closes: bool) -> Option<(usize, &str)> {
        let held = self.held.as_str();
        let (opening, body, closing) = if let Some(inner) = held.strip_prefix(TAG) {
            (TAG, inner.trim_start(), END_TAG)
        } else if let Some(inner) = held.strip_prefix(FENCE) {
            // The first line says the language.
            (FENCE, inner[inner.find('\n')?..].trim_start(), FENCE)
        } else if held.starts_with(DOUBLED) {
            ("{", &held[1..], "}")
        } else {
            ("{", held, "")
        };
        match json_at(body, closes) {
            Found::Nothing => Some((opening.len(), "")),
            Found::Beginning => None,
            Found::Json(end) => {
                let (json, rest) = body.split_at(end);
                let behind = held.len() - rest.len();
                let after = rest.trim_start();
                match after.strip_prefix(closing) {
                    Some(after) if !closing.is_empty() => Some((held.len() - after.len(), json)),
                    None if closing.starts_with(after) => None,
                    _ => Some((behind, json)),
                }
            }
        }
    }
}

/// Whether a bare brace behind a letter may begin a call.
fn stays_at_line_start(at_line_start: bool, letter: char) -> bool {
    letter == '\n' || (at_line_start && letter.is_whitespace())
}

/// What stands at the beginning of a text.
enum Found {
    /// JSON that ends there.
    Json(usize),
    /// What may become JSON.
    Beginning,
    /// Something else.
    Nothing,
}

fn json_at(text: &str, closes: bool) -> Found {
    if text.is_empty() {
        return Found::Beginning;
    }
    if !text.starts_with(['{', '[']) {
        return Found::Nothing;
    }
    if !closes {
        return Found::Beginning;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => Found::Json(values.byte_offset()),
        Some(Err(error)) if error.is_eof() => Found::Beginning,
        None => Found::Beginning,
        Some(Err(_)) => Found::Nothing,
    }
}

/// The calls of known tools in a JSON text, in any of the forms that models write.
fn calls_in(json: &str, names: &[String]) -> Vec<ToolCall> {
    let Some(Ok(value)) = serde_json::Deserializer::from_str(json).into_iter::<Value>().next() else {
        return Vec::new();
    };
    match value {
        Value::Array(items) => items.iter().filter_map(|item| call_in(item, names)).collect(),
        Value::Object(ref object) => match object.get("tool_calls") {
            Some(Value::Array(items)) => items.iter().filter_map(|item| call_in(item, names)).collect(),
            _ => call_in(&value, names).into_iter().collect(),
        },
        _ => Vec::new(),
    }
}

fn call_in(value: &Value, names: &[String]) -> Option<ToolCall> {
    let value = value.get("function").filter(|inner| inner.is_object()).unwrap_or(value);
    let field = |fields: &[&str]| fields.iter().find_map(|field| value.get(*field));
    let name = field(&["name", "tool", "function"])?.as_str()?;
    let arguments = field(&["arguments", "parameters", "args", "input"]).cloned();
    names.iter().any(|known| known == name).then(|| ToolCall {
        id: fresh_id(),
        name: name.to_owned(),
        arguments: arguments_of(arguments),
    })
}

/// Arguments as an object. Some models write them as a text that holds JSON; what cannot be read stays a text,
/// so that the tool can say what is wrong with it.
pub(super) fn arguments_of(arguments: Option<Value>) -> Value {
    match arguments {
        None | Some(Value::Null) => Value::Object(Default::default()),
        Some(Value::String(text)) if text.trim().is_empty() => Value::Object(Default::default()),
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Some(value) => value,
    }
}

/// A name for a call whose provider gave it none.
pub(super) fn fresh_id() -> String {
    format!("call_{:016x}", rand::random::<u64>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str, size: usize) -> (String, Vec<(String, Value)>) {
        let mut calls = WrittenCalls::of(vec!["search".to_owned(), "add".to_owned()]);
        let letters: Vec<char> = text.chars().collect();
        let mut passed = String::new();
        for piece in letters.chunks(size) {
            passed += &calls.push(&piece.iter().collect::<String>());
        }
        let (rest, found) = calls.end();
        (passed + &rest, found.into_iter().map(|call| (call.name, call.arguments)).collect())
    }

    fn check(text: &str, left: &str, expected: &[(&str, Value)]) {
        let expected: Vec<_> =
            expected.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        for size in [1, 2, 3, 7, text.len()] {
            assert_eq!(read(text, size), (left.to_owned(), expected.clone()), "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn calls_are_found_in_every_form_that_models_write() {
        let search = [("search", json!({ "query": "LED" }))];
        check("```json\n{\"name\": \"search\", \"arguments\": {\"query\": \"LED\"}}\n```", "", &search);
        check("```\n{\"name\": \"search\", \"arguments\": {\"query\": \"LED\"}}", "", &search);
        check(
            "<tool_call>\n{\"name\":\"search\",\"arguments\":{\"query\":\"LED\"}}\n</tool_call>",
            "",
            &search,
        );
        let doubled = r#"{{"name": "search", "arguments": {"query": "LED"}}}"#;
        check(doubled, "", &search);
        check(&doubled[..doubled.len() - 1], "", &search);
        check("{\"tool\": \"search\", \"parameters\": {\"query\": \"LED\"}}", "", &search);
        check(
            "{\"function\": {\"name\": \"search\", \"arguments\": \"{\\\"query\\\": \\\"LED\\\"}\"}}",
            "",
            &search,
        );
        check(
            "Let me look.\n```json\n{\"name\":\"search\",\"arguments\":{\"query\":\"LED\"}}\n```",
            "Let me look.\n",
            &search,
        );
        let both = [("search", json!({})), ("add", json!({ "a": 1 }))];
        check("```json\n[{\"name\":\"search\"},{\"name\":\"add\",\"arguments\":{\"a\":1}}]\n```", "", &both);
        check(
            "{\"tool_calls\":[{\"name\":\"search\"},{\"name\":\"add\",\"arguments\":{\"a\":1}}]}",
            "",
            &both,
        );
    }

    #[test]
    fn a_fence_inside_an_argument_does_not_end_the_call() {
        let arguments = json!({ "query": "a ``` in it" });
        let text = format!("```json\n{{\"name\":\"search\",\"arguments\":{arguments}}}\n```");
        check(&text, "", &[("search", arguments)]);
    }

    #[test]
    fn a_tag_that_is_not_closed_and_one_in_prose_are_understood() {
        let one = r#"{"name":"search","arguments":{"query":"LED"}}"#;
        let two = r#"{"name":"add","arguments":{"a":1}}"#;
        let both = [("search", json!({ "query": "LED" })), ("add", json!({ "a": 1 }))];
        check(&format!("<tool_call>{one}<tool_call>{two}</tool_call>"), "", &both);
        check("The tag <tool_call> begins a call.", "The tag <tool_call> begins a call.", &[]);
    }

    #[test]
    fn text_behind_a_block_that_is_not_closed_stays() {
        check("```\n[{\"name\":\"search\"}]and more", "and more", &[("search", json!({}))]);
    }

    #[test]
    fn a_block_that_is_no_call_is_not_held_back() {
        let mut calls = WrittenCalls::of(vec!["search".to_owned()]);
        assert_eq!(calls.push("Like this:\n```rust\nfn main() {}\n"), "Like this:\n```rust\nfn main() {}\n");
        assert_eq!(calls.push("and more"), "and more");
    }

    #[test]
    fn everything_else_stays_text() {
        for text in [
            "The rate is 2 %.",
            "```rust\nfn main() {}\n```\nThat is it.",
            "{\"name\": \"delete_everything\", \"arguments\": {}}",
            "{\"answer\": \"2 %\"}",
            "{ not json }\nand more",
            "{{ not json }}\nand more",
            "Use `{}` or ``` to fence.",
            "a < b <tool",
            "```",
        ] {
            check(text, text, &[]);
        }
    }
}
