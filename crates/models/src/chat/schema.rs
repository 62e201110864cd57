//! The form of an answer: what a provider is sent of it, and whether an answer has it.

use serde_json::{Map, Value, json};

/// The schema in the strict form that providers enforce: objects are closed and all their properties required.
/// A schema with maps of any key cannot be put so; it is sent as it is.
pub(super) fn for_provider(name: &str, schema: &Value) -> Value {
    let mut strict = schema.clone();
    let closed = close(&mut strict);
    let schema = if closed { &strict } else { schema };
    json!({ "type": "json_schema", "json_schema": { "name": plain(name), "schema": schema, "strict": closed } })
}

/// Providers take letters, digits, underscores and hyphens.
fn plain(name: &str) -> String {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    name.chars().map(|letter| if allowed(letter) { letter } else { '_' }).take(64).collect()
}

/// Closes every object in the schema; returns whether that was possible.
fn close(schema: &mut Value) -> bool {
    match schema {
        Value::Array(items) => items.iter_mut().all(close),
        Value::Object(object) => close_object(object),
        _ => true,
    }
}

fn close_object(object: &mut Map<String, Value>) -> bool {
    for unknown in ["$schema", "format", "default", "title"] {
        // A property may have such a name; only the keyword, whose value is no schema, goes.
        if object.get(unknown).is_some_and(|value| !value.is_object()) {
            object.remove(unknown);
        }
    }
    if let Some(any) = object.remove("oneOf") {
        object.insert("anyOf".to_owned(), any);
    }
    if let Some(value) = object.remove("const") {
        object.insert("enum".to_owned(), json!([value]));
    }
    let is_object = object.get("type").is_some_and(|kind| {
        kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("object")))
    });
    if is_object {
        let Some(Value::Object(properties)) = object.get("properties") else { return false };
        if object.get("additionalProperties").is_some_and(|extra| *extra != json!(false)) {
            return false;
        }
        let names: Vec<Value> = properties.keys().map(|name| json!(name)).collect();
        object.insert("required".to_owned(), Value::Array(names));
        object.insert("additionalProperties".to_owned(), json!(false));
    }
    let mut inner =
        object.iter_mut().filter(|(keyword, _)| !["enum", "required"].contains(&keyword.as_str()));
    inner.all(|(keyword, value)| match (keyword.as_str(), value) {
        ("properties" | "$defs" | "definitions", Value::Object(named)) => named.values_mut().all(close),
        (_, value) => close(value),
    })
}

/// The JSON in an answer, without a block or words around it, if it fits the schema; else what is wrong.
pub(super) fn check(schema: &Value, answer: &str) -> Result<String, String> {
    let text = json_in(answer);
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    let validator =
        jsonschema::validator_for(schema).map_err(|error| format!("the schema cannot be used: {error}"))?;
    let wrong: Vec<String> = validator
        .iter_errors(&value)
        .take(5)
        .map(|error| match error.instance_path().to_string() {
            path if path.is_empty() => error.to_string(),
            path => format!("{error} (at {path})"),
        })
        .collect();
    if wrong.is_empty() { Ok(text.to_owned()) } else { Err(wrong.join("; ")) }
}

/// The first block of JSON, or what stands between the first brace and the last.
fn json_in(answer: &str) -> &str {
    let answer = answer.trim();
    if serde_json::from_str::<serde::de::IgnoredAny>(answer).is_ok() {
        return answer;
    }
    let block = answer.find("```").and_then(|at| {
        let inner = answer[at + 3..].trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
        inner.find("```").map(|end| inner[..end].trim())
    });
    if let Some(block) = block {
        return block;
    }
    match (answer.find(['{', '[']), answer.rfind(['}', ']'])) {
        (Some(from), Some(to)) if from < to => &answer[from..=to],
        _ => answer,
    }
}

#[cfg(test)]
mod tests {
    use ibid_core::model::AnswerSchema;
    use schemars::JsonSchema;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Answer {
        /// What is said.
        text: String,
        page: Option<u32>,
        sure: Sure,
        sources: Vec<Source>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Sure {
        High,
        Low,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Source {
        title: String,
    }

    #[test]
    fn a_rust_type_becomes_a_strict_schema() {
        let schema = AnswerSchema::of::<Answer>();
        let sent = for_provider(&schema.name, &schema.schema);
        insta::assert_snapshot!(serde_json::to_string_pretty(&sent).unwrap());
        let map = AnswerSchema::of::<std::collections::BTreeMap<String, u32>>();
        assert_eq!(for_provider("a b", &map.schema)["json_schema"]["strict"], false);
        assert_eq!(for_provider("a b", &map.schema)["json_schema"]["name"], "a_b");
    }

    #[test]
    fn an_answer_is_checked_and_taken_out_of_what_stands_around_it() {
        let schema = AnswerSchema::of::<Answer>().schema;
        let good = r#"{"text":"2 %","page":null,"sure":"High","sources":[{"title":"HTS"}]}"#;
        let block = format!("Here it is:\n```json\n{good}\n```\nThat is all.");
        let words = format!("Sure! {good} Anything else?");
        for answer in [good, &block, &words] {
            assert_eq!(check(&schema, answer).as_deref(), Ok(good));
        }
        let missing = check(&schema, r#"{"text":"2 %","sure":"Perhaps","sources":[]}"#).unwrap_err();
        assert!(missing.contains("Perhaps") && missing.contains("/sure"), "{missing}");
        assert!(check(&schema, "I do not know").unwrap_err().contains("no JSON"));
        assert!(check(&schema, "").is_err());
    }
}
