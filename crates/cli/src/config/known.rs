//! Which settings there are, read off the types: each with its dotted name, what it is for and its form. A star
//! stands for a name that the user chooses.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use ibid_app::Settings;

/// One setting that there is.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// Its dotted name, such as `providers.*.base_url`.
    pub(crate) pattern: String,
    /// What it is for.
    pub(crate) purpose: String,
    /// Its form.
    pub(crate) form: String,
}

impl Known {
    /// Whether a key names this setting.
    pub(crate) fn matches(&self, key: &str) -> bool {
        let (mut pattern, mut parts) = (self.pattern.split('.'), key.split('.'));
        loop {
            match (pattern.next(), parts.next()) {
                (None, None) => return true,
                (Some("*"), Some(part)) if !part.is_empty() => {}
                (Some(known), Some(part)) if known == part => {}
                _ => return false,
            }
        }
    }

    /// The setting as it would be named beside `key`, with the user's own names in it.
    pub(crate) fn beside(&self, key: &str) -> String {
        let mut parts = key.split('.');
        let named = self.pattern.split('.').map(|known| {
            let part = parts.next();
            if known == "*" { part.unwrap_or("NAME") } else { known }
        });
        named.collect::<Vec<_>>().join(".")
    }
}

/// Every setting, in the order of the types.
pub(crate) fn known() -> Vec<Known> {
    let generator =
        SchemaSettings::default().with(|settings| settings.inline_subschemas = true).into_generator();
    let schema = generator.into_root_schema_for::<Settings>().to_value();
    let mut found = Vec::new();
    collect(&schema, "", &mut found);
    found
}

fn collect(schema: &Value, prefix: &str, found: &mut Vec<Known>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let pattern = format!("{prefix}{name}");
        let entry = &property["additionalProperties"];
        if property["properties"].is_object() {
            collect(property, &format!("{pattern}."), found);
        } else if entry["properties"].is_object() {
            collect(entry, &format!("{pattern}.*."), found);
        } else {
            let purpose = property["description"].as_str().unwrap_or_default().replace('\n', " ");
            found.push(Known { pattern, purpose, form: form_of(property) });
        }
    }
}

/// The form of a value in a word or two.
fn form_of(property: &Value) -> String {
    let choices = |value: &Value| {
        let named = |choice: &Value| choice["const"].as_str().or(choice.as_str()).map(str::to_owned);
        let list = ["enum", "oneOf"].iter().find_map(|keyword| value[*keyword].as_array())?;
        list.iter().map(named).collect::<Option<Vec<_>>>().map(|names| names.join(" or "))
    };
    let kind = |value: &Value| match &value["type"] {
        Value::String(kind) => Some(kind.clone()),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").map(str::to_owned)
        }
        _ => None,
    };
    let alternatives = property["anyOf"].as_array().into_iter().flatten();
    let one = std::iter::once(property).chain(alternatives);
    one.filter_map(|value| choices(value).or_else(|| kind(value)))
        .find(|form| form != "null")
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_user_chooses_fit_the_star() {
        let known = known();
        let is_known = |key: &str| known.iter().any(|known| known.matches(key));
        assert!(is_known("data") && is_known("engine.retention"));
        assert!(is_known("providers.my-own.base_url") && is_known("models.strong.fallback"));
        assert!(!is_known("providers.base_url") && !is_known("models.strong") && !is_known("models..model"));
        let base = known.iter().find(|known| known.pattern == "providers.*.base_url").unwrap();
        assert_eq!(base.beside("providers.mine.base_ulr"), "providers.mine.base_url");
    }
}
