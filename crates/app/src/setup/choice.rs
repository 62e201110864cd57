//! The chat model that a person chooses: tried, and written down.

use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use ibid_core::model::{Caller, ChatModel as _, ChatPart, ChatRequest, Prompt};
use ibid_core::{Secret, Tenant};
use ibid_models::{Chat, ChatSettings, Provider, ProviderSettings, RemoteChat, WindowSource};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use toml::{Table, Value};

use super::ChosenModel;
use crate::error::{DoingExt, Error};
use crate::models::provider_settings;
use crate::settings::Settings;

/// The model that answers has this name in the settings.
const ROLE: &str = "answer";
const QUESTION: &str = "Say in one short sentence that you are ready.";
/// So long it may take to answer; a model that is being loaded into memory takes its time.
const PATIENCE: Duration = Duration::from_secs(120);
/// So much of its answer is shown.
const MOST_LETTERS: usize = 200;
/// Where keys are kept, in the data folder.
const KEYS: &str = "keys";

/// A chat model of a provider, with what is needed to reach it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelChoice {
    /// Whose model it is: a provider that is known by name, or a new one.
    pub provider: String,
    /// Its name there.
    pub model: String,
    /// Where the provider's API begins, if it is not known.
    pub base_url: Option<String>,
    /// The key, if it is not in the environment.
    pub key: Option<String>,
}

/// What a model said when it was tried.
#[derive(Debug, Clone, Serialize)]
pub struct ModelTrial {
    /// The beginning of its answer.
    pub text: String,
    /// How long it took.
    pub seconds: f64,
    /// How many tokens it takes at once, if its server tells.
    pub context: Option<usize>,
}

/// What was in a file before it was written.
#[must_use]
pub(super) struct PreviousContents {
    file: PathBuf,
    text: Option<String>,
}

impl ModelChoice {
    /// Asks the model something.
    pub(super) async fn ask(&self, settings: &Settings) -> Result<ModelTrial, Error> {
        let mut account = self.account(settings)?;
        account.governor.attempts = 1;
        account.limits.first_token = PATIENCE;
        let provider = Provider::new(account, None).map_err(Error::other)?;
        let mut chat = ChatSettings::new(ROLE, &self.model);
        chat.window = WindowSource::Server;
        let chat = Chat::new(RemoteChat::new(provider, chat), Vec::new());
        let began = Instant::now();
        let late = || Error::Failed(format!("it did not answer within {} s", PATIENCE.as_secs()));
        let text = tokio::time::timeout(PATIENCE, first_words(&chat)).await.map_err(|_| late())??;
        let seconds = began.elapsed().as_secs_f64();
        chat.first().learn_window().await;
        Ok(ModelTrial { text, seconds, context: chat.first().told_window() })
    }

    /// Writes the choice into the configuration file, and the key into a file that its owner alone can read.
    pub(super) fn write(&self, settings: &Settings, file: &Path) -> Result<PreviousContents, Error> {
        self.account(settings)?;
        if !settings.models.is_empty() {
            let shown = file.display();
            return Err(Error::Settings(format!("models are configured already; change them in {shown}")));
        }
        let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let before = PreviousContents { text: std::fs::read_to_string(&file).ok(), file };
        let key_file = self.key.as_ref().map(|_| settings.data.join(KEYS).join(&self.provider));
        let mut text = before.text.clone().unwrap_or_default();
        if !text.is_empty() {
            text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        }
        text.push_str(&toml::to_string(&self.table(key_file.as_deref())).map_err(Error::other)?);
        let shown = before.file.display();
        text.parse::<Table>()
            .doing(|| format!("{shown} has settings already that this would change; change them there"))?;
        if let Some((key, key_file)) = self.key.as_ref().zip(key_file) {
            write_key(key, &key_file)?;
        }
        replace(&before.file, &text).doing(|| format!("{shown} cannot be written"))?;
        Ok(before)
    }

    /// The account that the choice means.
    fn account(&self, settings: &Settings) -> Result<ProviderSettings, Error> {
        let is_letter =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
        if self.provider.is_empty() || self.provider.len() > 63 || !self.provider.chars().all(is_letter) {
            let rule = "the name of a provider has small letters, digits, - and _ only";
            return Err(Error::Settings(rule.to_owned()));
        }
        if self.model.trim().is_empty() {
            return Err(Error::Settings("no model is named".to_owned()));
        }
        let mut settings = settings.clone();
        if let Some(base_url) = &self.base_url {
            settings.providers.entry(self.provider.clone()).or_default().base_url = Some(base_url.clone());
        }
        let mut account = provider_settings(&settings, &self.provider)?;
        if let Some(key) = &self.key {
            account.key = Some(Secret::new(key));
            account.key_from = "what was typed in".to_owned();
        }
        Ok(account)
    }

    fn table(&self, key_file: Option<&Path>) -> Table {
        let text = |text: &str| Value::String(text.to_owned());
        let entry = |name: &str, of: Table| Table::from_iter([(name.to_owned(), Value::Table(of))]);
        let model = [("provider", text(&self.provider)), ("model", text(self.model.trim()))];
        let model = Table::from_iter(model.map(|(name, value)| (name.to_owned(), value)));
        let mut table = entry("models", entry(ROLE, model));
        let mut account = Table::new();
        if let Some(base_url) = &self.base_url {
            account.insert("base_url".to_owned(), text(base_url));
        }
        if let Some(file) = key_file {
            account.insert("key_file".to_owned(), text(&file.to_string_lossy()));
        }
        if !account.is_empty() {
            table.extend(entry("providers", entry(&self.provider, account)));
        }
        table
    }
}

