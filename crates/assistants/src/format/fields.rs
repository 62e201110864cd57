//! The fields of an answer by their schema: empty ones, those that a model wrote, and what they claim.

use serde_json::{Map, Value, json};

use super::check::is;
use super::{ANSWER, FOR_VIEWS};

/// Takes out of a schema what no model needs to know.
pub(super) fn for_model(field: &mut Value) {
    let Some(object) = field.as_object_mut() else { return };
    object.retain(|keyword, _| {
        !keyword.starts_with(FOR_VIEWS) && !["title", "default", "$comment"].contains(&keyword.as_str())
    });
    for inner in object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        for_model(inner.1);
    }
    if let Some(items) = object.get_mut("items") {
        for_model(items);
    }
}

/// A field that says nothing: its default, null where it may be, else as empty as its type can be.
pub(super) fn blank(field: &Value) -> Value {
    if let Some(default) = field.get("default") {
        return default.clone();
    }
    if is(field, "object") && !is(field, "null") {
        let properties = field["properties"].as_object().into_iter().flatten();
        return properties.map(|(name, inner)| (name.clone(), blank(inner))).collect::<Map<_, _>>().into();
    }
    match field["enum"].as_array().and_then(|values| values.first()) {
        _ if is(field, "null") => Value::Null,
        Some(first) => first.clone(),
        None if is(field, "array") => json!([]),
        None if is(field, "string") => json!(""),
        None if is(field, "boolean") => json!(false),
        None => json!(0),
    }
}

/// What a model wrote, in the order of the schema: an empty text is null where it may be.
pub(super) fn tidied(field: &Value, written: &Value) -> Value {
    match written {
        Value::String(text) if text.trim().is_empty() && is(field, "null") => Value::Null,
        Value::Array(items) => items.iter().map(|item| tidied(&field["items"], item)).collect(),
        Value::Object(values) => {
            let properties = field["properties"].as_object().into_iter().flatten();
            let tidy = |(name, inner): (&String, &Value)| {
                let value = values.get(name).map_or_else(|| blank(inner), |value| tidied(inner, value));
                (name.clone(), value)
            };
            properties.map(tidy).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Adds what fields claim to a text, a line for each: their texts and numbers. The answer itself, choices from a list and
/// questions claim nothing.
pub(super) fn claims(field: &Value, written: &Value, into: &mut String) {
    if field["enum"].is_array() || field["x-view"] == "questions" {
        return;
    }
    match written {
        Value::String(text) if text.trim().is_empty() => {}
        Value::String(text) => {
            into.push('\n');
            into.push_str(text);
        }
        Value::Number(number) => {
            into.push('\n');
            into.push_str(&number.to_string());
        }
        Value::Array(items) => items.iter().for_each(|item| claims(&field["items"], item, into)),
        Value::Object(values) => {
            let properties = field["properties"].as_object().into_iter().flatten();
            for (name, inner) in properties.filter(|(name, _)| *name != ANSWER) {
                claims(inner, values.get(name).unwrap_or(&Value::Null), into);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}
