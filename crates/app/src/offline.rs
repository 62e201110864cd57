//! Conversations, loads and keys while nothing in this process runs them, to look at and to change.

use ibid_core::evidence::DocumentId;
use ibid_core::{Scope, ThreadId};
use ibid_engine::{
    ApiKey, Conversation, Engine as _, EngineFile, Error as EngineError, LockGuard, MessageWindow,
    PostgresEngine, Thread, ThreadPage, UnfinishedJob,
};
use ibid_knowledge::{ActiveLoads, LoadRequest};

use crate::backup::refuse_half_restored;
use crate::engines::look;
use crate::error::{DoingExt, Error};
use crate::settings::Settings;

/// How the data of an engine is reached that this process does not run.
enum EngineAccess {
    /// In a file of the data folder.
    File(EngineFile),
    /// In a database that other processes may be using.
    Shared(PostgresEngine),
}

/// The keys that an engine keeps.
pub struct OfflineKeys(EngineAccess);

impl OfflineKeys {
    /// Those of the settings' data folder, or of its database.
    ///
    /// # Errors
    /// Fails if a backup was not wholly restored there, or if the database cannot be reached.
    pub async fn open(settings: &Settings) -> Result<Self, Error> {
        refuse_half_restored(settings)?;
        Ok(Self(match look(settings).await? {
            Some(engine) => EngineAccess::Shared(engine),
            None => EngineAccess::File(EngineFile::at(&settings.engine_file())),
        }))
    }

    /// Keeps a key, by its hash.
    ///
    /// # Errors
    /// Fails when there is one of that name, or when an engine uses the file: then that one must keep it.
    pub async fn add(&self, hash: [u8; 32], key: &ApiKey) -> Result<(), Error> {
        match &self.0 {
            EngineAccess::File(file) => file.add_api_key(hash, key)?,
            EngineAccess::Shared(engine) => engine.add_api_key(hash, key.clone()).await?,
        }
        Ok(())
    }

    /// The keys of a tenant.
    ///
    /// # Errors
    /// Fails when they cannot be read.
    pub async fn list(&self, scope: &Scope) -> Result<Vec<ApiKey>, Error> {
        Ok(match &self.0 {
            EngineAccess::File(file) => file.api_keys(scope)?,
            EngineAccess::Shared(engine) => engine.api_keys(scope).await?,
        })
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// Fails when there is none, or when an engine uses the file: then that one must delete it.
    pub async fn delete(&self, scope: &Scope, name: &str) -> Result<(), Error> {
        match &self.0 {
            EngineAccess::File(file) => file.delete_api_key(scope, name)?,
            EngineAccess::Shared(engine) => engine.delete_api_key(scope, name).await?,
        }
        Ok(())
    }
}

/// The conversations that an engine keeps.
pub struct OfflineThreads(EngineAccess);

impl OfflineThreads {
    /// Those of the settings' data folder, or of its database; none if there was never any.
    ///
    /// # Errors
    /// Fails when the database cannot be reached.
    pub async fn open(settings: &Settings) -> Result<Option<Self>, Error> {
        if let Some(engine) = look(settings).await? {
            return Ok(Some(Self(EngineAccess::Shared(engine))));
        }
        let path = settings.engine_file();
        Ok(path.exists().then(|| Self(EngineAccess::File(EngineFile::at(&path)))))
    }

    /// Whether another process keeps this one from running turns.
    pub fn in_use(&self) -> bool {
        match &self.0 {
            EngineAccess::File(file) => file.lock().is_err(),
            EngineAccess::Shared(_) => false,
        }
    }

    /// A page of them.
    ///
    /// # Errors
    /// Fails when they cannot be read.
    pub async fn list(&self, scope: &Scope, page: ThreadPage) -> Result<Vec<Thread>, Error> {
        Ok(match &self.0 {
            EngineAccess::File(file) => file.threads(scope, page)?,
            EngineAccess::Shared(engine) => engine.threads(scope, page).await?,
        })
    }

