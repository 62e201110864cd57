//! Why the file could not be opened, read or written.

use std::path::PathBuf;

use crate::postgres::PostgresError;

/// The file could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite failed.
    #[error("the engine's file failed")]
    Sqlite(#[from] rusqlite::Error),
    /// Postgres failed.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// The operating system refused.
    #[error("cannot open {path}")]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Another process runs turns from this file.
    #[error("another process is using {path}; stop it, or give this one a file of its own")]
    Locked {
        /// Which file.
        path: PathBuf,
    },
    /// The file was written by a newer version.
    #[error("{path} has schema version {found}, and this version knows {known}; use a newer ibid")]
    TooNew {
        /// Which file.
        path: PathBuf,
        /// Its schema version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// The file is not ours.
    #[error("{path} is a database of another program")]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
    /// What is stored cannot be read.
    #[error("what is stored is damaged: {0}")]
    Damaged(String),
    /// A step could not be written down.
    #[error("a step could not be written down")]
    Unwritten {
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The run was deleted.
    #[error("the run was deleted")]
    Gone,
    /// The engine was closed.
    #[error("the engine is closed")]
    Closed,
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error.into())
    }
}

impl StoreError {
    /// Whether the same may succeed a moment later.
    pub(crate) const fn may_pass(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.may_pass())
    }

    /// Whether something of the same name is there already.
    pub(crate) const fn is_duplicate(&self) -> bool {
        matches!(self, Self::Postgres(PostgresError::Duplicate))
    }

    /// What is stored, or about to be, is not what it should be.
    pub(crate) fn damaged(error: impl std::fmt::Display) -> Self {
        Self::Damaged(error.to_string())
    }
}
