//! Where conversations and loads are kept: in files of the data folder, for one process, or in Postgres, which any number of
//! processes share. Either way loads have an engine of their own, so that they take no turn's place.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ibid_core::Secret;
use ibid_engine::{Engine, Graphs, LocalEngine, PostgresEngine, PostgresSettings, RunSettings};

use crate::error::{DoingExt, Error};
use crate::health::CheckResult;
use crate::settings::{ServeRole, Settings};

const NOT_KEPT: &str = "the conversation cannot be kept, so nothing was asked";
const NOT_LOADED: &str = "documents cannot be loaded durably, so none was loaded";

/// So many connections are enough to look at what is there.
const LOOKING: usize = 4;

/// The engine of turns, in a file of their own if one is named.
pub(crate) async fn open_turns(
    settings: &Settings,
    file: Option<PathBuf>,
    graphs: Graphs,
) -> Result<Arc<dyn Engine>, Error> {
    open(settings, file, Settings::engine_file, graphs, settings.engine_settings(), NOT_KEPT).await
}

/// The engine of loads. It takes up what was left when it is told to.
pub(crate) async fn open_loads(settings: &Settings, graphs: Graphs) -> Result<Arc<dyn Engine>, Error> {
    let runs = RunSettings {
        at_once: Some(settings.ingest.at_once),
        recover_on_open: false,
        crashes: settings.ingest.crashes.into(),
        thread_retention: None,
        tenant_retention: BTreeMap::new(),
        ..settings.engine_settings()
    };
    open(settings, None, Settings::ingestion_file, graphs, runs, NOT_LOADED).await
}

async fn open(
    settings: &Settings,
    file: Option<PathBuf>,
    usual: fn(&Settings) -> PathBuf,
    graphs: Graphs,
    runs: RunSettings,
    failed: &'static str,
) -> Result<Arc<dyn Engine>, Error> {
    let doing = || failed.to_owned();
    if let Some(shared) = postgres_settings(settings)?.filter(|_| file.is_none()) {
        let works = settings.serve.role != ServeRole::Server;
        let engine = PostgresEngine::open(graphs, PostgresSettings { runs, works, ..shared }).await;
        return Ok(Arc::new(engine.doing(doing)?));
    }
    let file = file.unwrap_or_else(|| usual(settings));
    Ok(Arc::new(LocalEngine::open(&file, graphs, runs).await.doing(doing)?))
}

/// A role needs others to share the work with.
pub(crate) fn refuse_role_alone(settings: &Settings) -> Result<(), Error> {
    if settings.serve.role == ServeRole::All || settings.engine.url.is_some() {
        return Ok(());
    }
    Err(Error::Settings(
        "`serve.role` tells processes apart that share `engine.url`; set that, or leave the role out"
            .to_owned(),
    ))
}

/// How the database is reached, if conversations are kept in one.
fn postgres_settings(settings: &Settings) -> Result<Option<PostgresSettings>, Error> {
    let engine = &settings.engine;
    let Some(url) = &engine.url else { return Ok(None) };
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(Error::Settings(
            "`engine.url` is the address of a Postgres database, such as postgres://ibid@db.example/ibid"
                .to_owned(),
        ));
    }
    let shared = with_password(settings, PostgresSettings::new(url.clone()))?;
    Ok(Some(PostgresSettings {
        listen_url: engine.listen_url.clone(),
        connections: engine.connections,
        lease: engine.lease.0,
        ..shared
    }))
}

/// With the password that the settings name.
pub(crate) fn with_password(
    settings: &Settings,
    shared: PostgresSettings,
) -> Result<PostgresSettings, Error> {
    let Some(name) = &settings.engine.password_env else { return Ok(shared) };
    let password = std::env::var(name).map_err(|_| {
        Error::Settings(format!(
            "the environment variable {name}, which `engine.password_env` names, is not set"
        ))
    })?;
    Ok(PostgresSettings { password: Some(Secret::new(&password)), ..shared })
}

/// The engine that processes share, to look at what it keeps and to change what nobody works on; none if one process keeps all in
/// files.
///
/// # Errors
/// Fails when it cannot be reached, or has another schema than this version.
pub(crate) async fn look(settings: &Settings) -> Result<Option<PostgresEngine>, Error> {
    settings.refuse_several_cells()?;
    let Some(shared) = postgres_settings(settings)? else { return Ok(None) };
    let engine = PostgresEngine::look(PostgresSettings { connections: LOOKING, ..shared }).await;
    Ok(Some(engine.doing(|| "the conversations cannot be looked at".to_owned())?))
}

/// How long a lease lasts if the process that has it ends without a word.
const LEASE: Duration = Duration::from_secs(60);

/// Does something unless another process on the same engine does it just now.
pub(crate) async fn one_at_a_time<T>(
    engine: &Arc<dyn Engine>,
    name: &str,
    work: impl Future<Output = T>,
) -> Result<Option<T>, Error> {
    if !engine.take_lease(name, LEASE).await? {
        return Ok(None);
    }
    let renewing = async {
        loop {
            tokio::time::sleep(LEASE / 3).await;
            if let Err(error) = engine.take_lease(name, LEASE).await {
                tracing::warn!(%error, name, "a lease could not be made longer");
            }
        }
    };
    let done = tokio::select! {
        done = work => done,
        () = renewing => return Ok(None),
    };
    engine.end_lease(name).await?;
    Ok(Some(done))
}

/// Whether the database that processes share can keep conversations; none if one process keeps all in files.
pub async fn engine_database_check(settings: &Settings) -> Option<CheckResult> {
    let checked = match look(settings).await {
        Ok(None) => return None,
        Ok(Some(engine)) => engine.check().await.map_err(Error::from),
        Err(error) => Err(error),
    };
    Some(match checked {
        Ok(()) => CheckResult::fine("the database of `engine.url` keeps conversations and loads"),
        Err(error) => CheckResult::wrong(
            error.chain(),
            "see whether `engine.url` leads to the primary of a Postgres database that this user may write to",
        ),
    })
}
