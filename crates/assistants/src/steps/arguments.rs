//! The arguments of a call as its tool takes them. Small models leave out what they have just read, invent fields, and write
//! numbers as texts; what is meant is clear all the same.

use ibid_core::tool::Tool;
use serde_json::{Map, Value};

use crate::turn::{Call, TurnState};

/// The arguments of a call as its tool is called with them.
pub(super) fn arguments_for(tool: &dyn Tool, call: &Call, turn: &TurnState) -> Value {
    mended(&tool.spec().parameters, call.arguments.clone(), tool.question_argument(), &turn.question)
}

/// Arguments that fit the schema of a tool, as far as they can be made to. `asks` is the argument for which the question can
/// stand.
fn mended(schema: &Value, given: Value, asks: Option<&str>, question: &str) -> Value {
    let Some(properties) = schema["properties"].as_object() else { return given };
    let is_closed = schema["additionalProperties"] == Value::Bool(false);
    let mut fields = match given {
        Value::Object(fields) => fields,
        Value::String(text) => match asks {
            Some(name) => Map::from_iter([(name.to_owned(), Value::String(text))]),
            None => return Value::String(text),
        },
        Value::Null => Map::new(),
        other => return other,
    };
    // Models wrap arguments into the name of the field that held them.
    if let [(name, Value::Object(_))] = fields.iter().collect::<Vec<_>>().as_slice()
        && ["arguments", "parameters", "input"].contains(&name.as_str())
        && !properties.contains_key(*name)
    {
        let inner = fields.values().next().cloned();
        fields = inner.and_then(|inner| inner.as_object().cloned()).unwrap_or_default();
    }
    let unknown: Vec<String> =
        fields.keys().filter(|name| is_closed && !properties.contains_key(*name)).cloned().collect();
    let invented: Vec<Value> = unknown.iter().filter_map(|name| fields.remove(name)).collect();
    for (name, value) in &mut fields {
        if let Some(property) = properties.get(name) {
            *value = fitted(property, value.take());
        }
    }
    if let Some(name) = asks
        && text_of(fields.get(name)).is_none()
    {
        let said = invented.iter().find_map(|value| text_of(Some(value)));
        fields.insert(name.to_owned(), said.unwrap_or(question).into());
    }
    // What is nothing is left out where it may be.
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    fields.retain(|name, value| !value.is_null() || is_required(name));
    Value::Object(fields)
}

/// A value of the type that a property has, if it can be read as one.
fn fitted(property: &Value, value: Value) -> Value {
    let takes = |kind: &str| match &property["type"] {
        Value::Array(kinds) => kinds.iter().any(|own| own == kind),
        own => own == kind,
    };
    match value {
        Value::String(text) if !takes("string") => {
            let text = text.trim();
            if takes("array") && !text.starts_with('[') {
                let items = text.split(',').map(|item| Value::String(item.trim().to_owned()));
                return Value::Array(items.filter(|item| *item != "").collect());
            }
            match text {
                "" | "null" | "none" | "None" => Value::Null,
                _ => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
            }
        }
        Value::Number(number) if takes("string") && !takes("number") && !takes("integer") => {
            Value::String(number.to_string())
        }
        Value::Array(mut items) if takes("string") && !takes("array") && items.len() == 1 => items.remove(0),
        other => other,
    }
}

fn text_of(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(given: Value, expected: Value) {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["query"],
            "properties": {
                "query": { "type": "string" },
                "top": { "type": ["integer", "null"] },
                "agencies": { "type": ["array", "null"], "items": { "type": "string" } },
            },
        });
        assert_eq!(mended(&schema, given, Some("query"), "the question"), expected);
    }

    #[test]
    fn what_is_meant_is_taken() {
        check(json!({ "query": "x", "top": 3 }), json!({ "query": "x", "top": 3 }));
        check(json!({ "query": "x", "type": "y" }), json!({ "query": "x" }));
        check(json!({ "text": "lamps" }), json!({ "query": "lamps" }));
        check(json!({}), json!({ "query": "the question" }));
        check(json!("lamps"), json!({ "query": "lamps" }));
        check(Value::Null, json!({ "query": "the question" }));
        check(json!({ "query": " ", "top": "5" }), json!({ "query": "the question", "top": 5 }));
        check(json!({ "query": ["x"], "top": "null" }), json!({ "query": "x" }));
        check(json!({ "arguments": { "query": "x" } }), json!({ "query": "x" }));
        check(
            json!({ "query": "x", "agencies": "FDA, FCC" }),
            json!({ "query": "x", "agencies": ["FDA", "FCC"] }),
        );
    }

    #[test]
    fn other_tools_keep_what_they_are_given() {
        let open =
            json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
        let given = json!({ "more": 1 });
        assert_eq!(mended(&open, given.clone(), None, "delete everything"), given);
        assert_eq!(mended(&open, json!("x"), None, "q"), json!("x"));
    }
}
