//! A moment of an engine's file, to be copied while others go on writing.

use std::path::Path;

use rusqlite::Connection;

use super::file::EngineFile;
use crate::error::Error;
use crate::store::{self, StoreError};
use crate::types::UnfinishedJob;

/// A moment of an engine's file. What is written after it is not in it, and nobody waits for it.
pub struct FileSnapshot {
    /// In a transaction that only reads, from the moment on.
    moment: Connection,
}

impl EngineFile {
    /// The file as it is now, whatever its version; it is not migrated.
    ///
    /// # Errors
    /// Fails if there is no such file, or if it is not an engine's.
    pub fn snapshot(&self) -> Result<FileSnapshot, Error> {
        Ok(FileSnapshot::take(self.path())?)
    }
}

impl FileSnapshot {
    fn take(path: &Path) -> Result<Self, StoreError> {
        let moment = store::open_to_look(path)?;
        moment.execute_batch("BEGIN")?;
        // The transaction begins with the first look.
        store::schema_of(&moment)?;
        Ok(Self { moment })
    }

    /// The jobs that had not ended, of all tenants.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn unfinished_jobs(&self) -> Result<Vec<UnfinishedJob>, Error> {
        if store::is_current(&self.moment).map_err(StoreError::from)? {
            return Ok(store::unfinished_jobs(&self.moment)?);
        }
        Ok(store::unfinished_jobs(&store::migrated_copy(&self.moment)?)?)
    }

    /// Writes the moment into a new file.
    ///
    /// # Errors
    /// Fails if it cannot be read or written.
    pub fn copy_to(&self, path: &Path) -> Result<(), Error> {
        self.copy(path)?;
        Ok(())
    }

    /// The same, and jobs that had not ended begin with their first step when the copy is opened: what their steps left
    /// elsewhere is not in it. The copy has the newest schema.
    ///
    /// # Errors
    /// Fails if it cannot be read or written.
    pub fn copy_without_progress_to(&self, path: &Path) -> Result<(), Error> {
        let mut copy = self.copy(path)?;
        store::migrate_copy(&mut copy)?;
        Ok(store::forget_steps_of_unfinished(&copy)?)
    }

    fn copy(&self, path: &Path) -> Result<Connection, StoreError> {
        store::make_private(path)?;
        let mut copy = Connection::open(path)?;
        store::copy_pages(&self.moment, &mut copy)?;
        // One file, without a log beside it.
        copy.pragma_update(None, "journal_mode", "DELETE")?;
        Ok(copy)
    }
}
