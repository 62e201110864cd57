//! Puts the configuration together: defaults, file, environment, flags, the later over the earlier.
//! Every key is checked against those that exist, so that a slip of the pen is told and not ignored.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use toml::{Table, Value};

use super::known::{Known, known};
use ibid_app::Settings;
use ibid_app::nearest;

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    File(PathBuf),
    Environment(String),
    Flag,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Environment(name) => write!(formatter, "environment: {name}"),
            Self::Flag => formatter.write_str("flag: --set"),
        }
    }
}

/// One setting as it stands.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) value: Value,
    pub(crate) source: Source,
}

/// The configuration, and each setting by its dotted name with where it comes from.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Settings,
    pub(crate) settings: BTreeMap<String, Setting>,
    pub(crate) file: Option<PathBuf>,
}

/// What settings were called before. They are still read.
const FORMER_NAMES: [(&str, &str); 1] = [("store.place", "store.location")];

/// Environment variables that are no settings.
const NOT_SETTINGS: [&str; 3] = ["IBID_CONFIG", "IBID_LOG", "IBID_KEY"];
const PREFIX: &str = "IBID_";

/// Reads the configuration. `file` must exist if it is named; `ibid.toml` need not.
pub(crate) fn load(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
    flags: &[String],
) -> anyhow::Result<Loaded> {
    let (known, mut settings) = (known(), BTreeMap::new());
    let defaults = Table::try_from(Settings::default()).context("the defaults cannot be written")?;
    flatten(&defaults, &known, "", &mut |key, value| {
        settings.insert(key, Setting { value: value.clone(), source: Source::Default });
    });
    let file =
        file.map(Path::to_owned).or_else(|| Some(PathBuf::from("ibid.toml")).filter(|path| path.exists()));
    if let Some(path) = &file {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let table: Table = text.parse().with_context(|| format!("{} is not valid TOML", path.display()))?;
        let mut given = Vec::new();
        flatten(&table, &known, "", &mut |key, value| given.push((key, value.clone())));
        for (key, value) in given {
            set(&mut settings, &known, &key, value, Source::File(path.clone()))
                .with_context(|| format!("in {}", path.display()))?;
        }
    }
    for (name, text) in environment {
        if let Some(key) = name.strip_prefix(PREFIX).filter(|_| !NOT_SETTINGS.contains(&name.as_str())) {
            let key = key.to_lowercase().replace("__", ".");
            let source = Source::Environment(name.clone());
            set(&mut settings, &known, &key, parse(&text), source)
                .with_context(|| format!("in the environment variable {name}"))?;
        }
    }
    for flag in flags {
        let Some((key, text)) = flag.split_once('=') else {
            bail!("`--set {flag}` has no value; write --set {flag}=VALUE");
        };
        set(&mut settings, &known, key, parse(text), Source::Flag).context("in a --set flag")?;
    }
    let config = assemble(&settings)?;
    Ok(Loaded { config, settings, file })
}

fn set(
    settings: &mut BTreeMap<String, Setting>,
    known: &[Known],
    key: &str,
    value: Value,
    source: Source,
) -> anyhow::Result<()> {
    let key = match FORMER_NAMES.iter().find(|(former, _)| *former == key) {
        Some((former, name)) => {
            tracing::warn!("the setting `{former}` ({source}) is called `{name}` now");
            name
        }
        None => key,
    };
    if !known.iter().any(|known| known.matches(key)) {
        let names: Vec<String> = known.iter().map(|known| known.beside(key)).collect();
        match nearest(key, names.iter().map(String::as_str)) {
            Some(name) => bail!("there is no setting `{key}`; did you mean `{name}`?"),
            None => bail!("there is no setting `{key}`; `ibid config reference` lists all"),
        }
    }
    settings.insert(key.to_owned(), Setting { value, source });
    Ok(())
}

/// A value as TOML writes it, or else as plain text.
fn parse(text: &str) -> Value {
    let table: Result<Table, _> = format!("value = {text}").parse();
    let value = table.ok().and_then(|mut table| table.remove("value"));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Each setting in a table by its dotted name. What is a setting as a whole is not taken apart.
fn flatten(table: &Table, known: &[Known], prefix: &str, found: &mut impl FnMut(String, &Value)) {
    for (key, value) in table {
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) if !known.iter().any(|known| known.matches(&key)) => {
                flatten(inner, known, &key, found);
            }
            value => found(key, value),
        }
    }
}

