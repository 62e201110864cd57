//! Connections to Postgres: a pool of them, and statements over one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, QueueMode, RecyclingMethod, Runtime, Timeouts,
};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::bound::Bound;
use super::fault::PostgresError;
use super::settings::PostgresSettings;
use crate::store::StoreError;

/// How long a connection may take to be made, and a caller may wait for one.
pub(super) const CONNECT: Duration = Duration::from_secs(3);
/// How long a statement may take. Whatever is written on the way of a turn takes milliseconds.
pub(super) const STATEMENT: Duration = Duration::from_secs(20);
/// How long somebody who asks for something is kept waiting while the database is away.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a full disk is taken to be full without somebody failing again.
const FRESH: Duration = Duration::from_secs(5);
/// How long to wait before the database is asked again, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// Waits before the database is asked again, longer each time.
#[derive(Default)]
pub(super) struct Backoff(Option<Duration>);

impl Backoff {
    /// Whether it was asked before.
    pub(super) const fn has_waited(&self) -> bool {
        self.0.is_some()
    }

    pub(super) async fn wait(&mut self) {
        let pause = self.0.map_or(PAUSES.0, |last| (last * 2).min(PAUSES.1));
        self.0 = Some(pause);
        tokio::time::sleep(pause).await;
    }
}

/// The database of an engine.
#[derive(Clone)]
pub(super) struct Database(Arc<Inner>);

struct Inner {
    pool: Pool,
    /// Whether a connection stays with its session, so that it can keep statements. Behind a pooler it may not.
    sessions: AtomicBool,
    /// When something last failed because the disk was full.
    disk_full: Mutex<Option<Instant>>,
}

/// A connection that is in use. One that is dropped in a transaction, or after it broke, is closed.
pub(crate) struct Connection {
    client: Option<Object>,
    database: Database,
    sessions: bool,
    in_transaction: bool,
    broken: AtomicBool,
}

/// TLS as `sslmode` of the address asks for it, with the certificates that the system trusts.
pub(super) fn tls() -> Result<MakeRustlsConnect, PostgresError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let failed = |error: &dyn std::error::Error| PostgresError::Url(ibid_core::error_chain(error));
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| failed(&error))?;
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Ok(MakeRustlsConnect::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

impl Database {
    /// A pool of so many connections. None is made yet.
    pub(super) fn new(settings: &PostgresSettings) -> Result<Self, PostgresError> {
        let recycling_method = RecyclingMethod::Fast;
        let config = settings.config(&settings.url)?;
        let manager = Manager::from_config(config, tls()?, ManagerConfig { recycling_method });
        let timeouts = Timeouts { wait: Some(PATIENCE), create: Some(CONNECT), recycle: Some(CONNECT) };
        let pool = Pool::builder(manager).max_size(settings.connections.max(2)).runtime(Runtime::Tokio1);
        // The connection that was used last: its process in the database is the warm one.
        let pool = pool.queue_mode(QueueMode::Lifo);
        let pool = pool.timeouts(timeouts).build().map_err(|error| PostgresError::Url(error.to_string()))?;
        Ok(Self(Arc::new(Inner { pool, sessions: AtomicBool::new(false), disk_full: Mutex::default() })))
    }

    /// From now on, connections are taken to stay with their sessions.
    pub(super) fn has_sessions(&self) {
        self.0.sessions.store(true, Ordering::Relaxed);
    }

    fn disk_full(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.disk_full.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something can be written now, as far as can be told without writing much: a full disk still takes what needs no
    /// more of it, but fails those who wait for it again and again.
    pub(super) async fn check(&self) -> Result<(), StoreError> {
        self.once("UPDATE ibid_schema SET version = version", &[]).await?;
        let full = *self.disk_full();
        match full.filter(|at| at.elapsed() < FRESH) {
            Some(_) => Err(PostgresError::DiskFull.into()),
            None => Ok(()),
        }
    }

    /// Closes all connections.
    pub(super) fn close(&self) {
        self.0.pool.close();
    }

    /// A connection of the pool.
    pub(super) async fn connection(&self) -> Result<Connection, StoreError> {
        match self.0.pool.get().await {
            Ok(client) => {
                let sessions = self.0.sessions.load(Ordering::Relaxed);
                let broken = AtomicBool::new(false);
                let database = self.clone();
                Ok(Connection { client: Some(client), database, sessions, in_transaction: false, broken })
            }
            Err(deadpool_postgres::PoolError::Closed) => Err(StoreError::Closed),
            Err(error) => Err(PostgresError::from(error).into()),
        }
    }

    /// Executes one statement, once.
    pub(super) async fn once(&self, sql: &str, values: &[Bound]) -> Result<Vec<Row>, StoreError> {
        self.connection().await?.query(sql, values).await
    }

    /// Executes one statement that may as well be executed twice, and waits for a database that is away for a moment.
    pub(super) async fn query(&self, sql: &str, values: &[Bound]) -> Result<Vec<Row>, StoreError> {
        self.insist(|| self.once(sql, values)).await
    }

    /// The first row of it, if there is one.
    pub(super) async fn first(&self, sql: &str, values: &[Bound]) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// Does something again until it succeeds, or fails in a way that does not pass, or for too long.
    pub(super) async fn insist<T, F>(&self, mut work: impl FnMut() -> F + Send) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let (began, mut backoff) = (Instant::now(), Backoff::default());
        loop {
            match work().await {
                Err(error) if error.may_pass() && began.elapsed() < PATIENCE => {
                    tracing::debug!(error = &error as &dyn std::error::Error, "the database is asked again");
                    backoff.wait().await;
                }
                done => return done,
            }
        }
    }
}

impl Connection {
    fn client(&self) -> Result<&Object, StoreError> {
        self.client.as_ref().ok_or(StoreError::Closed)
    }

    /// Executes a statement.
    pub(crate) async fn query(&self, sql: &str, values: &[Bound]) -> Result<Vec<Row>, StoreError> {
        let client = self.client()?;
        let work = async {
            if self.sessions {
                let kinds: Vec<Type> = values.iter().map(Bound::kind).collect();
                let statement = client.prepare_typed_cached(sql, &kinds).await?;
                let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
                return client.query(&statement, &values).await;
            }
            let values: Vec<(&(dyn ToSql + Sync), Type)> =
                values.iter().map(|value| (value as _, value.kind())).collect();
            client.query_typed(sql, &values).await
        };
        self.in_time(work).await
    }

    /// Executes statements without values.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), StoreError> {
        let client = self.client()?;
        self.in_time(client.batch_execute(sql)).await
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        let done = match tokio::time::timeout(STATEMENT, work).await {
            Ok(done) => done.map_err(PostgresError::from),
            Err(_) => Err(PostgresError::TimedOut),
        };
        done.map_err(|error| {
            if matches!(error, PostgresError::DiskFull) {
                *self.database.disk_full() = Some(Instant::now());
            }
            if error.breaks_connection() {
                self.broken.store(true, Ordering::Relaxed);
            }
            error.into()
        })
    }

    /// Begins a transaction. Whoever is put to sleep in the middle of one must not keep others waiting.
    pub(crate) async fn begin(&mut self) -> Result<(), StoreError> {
        self.in_transaction = true;
        self.batch(
            "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL lock_timeout = '10s'",
        )
        .await
    }

    /// Ends the transaction.
    pub(crate) async fn commit(&mut self) -> Result<(), StoreError> {
        self.batch("COMMIT").await?;
        self.in_transaction = false;
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if (self.in_transaction || self.broken.load(Ordering::Relaxed))
            && let Some(client) = self.client.take()
        {
            drop(Object::take(client));
        }
    }
}
