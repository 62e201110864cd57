//! Looking at an engine's file from outside, without running its turns: what the terminal does, also
//! while a server uses the file.

use std::path::{Path, PathBuf};

use ibid_core::{Message, RunId, Scope, Tenant, ThreadId};

use crate::error::Error;
use crate::nouns::{MessageWindow, Run, Said, Thread, ThreadPage};
use crate::store::{self, Lock, Readers, RunRow, StoreError};

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
    /// What SQLite finds wrong with it; empty if it is sound.
    pub damage: Vec<String>,
}

/// A file that no engine can open.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "holding the lock is all that it is for")] Lock);

/// A turn that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfinished {
    /// Whose it is.
    pub tenant: Tenant,
    /// The turn.
    pub run: RunId,
    /// What it begins with.
    pub input: Vec<Message>,
}

/// A thread with what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The thread.
    pub thread: Thread,
    /// The window of its messages that was asked for, oldest first.
    pub messages: Vec<Said>,
    /// All of its turns, oldest first.
    pub runs: Vec<Run>,
}

impl EngineFile {
    /// The file at `path`, which need not be free but must exist when it is read.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), readers: Readers::new(path) }
    }

    /// What the file holds and whether it is sound. Reads the whole file.
    ///
    /// # Errors
    /// Fails if there is no such file, or if it is not an engine's.
    pub fn inspect(&self) -> Result<FileReport, Error> {
        let in_use = matches!(Lock::take(&self.path), Err(StoreError::Locked { .. }));
        let report = self.readers.read_here(|connection| {
            let count = |sql: &str| {
                let counted: Result<u64, _> = connection.query_row(sql, [], |row| row.get(0));
                Ok::<_, StoreError>(counted?)
            };
            Ok(FileReport {
                schema: store::schema_of(connection)?,
                threads: count("SELECT count(*) FROM threads")?,
                unfinished: count("SELECT count(*) FROM runs WHERE ended_ms IS NULL")?,
                bytes: store::size_bytes(&self.path),
                in_use,
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
            let Some(row) = store::find_thread(connection, scope, thread)? else { return Ok(None) };
            let messages = store::read_window(connection, row.key, window)?;
            let runs = store::runs_of_thread(connection, row.key)?;
            let runs = runs.into_iter().map(RunRow::into_run).collect();
            Ok(Some(Conversation { thread: row.thread, messages, runs }))
        })?;
        found.ok_or(Error::UnknownThread(thread))
    }

    /// The turns that have not ended, of all tenants.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn unfinished(&self) -> Result<Vec<Unfinished>, Error> {
        Ok(self.readers.read_here(|connection| {
            let rows = store::unfinished(connection)?.into_iter();
            rows.map(|(tenant, row)| {
                Ok(Unfinished { tenant, run: row.id, input: store::input_of(connection, &row)? })
            })
            .collect()
        })?)
    }

    /// Keeps every engine out of the file for as long as this is held.
    ///
    /// # Errors
    /// Fails if an engine uses the file.
    pub fn hold(&self) -> Result<Held, Error> {
        Ok(Held(Lock::take(&self.path)?))
    }

    /// Deletes a thread with everything in it.
    ///
    /// # Errors
    /// Fails if there is no such thread, or if an engine uses the file: then that one must delete it.
    pub fn delete_thread(&self, scope: &Scope, thread: ThreadId) -> Result<(), Error> {
        let _lock = Lock::take(&self.path)?;
        let mut connection = store::open_for_writing(&self.path)?;
        let transaction = connection.transaction().map_err(StoreError::from)?;
        let row = store::find_thread(&transaction, scope, thread)?.ok_or(Error::UnknownThread(thread))?;
        store::delete_thread(&transaction, row.key)?;
        transaction.commit().map_err(StoreError::from)?;
        Ok(())
    }
}