fn assemble(settings: &BTreeMap<String, Setting>) -> anyhow::Result<Settings> {
    let mut root = Table::new();
    for (key, setting) in settings {
        let mut table = &mut root;
        let mut parts = key.split('.').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                table.insert(part.to_owned(), setting.value.clone());
                break;
            }
            let inner = table.entry(part).or_insert_with(|| Value::Table(Table::new()));
            table = inner.as_table_mut().context("a setting is both a value and a group")?;
        }
    }
    // A wrong value is blamed on the setting and on where that comes from.
    root.clone().try_into().map_err(|error: toml::de::Error| {
        let blamed = settings
            .iter()
            .find(|(key, setting)| setting.source != Source::Default && !alone_is_fine(key, &setting.value));
        match blamed {
            Some((key, setting)) => {
                anyhow::anyhow!("`{key}` ({}) cannot be used: {}", setting.source, error.message())
            }
            None => anyhow::anyhow!("the configuration cannot be used: {}", error.message()),
        }
    })
}

/// Whether a setting could be used if every other one had its default.
fn alone_is_fine(key: &str, value: &Value) -> bool {
    let Ok(mut root) = Table::try_from(Settings::default()) else { return false };
    let mut parts: Vec<&str> = key.split('.').collect();
    let Some(last) = parts.pop() else { return false };
    let mut table = &mut root;
    for part in parts {
        let inner = table.entry(part).or_insert_with(|| Value::Table(Table::new()));
        let Some(inner) = inner.as_table_mut() else { return false };
        table = inner;
    }
    table.insert(last.to_owned(), value.clone());
    root.try_into::<Settings>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(file: &str, environment: &[(&str, &str)], flags: &[&str]) -> anyhow::Result<Loaded> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("ibid.toml");
        std::fs::write(&path, file)?;
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        load(Some(&path), environment, &flags)
    }

    #[track_caller]
    fn refused(loaded: anyhow::Result<Loaded>, expected: &str) {
        let error = loaded.unwrap_err();
        let told: Vec<_> = error.chain().map(ToString::to_string).collect();
        assert!(told.iter().any(|text| text.contains(expected)), "{told:?}");
    }

    #[test]
    fn later_layers_win_and_are_named() {
        let file = "data = 'from-file'\n[engine]\nretention = '1h'\nstop_grace = '1s'";
        let environment = [("IBID_ENGINE__RETENTION", "2h"), ("IBID_LOG", "debug"), ("HOME", "/")];
        let loaded = with(file, &environment, &["engine.stop_grace=3s"]).unwrap();
        assert_eq!(loaded.config.data, PathBuf::from("from-file"));
        assert_eq!(loaded.config.engine.retention.0.as_secs(), 7200);
        assert_eq!(loaded.config.engine.stop_grace.0.as_secs(), 3);
        let source = |key: &str| loaded.settings[key].source.clone();
        assert_eq!(source("engine.retention"), Source::Environment("IBID_ENGINE__RETENTION".to_owned()));
        assert_eq!(source("engine.stop_grace"), Source::Flag);
        assert_eq!(source("engine.event_delay"), Source::Default);
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest_right_one() {
        refused(with("[engine]\nretenton = '1h'", &[], &[]), "did you mean `engine.retention`?");
        refused(with("", &[("IBID_ENGIN__STOP_GRACE", "1s")], &[]), "did you mean `engine.stop_grace`?");
        refused(with("", &[], &["xyzzy=1"]), "`ibid config reference` lists all");
        let slip = "[providers.mine]\nbase_ulr = 'http://127.0.0.1:8080/v1'";
        refused(with(slip, &[], &[]), "did you mean `providers.mine.base_url`?");
        refused(with("", &[], &["engine.retention"]), "write --set engine.retention=VALUE");
    }

    #[test]
    fn a_setting_that_was_renamed_is_still_read() {
        let settings = with("[store]\nplace = 's3://documents'", &[], &[]).unwrap().config.store;
        assert_eq!(settings.location.as_deref(), Some("s3://documents"));
    }

    #[test]
    fn entries_with_names_of_their_own_come_from_every_layer() {
        let file =
            "[models.strong]\nprovider = 'openai'\nmodel = 'gpt-4o'\nextra = { reasoning_effort = 'low' }";
        let environment = [("IBID_MODELS__STRONG__CONTEXT", "128000")];
        let config = with(file, &environment, &["models.small.provider=ollama"]).unwrap().config;
        let strong = &config.models["strong"];
        assert_eq!((strong.model.as_str(), strong.context), ("gpt-4o", Some(128_000)));
        assert_eq!(strong.extra["reasoning_effort"], "low");
        assert_eq!(config.models["small"].provider, "ollama");
        refused(with(file, &[], &["models.strong.context=big"]), "`models.strong.context` (flag: --set)");
    }

    #[test]
    fn wrong_values_are_refused_with_where_they_come_from() {
        let environment = [("IBID_ENGINE__RETENTION", "soon")];
        refused(with("", &environment, &[]), "`engine.retention` (environment: IBID_ENGINE__RETENTION)");
        refused(with("", &environment, &[]), "`soon` is not a length of time such as 24h");
        refused(with("data = 5", &[], &[]), "`data`");
        refused(with("data = [", &[], &[]), "is not valid TOML");
    }
}
