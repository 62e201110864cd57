//! Why Postgres did not do what it was asked, and whether it will when it is asked again.

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

/// Postgres did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// It cannot be reached, or the connection broke.
    #[error("the database cannot be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It does not answer.
    #[error("the database did not answer in time")]
    TimedOut,
    /// It is a standby, or was set to be read only.
    #[error("the database allows no writes; it is a standby, or read only")]
    ReadOnly,
    /// Its disk is full.
    #[error("the disk of the database is full")]
    DiskFull,
    /// It takes no more connections.
    #[error(
        "the database takes no more connections; raise its `max_connections`, or lower `engine.connections`"
    )]
    TooManyConnections,
    /// It cancelled a statement that took too long for it.
    #[error("the database cancelled a statement; its `statement_timeout` may be too short")]
    Cancelled,
    /// Two transactions were in each other's way.
    #[error("the database is busy with the same rows")]
    Conflict,
    /// Something of the same name is there.
    #[error("it is there already")]
    Duplicate,
    /// It was written by a newer version.
    #[error("the database has schema version {found}, and this version knows {known}; use a newer ibid")]
    TooNew {
        /// Its schema version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// It was written by an older version, or by none.
    #[error(
        "the database has schema version {found}, and this version needs {known}; `ibid serve` brings it up to date"
    )]
    TooOld {
        /// Its schema version, 0 if there is nothing of ibid in it.
        found: i64,
        /// The version known here.
        known: i64,
    },
    /// The address or its options are wrong.
    #[error("`engine.url` cannot be used: {0}")]
    Url(String),
    /// A statement failed.
    #[error("a statement failed: {0}")]
    Statement(String, #[source] tokio_postgres::Error),
}

impl PostgresError {
    /// Whether the same may succeed a moment later.
    pub(crate) const fn may_pass(&self) -> bool {
        !matches!(
            self,
            Self::Duplicate | Self::TooNew { .. } | Self::TooOld { .. } | Self::Url(_) | Self::Statement(..)
        )
    }

    /// Whether the connection it was asked over is of no use any more.
    pub(super) const fn breaks_connection(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::TimedOut | Self::ReadOnly)
    }
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(database) = error.as_db_error() else {
            // Refused by the client itself: the statement or a value is wrong, and not the connection.
            let refused = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
            if refused
                .is_some_and(|source: &std::io::Error| source.kind() == std::io::ErrorKind::PermissionDenied)
            {
                // A connection was made, and it is not to the primary.
                return Self::ReadOnly;
            }
            let is_connection = error.is_closed() || std::error::Error::source(&error).is_some();
            return if is_connection {
                Self::Unreachable(Box::new(error))
            } else {
                Self::Statement(error.to_string(), error)
            };
        };
        let (code, message) = (database.code().clone(), database.message().to_owned());
        match code {
            SqlState::UNIQUE_VIOLATION => Self::Duplicate,
            SqlState::READ_ONLY_SQL_TRANSACTION => Self::ReadOnly,
            SqlState::DISK_FULL | SqlState::OUT_OF_MEMORY | SqlState::INSUFFICIENT_RESOURCES => {
                Self::DiskFull
            }
            SqlState::TOO_MANY_CONNECTIONS => Self::TooManyConnections,
            SqlState::QUERY_CANCELED | SqlState::LOCK_NOT_AVAILABLE => Self::Cancelled,
            SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => Self::Conflict,
            SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
                Self::Unreachable(Box::new(error))
            }
            // Exceptions of the connection, faults of the system, and what a pooler says in place of the database.
            code if ["08", "57P", "58", "25P03"].iter().any(|class| code.code().starts_with(class)) => {
                Self::Unreachable(Box::new(error))
            }
            _ => Self::Statement(message, error),
        }
    }
}

impl From<PoolError> for PostgresError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => match Self::from(error) {
                // Whatever it is, there is no connection.
                Self::Statement(message, error) if error.as_db_error().is_none() => {
                    tracing::debug!(message, "no connection to the database");
                    Self::Unreachable(Box::new(error))
                }
                error => error,
            },
            PoolError::Timeout(_) => Self::TimedOut,
            error => Self::Unreachable(Box::new(error)),
        }
    }
}