impl PreviousContents {
    /// Makes the file what it was.
    pub(super) fn restore(self) {
        let restored = match &self.text {
            Some(text) => replace(&self.file, text),
            None => std::fs::remove_file(&self.file),
        };
        if let Err(error) = restored {
            tracing::warn!(%error, "{} could not be made what it was", self.file.display());
        }
    }
}

/// The model that answers as things are: the one that is configured for it, or the only one.
pub(super) fn chosen(settings: &Settings) -> Option<ChosenModel> {
    let models = &settings.models;
    let model = models.get(ROLE).or_else(|| models.values().next().filter(|_| models.len() == 1))?;
    Some(ChosenModel { provider: model.provider.clone(), model: model.model.clone() })
}

/// Writes a key into a file that its owner alone can read.
fn write_key(key: &str, file: &Path) -> Result<(), Error> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let write = || {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // A temporary file is its owner's alone from the beginning.
        let mut written = NamedTempFile::new_in(folder)?;
        writeln!(written, "{}", Secret::new(key).reveal())?;
        written.as_file().sync_all()?;
        written.persist(file)?;
        Ok::<_, std::io::Error>(())
    };
    write().doing(|| format!("the key cannot be written to {}", file.display()))
}

/// Writes a file so that nobody sees half of it.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut written = NamedTempFile::new_in(folder)?;
    written.write_all(text.as_bytes())?;
    if let Ok(metadata) = std::fs::metadata(file) {
        written.as_file().set_permissions(metadata.permissions())?;
    }
    written.as_file().sync_all()?;
    written.persist(file)?;
    Ok(())
}

async fn first_words(chat: &Chat) -> Result<String, Error> {
    let request = ChatRequest::new(Caller::chat(Tenant::local()), vec![Prompt::User(QUESTION.to_owned())]);
    let mut reply = chat.chat(request).await.map_err(Error::other)?;
    let mut text = String::new();
    while let Some(part) = reply.next().await {
        match part.map_err(Error::other)? {
            ChatPart::Text(piece) => text.push_str(&piece),
            ChatPart::End { .. } => break,
            _ => {}
        }
        if text.chars().count() >= MOST_LETTERS {
            break;
        }
    }
    let text: String = text.trim().chars().take(MOST_LETTERS).collect();
    if text.is_empty() {
        return Err(Error::Failed("it answered, but said nothing; try another model".to_owned()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn choice(provider: &str, base_url: Option<&str>, key: Option<&str>) -> ModelChoice {
        let text = |text: &str| text.to_owned();
        ModelChoice {
            provider: text(provider),
            model: text("qwen2.5:\"7b\""),
            base_url: base_url.map(text),
            key: key.map(text),
        }
    }

    fn settings(folder: &Path) -> Settings {
        Settings { data: folder.join("data"), ..Settings::default() }
    }

    #[test]
    fn a_choice_is_added_to_what_the_file_says_and_its_key_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ibid.toml");
        std::fs::write(&file, "# mine\ndata = \"mine\"").unwrap();
        let choice = choice("mine", Some("https://models.example/v1"), Some(" secret-key\n"));
        let before = choice.write(&settings(folder.path()), &file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# mine\ndata = \"mine\"\n\n"), "{text}");
        assert!(!text.contains("secret-key"), "{text}");
        let read: Settings = toml::from_str(&text).unwrap();
        assert_eq!(read.models["answer"].model, "qwen2.5:\"7b\"");
        let key_file = read.providers["mine"].key_file.clone().unwrap();
        assert_eq!(std::fs::read_to_string(&key_file).unwrap(), "secret-key\n");
        assert_eq!(std::fs::metadata(&key_file).unwrap().permissions().mode() & 0o777, 0o600);
        let account = provider_settings(&read, "mine").unwrap();
        assert_eq!(account.key.unwrap().reveal(), "secret-key");
        before.restore();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\ndata = \"mine\"");
    }

    #[test]
    fn what_is_configured_already_is_left_to_its_author() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ibid.toml");
        std::fs::write(&file, "[providers.mine]\nconcurrent = 2\n").unwrap();
        let refused = choice("mine", Some("https://models.example/v1"), Some("k"))
            .write(&settings(folder.path()), &file);
        let Err(error) = refused else { panic!("it was written") };
        assert!(error.to_string().contains("change them there"), "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "[providers.mine]\nconcurrent = 2\n");
        assert!(!folder.path().join("data").exists(), "a key was left behind");
        let configured: Settings = toml::from_str("[models.mine]\nprovider = 'ollama'\nmodel = 'm'").unwrap();
        assert!(choice("ollama", None, None).write(&configured, &file).is_err());
    }

    #[test]
    fn a_name_leads_to_no_other_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ibid.toml");
        for name in ["../x", "a/b", "", "Ä", "a b"] {
            let refused = choice(name, Some("https://models.example/v1"), Some("k"));
            assert!(refused.write(&settings(folder.path()), &file).is_err(), "{name}");
        }
        assert!(!file.exists() && !folder.path().join("data").exists());
    }
}
