//! How an engine on Postgres behaves.

use std::time::Duration;

use crate::run::RunSettings;

/// How an engine on Postgres behaves.
#[derive(Debug, Clone)]
pub struct PostgresSettings {
    /// Where the database is: `postgres://user:password@host/database`, with more hosts for standbys, separated by commas.
    pub url: String,
    /// Where hints of other processes are listened to, if `url` is a pooler in transaction mode, which swallows them.
    pub listen_url: Option<String>,
    /// How runs are worked on.
    pub runs: RunSettings,
    /// Whether this process works on runs, or only takes and follows them.
    pub works: bool,
    /// How long a worker may be silent before its runs are taken over.
    pub lease: Duration,
    /// The most connections to the database, besides the one that listens.
    pub connections: usize,
}

impl PostgresSettings {
    /// The most runs that one process works on at once, unless said otherwise.
    pub const AT_ONCE: usize = 1000;

    /// The usual behaviour, on a database.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            listen_url: None,
            runs: RunSettings::default(),
            works: true,
            lease: Duration::from_secs(10),
            connections: 16,
        }
    }

    pub(super) fn listen_url(&self) -> &str {
        self.listen_url.as_deref().unwrap_or(&self.url)
    }
}
