//! An application that runs: what the server, the terminal and other programs use.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use ibid_core::answer::{Citation, Warning};
use ibid_core::cache::AnswerCache;
use ibid_core::model::Usage;
use ibid_core::{AnswerMetadata, Message, RunId, Scope, ThreadId, TurnEvent};
use ibid_engine::{Engine, Turn, turn_events};
use tokio::task::AbortHandle;

use crate::assistants::{AssistantInfo, AssistantRegistry};
use crate::documents::DocumentService;
use crate::error::Error;
use crate::health::{HealthCheck, ServerInfo};
use crate::live::{LiveAssistants, LookNow};
use crate::models::ModelCatalog;
use crate::settings::Settings;
use crate::sync::SyncService;

/// An application. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct App(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) settings: Arc<Settings>,
    pub(crate) models: Arc<ModelCatalog>,
    pub(crate) assistants: LiveAssistants,
    /// Looks after the folders of the assistants.
    pub(crate) watch: Option<(AbortHandle, LookNow)>,
    pub(crate) engine: Option<Arc<dyn Engine>>,
    pub(crate) documents: Option<DocumentService>,
    /// The sources that documents are kept in step with.
    pub(crate) sources: Option<SyncService>,
    /// The answers that may be given again.
    pub(crate) answers: Option<Arc<dyn AnswerCache>>,
    pub(crate) checks: Vec<HealthCheck>,
    pub(crate) info: ServerInfo,
    /// When it was opened.
    pub(crate) began: SystemTime,
    /// Everybody at the one tenant of a program that serves itself.
    pub(crate) scope: Scope,
}

/// What an assistant replied to one question.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnAnswer {
    /// The answer in words.
    pub text: String,
    /// Everything that it carries: citations, warnings, sources, usage.
    pub metadata: AnswerMetadata,
    /// The conversation, to go on in.
    pub thread: ThreadId,
}

impl TurnAnswer {
    /// What it cites, looked up.
    pub fn citations(&self) -> &[Citation] {
        &self.metadata.citations
    }

    /// What the guard found.
    pub fn warnings(&self) -> &[Warning] {
        &self.metadata.warnings
    }

    /// What the models used.
    pub fn usage(&self) -> Usage {
        self.metadata.usage
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop_watching();
    }
}

impl Inner {
    fn stop_watching(&self) {
        self.watch.iter().for_each(|(watch, _)| watch.abort());
        self.sources.iter().for_each(SyncService::stop);
    }
}

impl App {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// What it was opened with.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.0.settings
    }

    /// The models.
    pub fn models(&self) -> &ModelCatalog {
        &self.0.models
    }

    /// Who can answer now.
    pub fn assistants(&self) -> Arc<AssistantRegistry> {
        self.0.assistants.get()
    }

    /// Runs turns.
    ///
    /// # Errors
    /// Fails where the application was opened for documents only.
    pub fn engine(&self) -> Result<&Arc<dyn Engine>, Error> {
        let missing = || Error::Missing("this application was opened for documents only".to_owned());
        self.0.engine.as_ref().ok_or_else(missing)
    }

    /// The documents.
    ///
    /// # Errors
    /// Fails where the application was opened without documents.
    pub fn documents(&self) -> Result<&DocumentService, Error> {
        let missing = || Error::Missing("this application was opened without documents".to_owned());
        self.0.documents.as_ref().ok_or_else(missing)
    }

    /// The sources that documents are kept in step with.
    ///
    /// # Errors
    /// Fails where the application was opened without documents.
    pub fn sources(&self) -> Result<&SyncService, Error> {
        self.documents()?;
        let missing = || Error::Missing("this application was opened without sources".to_owned());
        self.0.sources.as_ref().ok_or_else(missing)
    }

    /// Gives the answer of a turn no more, if it was kept to be given again.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn forget_answer(&self, scope: &Scope, run: RunId) -> Result<(), Error> {
        if let Some(answers) = &self.0.answers {
            answers.forget(scope, run).await.map_err(Error::other)?;
        }
        Ok(())
    }

    /// What can be checked while it runs.
    pub fn health_checks(&self) -> &[HealthCheck] {
        &self.0.checks
    }

    /// What it is set up with.
    pub fn info(&self) -> &ServerInfo {
        &self.0.info
    }

    /// When it was opened.
    pub(crate) fn began(&self) -> SystemTime {
        self.0.began
    }

    /// The scope of a program that serves one party: itself.
    pub fn local_scope(&self) -> &Scope {
        &self.0.scope
    }

    /// Whether an assistant can answer in a mode and a format. If it seems not, its folder is looked at again: it may have been
    /// changed a moment ago.
    ///
    /// # Errors
    /// Says what is not there, and what is.
    pub async fn can_answer(
        &self,
        assistant: &str,
        mode: Option<&str>,
        format: Option<&str>,
    ) -> Result<Arc<AssistantInfo>, Error> {
        let now = || self.assistants().get(assistant).and_then(|info| info.offering(assistant, mode, format));
        match (now(), &self.0.watch) {
            (Err(_), Some((_, look))) => {
                look.and_wait().await;
                now()
            }
            (known, _) => known,
        }
    }

    /// Asks an assistant one question in a conversation of its own, and waits for the answer.
    ///
    /// # Errors
    /// Fails when there is no such assistant, when the turn fails, or when the assistant asks something itself.
    pub async fn ask(&self, scope: &Scope, assistant: &str, question: &str) -> Result<TurnAnswer, Error> {
        self.can_answer(assistant, None, None).await?;
        let (engine, thread) = (self.engine()?, ThreadId::new());
        let run = engine.submit(scope, Turn::new(thread, assistant, Message::user(question))).await?.run;
        let mut events = turn_events(engine, scope, run, 0).await?;
        while let Some(event) = events.next().await {
            match event?.event {
                TurnEvent::Ended { error: Some(error), .. } => return Err(Error::Failed(error)),
                TurnEvent::Ended { message: Some(message), .. } => {
                    let metadata = message.metadata.map(|metadata| *metadata).unwrap_or_default();
                    return Ok(TurnAnswer { text: message.text, metadata, thread });
                }
                TurnEvent::Interrupted { value } => {
                    return Err(Error::Failed(format!("the assistant asks: {value}")));
                }
                _ => {}
            }
        }
        Err(Error::Failed("the assistant said nothing".to_owned()))
    }

    /// Closes everything at once, as a kill would: what has not ended goes on when the application is opened again.
    pub async fn close(&self) {
        self.shutdown(Duration::ZERO).await;
    }

    /// Lets turns and loads come to the end of the step that they are at, for at most so long, and closes everything. What
    /// has not ended goes on when the application is opened again.
    pub async fn shutdown(&self, timeout: Duration) {
        self.0.stop_watching();
        let turns = async {
            if let Some(engine) = &self.0.engine {
                engine.shutdown(timeout).await;
            }
        };
        let loads = async {
            if let Some(documents) = &self.0.documents {
                documents.engine().shutdown(timeout).await;
            }
        };
        futures_util::future::join(turns, loads).await;
    }
}
