//! What was deleted leaves the disk: by itself while a server runs, and at once for a tenant that goes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ibid_core::Tenant;
use ibid_engine::{Engine as _, EngineFile, UnfinishedJob};
use ibid_knowledge::MaintenanceSettings;

use crate::backup::remove_scratch;
use crate::documents::WeakDocuments;
use crate::engines::look;
use crate::error::Error;
use crate::offline::active_loads;
use crate::settings::Settings;
use crate::store::open_store;

/// The shortest and the longest time between two rounds.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(3600));
/// Rounds take at most one of so many parts of the time: where a store is large, they are less often.
const SHARE: u32 = 20;

/// What was deleted of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PurgeReport {
    /// How many conversations.
    pub threads: usize,
    /// How many documents.
    pub documents: usize,
}

/// Erases what was deleted and settles what was left, round after round, for as long as the documents are used.
pub(crate) async fn keep_erasing(documents: WeakDocuments, settings: Arc<Settings>) {
    let least = (settings.store.erase_after.0 / 2).clamp(PAUSES.0, PAUSES.1);
    let mut pause = least;
    loop {
        tokio::time::sleep(pause).await;
        let Some(documents) = documents.upgrade() else { return };
        let began = Instant::now();
        match documents.look_after().await {
            Ok(()) => {}
            Err(Error::Engine(ibid_engine::Error::Closed)) => return,
            Err(error) => tracing::warn!(
                error = error.chain(),
                "the store could not be looked after; it is tried again"
            ),
        }
        drop(documents);
        if let Err(error) = remove_scratch(&settings) {
            tracing::warn!(%error, "what a backup left could not be removed; it is tried again");
        }
        pause = least.max(began.elapsed() * SHARE);
    }
}

/// Erases what was deleted from a store: at once if nobody else uses the data folder and the store lies there, else when nobody can
/// read it any more.
///
/// # Errors
/// Fails when the store cannot be written.
pub async fn erase_now(settings: &Settings) -> Result<(), Error> {
    let files = [settings.engine_file(), settings.ingestion_file()];
    let locks: Result<Vec<_>, _> = files.iter().map(|file| EngineFile::at(file).lock()).collect();
    let mut store = open_store(settings).await?;
    if locks.is_ok() && settings.engine.url.is_none() && settings.store.location.is_none() {
        store = store
            .keeping(MaintenanceSettings { keep_versions: Duration::ZERO, ..MaintenanceSettings::default() });
    }
    Box::pin(store.erase_deleted()).await?;
    Ok(())
}

/// Deletes everything of a tenant: from a data folder that no server uses, so that no byte of it is left there, or from the database
/// that processes share.
///
/// # Errors
/// Fails when a server uses the data folder, or when something cannot be written. Doing it again goes on where it failed.
pub async fn purge_tenant(settings: &Settings, tenant: &Tenant) -> Result<PurgeReport, Error> {
    let (loading, threads) = match look(settings).await? {
        Some(engine) => {
            let loading = engine.unfinished_jobs().await?;
            (loading, engine.purge_tenant(tenant).await?)
        }
        None => purge_files(settings, tenant)?,
    };
    let loading = loading.into_iter().filter(|left| left.scope.tenant() == tenant).collect();
    let documents = open_store(settings).await?.delete_tenant(tenant, &active_loads(loading)).await?;
    erase_now(settings).await?;
    remove_scratch(settings)?;
    Ok(PurgeReport { threads, documents })
}

/// The loads that had not ended, and how many conversations there were.
fn purge_files(settings: &Settings, tenant: &Tenant) -> Result<(Vec<UnfinishedJob>, usize), Error> {
    let purge = |file: PathBuf| match file.is_file() {
        true => EngineFile::at(&file).purge_tenant(tenant),
        false => Ok(0),
    };
    let loading = match settings.ingestion_file() {
        file if file.is_file() => EngineFile::at(&file).unfinished_jobs()?,
        _ => Vec::new(),
    };
    // Loads first, or one that was interrupted would bring its document back.
    purge(settings.ingestion_file())?;
    Ok((loading, purge(settings.engine_file())?))
}
