//! The reference of all settings, made from the fields and their documentation.

use std::fmt::Write;

use toml::{Table, Value};

use super::known::known;
use ibid_app::Settings;
use ibid_app::settings::{ModelSettings, ProviderAccount};

const HEAD: &str = "\
# Settings

Made by `ibid config reference`. A setting can stand in `ibid.toml`, in the environment (capital letters,
`IBID_` before it, two underscores for each dot) and in a flag (`--set KEY=VALUE`); the later wins. A star stands for
a name that you choose, of letters, digits, hyphens and underscores.

| setting | what it is for | form | default | environment |
|---|---|---|---|---|
";

/// All settings as a Markdown table.
pub(crate) fn reference() -> anyhow::Result<String> {
    let mut defaults = Settings::default();
    defaults.providers.insert("*".to_owned(), ProviderAccount::default());
    defaults.models.insert("*".to_owned(), ModelSettings::default());
    let defaults = Value::Table(Table::try_from(defaults)?);
    let mut text = HEAD.to_owned();
    for known in known() {
        let key = &known.pattern;
        let default = key.split('.').try_fold(&defaults, |table, part| table.get(part));
        let default = default.map(|value| format!("`{value}`")).unwrap_or_default();
        let variable = format!("IBID_{}", key.to_uppercase().replace('.', "__"));
        writeln!(text, "| `{key}` | {} | {} | {default} | `{variable}` |", known.purpose, known.form)?;
    }
    Ok(text)
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