    /// One with a window of its messages and its turns.
    ///
    /// # Errors
    /// Fails when there is none.
    pub async fn thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        window: MessageWindow,
    ) -> Result<Conversation, Error> {
        match &self.0 {
            EngineAccess::File(file) => Ok(file.thread(scope, thread, window)?),
            EngineAccess::Shared(engine) => Ok(Conversation {
                thread: engine.thread(scope, thread).await?,
                messages: engine.messages(scope, thread, window).await?,
                runs: engine.runs(scope, thread).await?,
            }),
        }
    }

    /// Deletes one with everything in it.
    ///
    /// # Errors
    /// Fails when there is none, or when an engine uses the file: then that one must delete it.
    pub async fn delete(&self, scope: &Scope, thread: ThreadId) -> Result<(), Error> {
        match &self.0 {
            EngineAccess::File(file) => file.delete_thread(scope, thread)?,
            EngineAccess::Shared(engine) => engine.delete_thread(scope, thread).await?,
        }
        Ok(())
    }

    /// Whoever answered last in a conversation.
    pub async fn last_assistant(&self, scope: &Scope, thread: ThreadId) -> Option<String> {
        let conversation = self.thread(scope, thread, MessageWindow { before: None, limit: 1 }).await.ok()?;
        let answered = conversation.runs.iter().rev().find(|run| !run.assistant.is_empty());
        answered.map(|run| run.assistant.clone())
    }
}

/// The loads that an engine keeps.
pub struct OfflineLoads(EngineAccess);

impl OfflineLoads {
    /// Those of the settings' data folder, or of its database; none if there was never any.
    ///
    /// # Errors
    /// Fails when the database cannot be reached.
    pub async fn open(settings: &Settings) -> Result<Option<Self>, Error> {
        if let Some(engine) = look(settings).await? {
            return Ok(Some(Self(EngineAccess::Shared(engine))));
        }
        let path = settings.ingestion_file();
        Ok(path.is_file().then(|| Self(EngineAccess::File(EngineFile::at(&path)))))
    }

    /// What is being loaded, or was interrupted and will go on.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub async fn active(&self) -> Result<ActiveLoads, Error> {
        Ok(active_loads(match &self.0 {
            EngineAccess::File(file) => file.unfinished_jobs()?,
            EngineAccess::Shared(engine) => engine.unfinished_jobs().await?,
        }))
    }

    /// Keeps every engine away from the file for as long as the guard lives. Processes that share a database go on: what they
    /// load is left alone.
    ///
    /// # Errors
    /// Fails while documents are being loaded.
    pub fn lock(&self) -> Result<Option<LockGuard>, Error> {
        match &self.0 {
            EngineAccess::File(file) => {
                let guard = file
                    .lock()
                    .doing(|| "nothing can be repaired while documents are being loaded".to_owned())?;
                Ok(Some(guard))
            }
            EngineAccess::Shared(_) => Ok(None),
        }
    }

    /// Deletes the loads of a document, and one that was interrupted with them: it would bring it back.
    ///
    /// # Errors
    /// Fails while documents are being loaded.
    pub async fn delete(&self, scope: &Scope, document: &DocumentId) -> Result<(), Error> {
        let queue = LoadRequest::queue(document);
        let deleted = match &self.0 {
            EngineAccess::File(file) => file.delete_thread(scope, ThreadId::from_bytes(*queue.as_bytes())),
            EngineAccess::Shared(engine) => engine.delete_jobs(scope, queue).await,
        };
        match deleted {
            Ok(()) | Err(EngineError::UnknownThread(_)) => Ok(()),
            Err(error) => {
                Err(error).doing(|| "it cannot be deleted while documents are being loaded".to_owned())
            }
        }
    }
}

/// What jobs that have not ended load.
pub(crate) fn active_loads(jobs: Vec<UnfinishedJob>) -> ActiveLoads {
    let mut active = ActiveLoads::default();
    for left in jobs {
        if let Ok(request) = serde_json::from_value::<LoadRequest>(left.job.request) {
            active.documents.insert(request.document());
            active.contents.extend(request.content);
        }
    }
    active
}
