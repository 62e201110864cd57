//! Whether a file can be a format: a JSON Schema within what every provider of models takes, with `answer` as its first field.

use serde_json::{Map, Value, json};

use super::{ANSWER, CITATIONS, FOR_VIEWS, VERSION};

/// So many fields may a format have, and so deep may they be nested.
const MOST_FIELDS: usize = 100;
const DEEPEST: usize = 5;

/// What a schema may say of a field. Providers refuse or ignore the rest.
const KEYWORDS: [&str; 11] = [
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "default",
    "$schema",
    "$comment",
];
/// The types that a field may have.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];
/// Whether a field can be shown in a way.
type Fits = fn(&Value) -> bool;
/// How a field may be shown, and which fields can be shown so.
const VIEWS: [(&str, Fits); 9] = [
    ("text", |_| true),
    ("chips", |field| is(field, "string") || is_list_of(field, "string")),
    ("checklist", |field| is_list_of(field, "string") || is_list_of(field, "object")),
    ("table", |field| is_list_of(field, "object")),
    ("facts", |field| is(field, "object")),
    ("money", |field| is(field, "number") || is(field, "integer") || is(field, "string")),
    ("warning", |field| is(field, "string") || is_list_of(field, "string")),
    ("questions", |field| is_list_of(field, "string")),
    ("level", |field| field["enum"].is_array()),
];

/// Everything that keeps a schema from being a format.
pub(super) fn problems(schema: &Value) -> Vec<String> {
    let mut check = Check::default();
    let Some(fields) = schema["properties"].as_object().filter(|_| is(schema, "object")) else {
        return vec!["it must have `\"type\": \"object\"` and `properties`".to_owned()];
    };
    match fields.iter().next() {
        Some((name, answer)) if name == ANSWER && answer["type"] == "string" => {}
        _ => check.problems.push(format!(
            "its first property must be `{ANSWER}` of type string: it is shown while it is written"
        )),
    }
    for reserved in [CITATIONS, VERSION] {
        if fields.contains_key(reserved) {
            check.problems.push(format!("`{reserved}` is added by ibid; leave it out"));
        }
    }
    if schema.get("x-version").is_some_and(|version| !version.is_string()) {
        check.problems.push("`x-version` must be a text, such as \"1.0\"".to_owned());
    }
    check.field("", schema, 0);
    if check.fields > MOST_FIELDS {
        check.problems.push(format!("it has {} properties, and {MOST_FIELDS} at most", check.fields));
    }
    check.problems
}

#[derive(Default)]
struct Check {
    problems: Vec<String>,
    fields: usize,
}

impl Check {
    fn field(&mut self, path: &str, field: &Value, depth: usize) {
        let at = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
        let Some(object) = field.as_object() else {
            return self.problems.push(format!("{at}it must be an object"));
        };
        if depth > DEEPEST {
            return self.problems.push(format!("{at}it is nested more than {DEEPEST} levels deep"));
        }
        for keyword in
            object.keys().filter(|name| !name.starts_with(FOR_VIEWS) && !KEYWORDS.contains(&name.as_str()))
        {
            self.problems.push(format!("{at}`{keyword}` is not taken by every provider; leave it out"));
        }
        let types = types(field);
        let real: Vec<&&str> = types.iter().filter(|kind| **kind != "null").collect();
        if types.iter().any(|kind| !TYPES.contains(kind)) || real.len() != 1 {
            self.problems.push(format!(
                "{at}`type` must be one of {}, or such a type and null, as in [\"string\", \"null\"]",
                TYPES[..6].join(", ")
            ));
        }
        if object.get("additionalProperties").is_some_and(|more| *more != json!(false)) {
            self.problems.push(format!("{at}`additionalProperties` must be false: a format is closed"));
        }
        if let Some(values) = object.get("enum") {
            let texts = values.as_array().filter(|values| !values.is_empty());
            if texts.is_none_or(|values| !values.iter().all(|value| value.is_string() || value.is_null())) {
                self.problems.push(format!("{at}`enum` must be a list of texts"));
            }
        }
        self.view(&at, object, field);
        if is(field, "array") {
            match object.get("items") {
                Some(items) => self.field(&format!("{path}[]"), items, depth + 1),
                None => self.problems.push(format!("{at}a list needs `items`")),
            }
        }
        if is(field, "object") {
            self.properties(path, &at, object, depth);
        }
    }

