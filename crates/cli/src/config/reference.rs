//! The reference of all settings, made from the fields and their documentation.

use std::fmt::Write;

use schemars::generate::SchemaSettings;
use serde_json::Value;
use toml::Table;

use super::Config;

const HEAD: &str = "\
# Settings

Made by `ibid config reference`. A setting can stand in `ibid.toml`, in the environment (capital letters,
`IBID_` before it, two underscores for each dot) and in a flag (`--set KEY=VALUE`); the later wins.

| setting | what it is for | form | default | environment |
|---|---|---|---|---|
";

/// All settings as a Markdown table.
pub(crate) fn reference() -> anyhow::Result<String> {
    let generator =
        SchemaSettings::default().with(|settings| settings.inline_subschemas = true).into_generator();
    let schema = serde_json::to_value(generator.into_root_schema_for::<Config>())?;
    let mut text = HEAD.to_owned();
    rows(&schema, &Table::try_from(Config::default())?, "", &mut text)?;
    Ok(text)
}

fn rows(schema: &Value, defaults: &Table, prefix: &str, text: &mut String) -> anyhow::Result<()> {
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    for (name, property) in properties {
        let key = format!("{prefix}{name}");
        match defaults.get(name) {
            Some(toml::Value::Table(inner)) => rows(property, inner, &format!("{key}."), text)?,
            default => {
                let default = default.map(|value| format!("`{value}`")).unwrap_or_default();
                let variable = format!("IBID_{}", key.to_uppercase().replace('.', "__"));
                let (purpose, form) = (&property["description"], &property["type"]);
                let (purpose, form) =
                    (purpose.as_str().unwrap_or_default(), form.as_str().unwrap_or_default());
                writeln!(
                    text,
                    "| `{key}` | {} | {form} | {default} | `{variable}` |",
                    purpose.replace('\n', " ")
                )?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_reference_in_the_docs_is_the_one_of_this_version() {
        let written = include_str!("../../../../docs/configuration.md");
        let made = super::reference().unwrap();
        assert_eq!(
            written, made,
            "write it anew: cargo run -p ibid -- config reference > docs/configuration.md"
        );
    }
}
