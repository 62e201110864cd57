//! Conversations and loads in the data folder while no engine runs them, to look at and to delete.

use ibid_core::evidence::DocumentId;
use ibid_core::{Scope, ThreadId};
use ibid_engine::{
    ApiKey, Conversation, EngineFile, Error as EngineError, LockGuard, MessageWindow, Thread, ThreadPage,
    UnfinishedJob,
};
use ibid_knowledge::{ActiveLoads, LoadRequest};

use crate::backup::refuse_half_restored;
use crate::error::{DoingExt, Error};
use crate::settings::Settings;

/// The keys of a data folder.
pub struct OfflineKeys(EngineFile);

impl OfflineKeys {
    /// Those of the settings' data folder.
    ///
    /// # Errors
    /// Fails if a backup was not wholly restored there.
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        refuse_half_restored(settings)?;
        Ok(Self(EngineFile::at(&settings.engine_file())))
    }

    /// Keeps a key, by its hash.
    ///
    /// # Errors
    /// Fails when there is one of that name, or when an engine uses the file: then that one must keep it.
    pub fn add(&self, hash: [u8; 32], key: &ApiKey) -> Result<(), Error> {
        Ok(self.0.add_api_key(hash, key)?)
    }

    /// The keys of a tenant.
    ///
    /// # Errors
    /// Fails when the file cannot be read.
    pub fn list(&self, scope: &Scope) -> Result<Vec<ApiKey>, Error> {
        Ok(self.0.api_keys(scope)?)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// Fails when there is none, or when an engine uses the file: then that one must delete it.
    pub fn delete(&self, scope: &Scope, name: &str) -> Result<(), Error> {
        Ok(self.0.delete_api_key(scope, name)?)
    }
}

/// The conversations of a data folder.
pub struct OfflineThreads(EngineFile);

impl OfflineThreads {
    /// Those of the settings' data folder; none if there was never any.
    pub fn open(settings: &Settings) -> Option<Self> {
        let path = settings.engine_file();
        path.exists().then(|| Self(EngineFile::at(&path)))
    }

    /// Whether an engine uses them now.
    pub fn in_use(&self) -> bool {
        self.0.lock().is_err()
    }

    /// A page of them.
    ///
    /// # Errors
    /// Fails when the file cannot be read.
    pub fn list(&self, scope: &Scope, page: ThreadPage) -> Result<Vec<Thread>, Error> {
        Ok(self.0.threads(scope, page)?)
    }

    /// One with a window of its messages and its turns.
    ///
    /// # Errors
    /// Fails when there is none.
    pub fn thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        window: MessageWindow,
    ) -> Result<Conversation, Error> {
        Ok(self.0.thread(scope, thread, window)?)
    }

    /// Deletes one with everything in it.
    ///
    /// # Errors
    /// Fails when there is none, or when an engine uses the file: then that one must delete it.
    pub fn delete(&self, scope: &Scope, thread: ThreadId) -> Result<(), Error> {
        Ok(self.0.delete_thread(scope, thread)?)
    }

    /// Whoever answered last in a conversation.
    pub fn last_assistant(&self, scope: &Scope, thread: ThreadId) -> Option<String> {
        let conversation = self.thread(scope, thread, MessageWindow { before: None, limit: 1 }).ok()?;
        let answered = conversation.runs.iter().rev().find(|run| !run.assistant.is_empty());
        answered.map(|run| run.assistant.clone())
    }
}

/// The loads of a data folder.
pub struct OfflineLoads(EngineFile);

impl OfflineLoads {
    /// Those of the settings' data folder; none if there was never any.
    pub fn open(settings: &Settings) -> Option<Self> {
        let path = settings.ingestion_file();
        path.is_file().then(|| Self(EngineFile::at(&path)))
    }

    /// What is being loaded, or was interrupted and will go on.
    ///
    /// # Errors
    /// Fails when the file cannot be read.
    pub fn active(&self) -> Result<ActiveLoads, Error> {
        Ok(active_loads(self.0.unfinished_jobs()?))
    }

    /// Keeps every engine away for as long as the guard lives.
    ///
    /// # Errors
    /// Fails while documents are being loaded.
    pub fn lock(&self) -> Result<LockGuard, Error> {
        self.0.lock().doing(|| "nothing can be repaired while documents are being loaded".to_owned())
    }

    /// Deletes the loads of a document, and one that was interrupted with them: it would bring it back.
    ///
    /// # Errors
    /// Fails while documents are being loaded.
    pub fn delete(&self, scope: &Scope, document: &DocumentId) -> Result<(), Error> {
        let queue = ThreadId::from_bytes(*LoadRequest::queue(document).as_bytes());
        match self.0.delete_thread(scope, queue) {
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
