//! How an engine on Postgres behaves.

use std::time::Duration;

use ibid_core::Secret;

use tokio_postgres::Config;
use tokio_postgres::config::TargetSessionAttrs;

use super::database::{CONNECT, STATEMENT};
use super::fault::PostgresError;
use crate::run::RunSettings;

/// How an engine on Postgres behaves.
#[derive(Debug, Clone)]
pub struct PostgresSettings {
    /// Where the database is: `postgres://user:password@host/database`, with more hosts for standbys, separated by commas.
    pub url: String,
    /// The password, if it does not stand in the address.
    pub password: Option<Secret>,
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
            password: None,
            listen_url: None,
            runs: RunSettings::default(),
            works: true,
            lease: Duration::from_secs(10),
            connections: 16,
        }
    }

    /// How the database is reached, by the usual address or by the one that hints are listened to at.
    pub(super) fn config(&self, url: &str) -> Result<Config, PostgresError> {
        let mut config: Config = url
            .parse()
            .map_err(|error: tokio_postgres::Error| PostgresError::Url(ibid_core::error_chain(&error)))?;
        config.application_name("ibid").connect_timeout(CONNECT).tcp_user_timeout(STATEMENT);
        config.keepalives_idle(CONNECT).target_session_attrs(TargetSessionAttrs::ReadWrite);
        if let Some(password) = &self.password {
            config.password(password.reveal());
        }
        Ok(config)
    }

    pub(super) fn listen_url(&self) -> &str {
        self.listen_url.as_deref().unwrap_or(&self.url)
    }
}
