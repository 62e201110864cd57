//! The first start, in a folder where nothing was configured yet: what is found, what is missing, and the settings that a person
//! chooses. Nothing is opened before they say so.

mod choice;
mod providers;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ibid_models::pull::{Progress, RECOMMENDED};
use serde::Serialize;
use tokio::sync::oneshot;

use crate::cells::Cells;
use crate::error::Error;
use crate::models::ModelCatalog;
use crate::pulling::pull_models;
use crate::settings::Settings;
use crate::store::find_pdfium;

pub use self::choice::{ModelChoice, ModelTrial};
pub use self::providers::SetupProvider;

/// Reads the settings again.
type Load = Box<dyn Fn() -> Result<Settings, Error> + Send + Sync>;

/// The first start.
pub struct Setup {
    /// Where settings are written to.
    file: PathBuf,
    load: Load,
    settings: Mutex<Arc<Settings>>,
    pull: Mutex<PullStatus>,
    /// Who waits for what is opened at the end.
    opened: tokio::sync::Mutex<Option<oneshot::Sender<Cells>>>,
}

/// What was found and what is missing.
#[derive(Debug, Clone, Serialize)]
pub struct SetupReport {
    /// The file that settings are written to.
    pub file: PathBuf,
    /// The chat model that would answer.
    pub chat: Option<ChosenModel>,
    /// Who may have one.
    pub providers: Vec<SetupProvider>,
    /// Whether there is an embedding model.
    pub embedding: bool,
    /// Whether PDFs can be read.
    pub pdf: bool,
    /// What would be fetched.
    pub recommended: RecommendedModel,
    /// How far that is.
    pub pull: PullStatus,
}

/// A chat model.
#[derive(Debug, Clone, Serialize)]
pub struct ChosenModel {
    /// Whose it is.
    pub provider: String,
    /// Its name there.
    pub model: String,
}

/// A model that can be fetched.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct RecommendedModel {
    /// Its name.
    pub name: &'static str,
    /// How much is fetched, in megabytes.
    pub megabytes: u32,
}

/// How far fetching is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PullStatus {
    /// Nobody asked for it.
    #[default]
    Idle,
    /// A file is on its way.
    Running {
        /// Which file.
        file: String,
        /// How many bytes have come.
        bytes: u64,
        /// How many there will be, if the server said.
        total: Option<u64>,
    },
    /// Everything is there.
    Done,
    /// It failed.
    Failed {
        /// Why, and what helps.
        problem: String,
    },
}

impl Setup {
    /// Whether there is something to set up: nothing was ever done here, and a model is missing. `is_configured` says whether
    /// there is a configuration file; who wrote one and named no chat model may have meant it.
    ///
    /// # Errors
    /// Fails when a setting cannot be used.
    pub async fn is_needed(settings: &Settings, is_configured: bool) -> Result<bool, Error> {
        let is_new =
            settings.engine.url.is_none() && settings.cells.is_empty() && !settings.engine_file().exists();
        if !is_new {
            return Ok(false);
        }
        let models = ModelCatalog::new(Arc::new(settings.clone()))?;
        if !models.has_embedding().await {
            return Ok(true);
        }
        Ok(!is_configured && matches!(models.chat_of("answer", None).await, Err(Error::Missing(_))))
    }

    /// A first start with these settings, which are written to a file and then loaded again. What it opens in the end comes
    /// through the receiver.
    pub fn new(
        settings: Settings,
        file: PathBuf,
        load: impl Fn() -> Result<Settings, Error> + Send + Sync + 'static,
    ) -> (Arc<Self>, oneshot::Receiver<Cells>) {
        let (sender, receiver) = oneshot::channel();
        let setup = Self {
            file,
            load: Box::new(load),
            settings: Mutex::new(Arc::new(settings)),
            pull: Mutex::default(),
            opened: tokio::sync::Mutex::new(Some(sender)),
        };
        (Arc::new(setup), receiver)
    }

    /// What there is.
    ///
    /// # Errors
    /// Fails when a setting cannot be used.
    pub async fn report(&self) -> Result<SetupReport, Error> {
        let settings = self.settings();
        let models = ModelCatalog::new(settings.clone())?;
        let (providers, embedding) =
            tokio::join!(providers::find_providers(&settings), models.has_embedding());
        let recommended = RECOMMENDED.iter().find(|model| model.by_default);
        let recommended = recommended.ok_or_else(|| Error::Missing("no model is recommended".to_owned()))?;
        Ok(SetupReport {
            file: self.file.clone(),
            chat: choice::chosen(&settings),
            providers,
            embedding,
            pdf: find_pdfium(&settings).is_some(),
            recommended: RecommendedModel { name: recommended.name, megabytes: recommended.megabytes },
            pull: self.pull_status(),
        })
    }

    /// Asks a chat model something, so that it is seen to work. Nothing is written.
    ///
    /// # Errors
    /// Fails when it does not answer; says why.
    pub async fn try_model(&self, choice: &ModelChoice) -> Result<ModelTrial, Error> {
        choice.ask(&self.settings()).await
    }

    /// Writes down which chat model answers.
    ///
    /// # Errors
    /// Fails when the choice cannot be used or the file cannot be written. The file is as before then.
    pub fn save_model(&self, choice: &ModelChoice) -> Result<(), Error> {
        let before = choice.write(&self.settings(), &self.file)?;
        match (self.load)() {
            Ok(settings) => {
                *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
                Ok(())
            }
            Err(error) => {
                before.restore();
                Err(error)
            }
        }
    }

    /// Fetches the embedding model and what else runs here, if that is not under way.
    pub fn pull(self: &Arc<Self>) {
        let mut status = self.pull.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*status, PullStatus::Running { .. }) {
            return;
        }
        *status = PullStatus::Running { file: String::new(), bytes: 0, total: None };
        drop(status);
        let setup = self.clone();
        tokio::spawn(async move {
            let settings = setup.settings();
            let progress = |Progress { file, bytes, total }: Progress<'_>| {
                setup.set_pull(PullStatus::Running { file: file.to_owned(), bytes, total });
            };
            let fetched = pull_models(&settings, &[], &progress, &|_| {}).await;
            setup.set_pull(match fetched {
                Ok(()) => PullStatus::Done,
                Err(error) => PullStatus::Failed { problem: error.chain() },
            });
        });
    }

    /// How far fetching is.
    pub fn pull_status(&self) -> PullStatus {
        self.pull.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the application with what is there, and ends the first start.
    ///
    /// # Errors
    /// Fails when it cannot be opened; says what is missing.
    pub async fn open(&self) -> Result<(), Error> {
        let mut opened = self.opened.lock().await;
        if opened.is_none() {
            return Ok(());
        }
        let cells = Cells::open(&self.settings()).await?;
        if let Some(Err(cells)) = opened.take().map(|sender| sender.send(cells)) {
            // The server is ending.
            cells.close().await;
        }
        Ok(())
    }

    fn settings(&self) -> Arc<Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_pull(&self, status: PullStatus) {
        *self.pull.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }
}
