//! Looking at an engine's file from outside, without running its turns: what the terminal does, also
//! while a server uses the file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ibid_core::{RunId, Scope, Tenant, ThreadId};
use rusqlite::Connection;

use super::reading::own_thread;
use crate::error::Error;
use crate::run::{RunRow, now_ms};
use crate::store::{self, Lock, Readers, StoreError, ThreadUse};
use crate::types::{ApiKey, MessageWindow, Run, Thread, ThreadMessage, ThreadPage, UnfinishedJob};

/// How long whoever purges waits for those who read.
const PATIENCE: Duration = Duration::from_secs(10);
const A_WEEK_MS: i64 = 7 * 24 * 3600 * 1000;

/// An engine's file.
pub struct EngineFile {
    path: PathBuf,
    readers: Readers,
}

/// What an engine's file holds and whether it is sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    /// Its schema version.
    pub schema: u32,
    /// How many threads it holds.
    pub threads: u64,
    /// How many turns have not ended.
    pub unfinished: u64,
    /// How much disk it takes.
    pub bytes: u64,
    /// Whether an engine runs turns from it now.
    pub in_use: bool,
    /// The runs of the last week that were given up because processes ended while they worked on them, the latest first, with the reason.
    pub set_aside: Vec<(RunId, String)>,
    /// What SQLite finds wrong with it; empty if it is sound.
    pub damage: Vec<String>,
}

/// A file that no engine can open.
#[derive(Debug)]
pub struct LockGuard(#[expect(dead_code, reason = "holding the lock is all that it is for")] Lock);

/// A thread with what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The thread.
    pub thread: Thread,
    /// The window of its messages that was asked for, oldest first.
    pub messages: Vec<ThreadMessage>,
    /// All of its turns, oldest first.
    pub runs: Vec<Run>,
}

impl EngineFile {
    /// The file at `path`, which need not be free but must exist when it is read.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), readers: Readers::new(path) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file holds and whether it is sound. Reads the whole file.
    ///
    /// # Errors
    /// Fails if there is no such file, or if it is not an engine's.
    pub fn inspect(&self) -> Result<FileReport, Error> {
        let in_use = matches!(Lock::take(&self.path), Err(StoreError::Locked { .. }));
        let schema = store::schema_of(&store::open_to_look(&self.path)?).map_err(StoreError::from)?;
        let report = self.readers.read_here(|connection| {
            let count = |sql: &str| {
                let counted: Result<u64, _> = connection.query_row(sql, [], |row| row.get(0));
                Ok::<_, StoreError>(counted?)
            };
            Ok(FileReport {
                schema,
                threads: count("SELECT count(*) FROM threads")?,
                unfinished: count("SELECT count(*) FROM runs WHERE ended_ms IS NULL")?,
                bytes: store::size_bytes(&self.path),
                in_use,
                set_aside: store::set_aside_since(connection, now_ms() - A_WEEK_MS)?,
                damage: store::quick_check(connection)?,
            })
        })?;
        Ok(report)
    }

    /// Threads, the most recently used first.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn threads(&self, scope: &Scope, page: ThreadPage) -> Result<Vec<Thread>, Error> {
        Ok(self.readers.read_here(|connection| store::list_threads(connection, scope, &page))?)
    }

    /// One thread with a window of its messages and its turns.
    ///
    /// # Errors
    /// Fails if there is no such thread.
    pub fn thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        window: MessageWindow,
    ) -> Result<Conversation, Error> {
        let found = self.readers.read_here(|connection| {
            let Some(row) = store::find_thread(connection, scope, ThreadUse::Read, thread)? else {
                return Ok(None);
            };
            let messages = store::read_window(connection, row.key, window)?;
            let runs = store::runs_of_thread(connection, row.key)?;
            let runs = runs.into_iter().map(RunRow::into_run).collect();
            Ok(Some(Conversation { thread: row.thread, messages, runs }))
        })?;
        found.ok_or(Error::UnknownThread(thread))
    }

    /// The jobs that have not ended, of all tenants.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn unfinished_jobs(&self) -> Result<Vec<UnfinishedJob>, Error> {
        Ok(self.readers.read_here(store::unfinished_jobs)?)
    }

    /// Keeps every engine out of the file for as long as the guard lives.
    ///
    /// # Errors
    /// Fails if an engine uses the file.
    pub fn lock(&self) -> Result<LockGuard, Error> {
        Ok(LockGuard(Lock::take(&self.path)?))
    }

    /// Deletes a thread with everything in it.
    ///
    /// # Errors
    /// Fails if there is no such thread, or if an engine uses the file: then that one must delete it.
    pub fn delete_thread(&self, scope: &Scope, thread: ThreadId) -> Result<(), Error> {
        self.change(|connection| {
            let row = own_thread(connection, scope, thread)??;
            Ok(store::delete_thread(connection, row.key)?)
        })
    }

    /// Keeps a key, by the SHA-256 of it. The file is made if there is none.
    ///
    /// # Errors
    /// Fails if its tenant has a key of that name, or if an engine uses the file: then that one must keep it.
    pub fn add_api_key(&self, hash: [u8; 32], key: &ApiKey) -> Result<(), Error> {
        self.change(|connection| {
            let added = store::add_api_key(connection, &hash, key)?;
            added.then_some(()).ok_or_else(|| Error::KeyExists(key.name.clone()))
        })
    }

    /// The keys of the scope's tenant, by name; none if there is no file.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn api_keys(&self, scope: &Scope) -> Result<Vec<ApiKey>, Error> {
        if !self.path.exists() {
            return Ok(Vec::new());
        }
        Ok(self.readers.read_here(|connection| store::list_api_keys(connection, scope))?)
    }

    /// Deletes a key of the scope's tenant.
    ///
    /// # Errors
    /// Fails if there is no such key, or if an engine uses the file: then that one must delete it.
    pub fn delete_api_key(&self, scope: &Scope, name: &str) -> Result<(), Error> {
        self.change(|connection| {
            let deleted = store::delete_api_key(connection, scope, name)?;
            deleted.then_some(()).ok_or_else(|| Error::UnknownKey(name.to_owned()))
        })
    }

    /// Deletes everything of a tenant, and leaves no byte of it: free pages are given back to the disk, the log is emptied,
    /// and copies that were made before migrations go. Returns how many threads it had.
    ///
    /// # Errors
    /// Fails if an engine uses the file, or somebody reads it for long. Doing it again goes on where it failed.
    pub fn purge_tenant(&self, tenant: &Tenant) -> Result<usize, Error> {
        let threads = self.change(|connection| Ok(store::delete_tenant(connection, tenant)?))?;
        let _lock = Lock::take(&self.path)?;
        let connection = store::open_for_writing(&self.path)?;
        let began = Instant::now();
        loop {
            while store::reclaim_space(&connection)? {}
            // The log cannot be emptied while somebody reads from it.
            if store::log_bytes(&self.path) == 0 {
                break;
            }
            if began.elapsed() > PATIENCE {
                return Err(StoreError::Locked { path: self.path.clone() }.into());
            }
            std::thread::sleep(PATIENCE / 100);
        }
        store::remove_copies_older_than(&self.path, Duration::ZERO)?;
        Ok(threads)
    }

    /// Changes the file in one commit, while no engine uses it.
    fn change<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        let _lock = Lock::take(&self.path)?;
        let mut connection = store::open_for_writing(&self.path)?;
        let transaction = connection.transaction().map_err(StoreError::from)?;
        let done = work(&transaction)?;
        transaction.commit().map_err(StoreError::from)?;
        Ok(done)
    }
}