    fn properties(&mut self, path: &str, at: &str, object: &Map<String, Value>, depth: usize) {
        let Some(properties) = object.get("properties").and_then(Value::as_object) else {
            return self.problems.push(format!("{at}an object needs `properties`"));
        };
        if let Some(required) = object.get("required").and_then(Value::as_array) {
            for name in properties.keys().filter(|name| !required.contains(&json!(name))) {
                self.problems.push(format!(
                    "{at}`required` must name `{name}`: providers take no optional fields; let its type be null as well"
                ));
            }
        }
        self.fields += properties.len();
        for (name, inner) in properties {
            let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
            if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
                self.problems
                    .push(format!("{at}`{name}` is no name: use letters, digits, underscores and hyphens"));
            }
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            self.field(&path, inner, depth + 1);
        }
    }

    fn view(&mut self, at: &str, object: &Map<String, Value>, field: &Value) {
        let is_code = |code: &str| code.len() == 3 && code.chars().all(|letter| letter.is_ascii_uppercase());
        if object.get("x-currency").is_some_and(|currency| !currency.as_str().is_some_and(is_code)) {
            self.problems.push(format!("{at}`x-currency` must be a code of three letters, such as EUR"));
        }
        let Some(view) = object.get("x-view") else { return };
        let known = VIEWS.iter().find(|(name, _)| view == name);
        let names = || VIEWS.map(|(name, _)| name).join(", ");
        match known {
            None => self.problems.push(format!("{at}there is no view {view}; there are {}", names())),
            Some((_, fits)) if !fits(field) => {
                self.problems.push(format!("{at}a field of this type cannot be shown as {view}"));
            }
            Some(_) => {}
        }
    }
}

/// Closes a schema that is in order: all fields of every object are required, and there are no others.
pub(super) fn close(field: &mut Value) {
    if let Some(properties) = field.get_mut("properties").and_then(Value::as_object_mut) {
        let names: Vec<&String> = properties.keys().collect();
        let required = json!(names);
        properties.values_mut().for_each(close);
        field["required"] = required;
        field["additionalProperties"] = json!(false);
    }
    if let Some(items) = field.get_mut("items") {
        close(items);
    }
}

/// The types of a field.
pub(super) fn types(field: &Value) -> Vec<&str> {
    match &field["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().map(|kind| kind.as_str().unwrap_or_default()).collect(),
        _ => Vec::new(),
    }
}

/// Whether a field has a type.
pub(super) fn is(field: &Value, kind: &str) -> bool {
    types(field).contains(&kind)
}

fn is_list_of(field: &Value, kind: &str) -> bool {
    is(field, "array") && is(&field["items"], kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(properties: Value, expected: &str) {
        let found = problems(&json!({ "type": "object", "properties": properties }));
        assert!(found.iter().any(|problem| problem.contains(expected)), "{found:?}");
    }

    #[test]
    fn what_no_provider_takes_is_refused_with_what_helps() {
        let answer = json!({ "type": "string" });
        refused(json!({ "text": answer }), "its first property must be `answer`");
        refused(json!({ "answer": answer, "citations": answer }), "`citations` is added by ibid");
        refused(json!({ "answer": answer, "a": { "type": "string", "minLength": 3 } }), "`a`: `minLength`");
        refused(json!({ "answer": answer, "a": { "$ref": "#/x" } }), "`a`: `$ref` is not taken");
        refused(json!({ "answer": answer, "a": {} }), "`a`: `type` must be one of");
        refused(
            json!({ "answer": answer, "a": { "type": ["string", "number"] } }),
            "or such a type and null",
        );
        refused(json!({ "answer": answer, "a": { "type": "array" } }), "`a`: a list needs `items`");
        refused(json!({ "answer": answer, "a": { "type": "object" } }), "`a`: an object needs `properties`");
        refused(json!({ "answer": answer, "a b": answer }), "`a b` is no name");
        refused(
            json!({ "answer": answer, "a": { "type": "string", "x-view": "graph" } }),
            "no view \"graph\"",
        );
        refused(
            json!({ "answer": answer, "a": { "type": "string", "x-view": "table" } }),
            "cannot be shown as",
        );
        let dollars = json!({ "type": "number", "x-view": "money", "x-currency": "dollars" });
        refused(
            json!({ "answer": answer, "a": dollars }),
            "`a`: `x-currency` must be a code of three letters",
        );
        let optional = json!({ "type": "object", "properties": { "b": answer }, "required": [] });
        refused(json!({ "answer": answer, "a": optional }), "`a`: `required` must name `b`");
        let mut deep = json!({ "type": "string" });
        for _ in 0..6 {
            deep = json!({ "type": "array", "items": deep });
        }
        refused(json!({ "answer": answer, "a": deep }), "nested more than 5 levels");
        let many: Map<String, Value> = [("answer".to_owned(), answer.clone())]
            .into_iter()
            .chain((0..100).map(|at| (format!("f{at}"), answer.clone())))
            .collect();
        refused(Value::Object(many), "it has 101 properties");
        assert_eq!(problems(&json!([])), ["it must have `\"type\": \"object\"` and `properties`"]);
    }
}
