//! What was deleted leaves the disk: by itself while a server runs, and at once for a tenant that goes.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ibid_core::Tenant;
use ibid_engine::EngineFile;
use ibid_knowledge::{MaintenanceSettings, Store};

use crate::backup::remove_scratch;
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

/// Erases what was deleted, round after round, for as long as the store is used.
pub(crate) async fn keep_erasing(store: Weak<Store>, settings: Arc<Settings>) {
    let least = (settings.store.erase_after.0 / 2).clamp(PAUSES.0, PAUSES.1);
    let mut pause = least;
    loop {
        tokio::time::sleep(pause).await;
        let Some(store) = store.upgrade() else { return };
        let began = Instant::now();
        if let Err(error) = store.erase_deleted().await {
            tracing::warn!(%error, "what was deleted from the store could not be erased; it is tried again");
        }
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
    if locks.is_ok() && settings.store.location.is_none() {
        store = store
            .keeping(MaintenanceSettings { keep_versions: Duration::ZERO, ..MaintenanceSettings::default() });
    }
    Box::pin(store.erase_deleted()).await?;
    Ok(())
}

/// Deletes everything of a tenant from a data folder that no server uses, and leaves no byte of it there.
///
/// # Errors
/// Fails when a server uses the data folder, or when something cannot be written. Doing it again goes on where it failed.
pub async fn purge_tenant(settings: &Settings, tenant: &Tenant) -> Result<PurgeReport, Error> {
    let purge = |file: PathBuf| match file.is_file() {
        true => EngineFile::at(&file).purge_tenant(tenant),
        false => Ok(0),
    };
    let mut loading = match settings.ingestion_file() {
        file if file.is_file() => EngineFile::at(&file).unfinished_jobs()?,
        _ => Vec::new(),
    };
    loading.retain(|left| left.scope.tenant() == tenant);
    // Loads first, or one that was interrupted would bring its document back.
    purge(settings.ingestion_file())?;
    let threads = purge(settings.engine_file())?;
    let documents = open_store(settings).await?.delete_tenant(tenant, &active_loads(loading)).await?;
    erase_now(settings).await?;
    remove_scratch(settings)?;
    Ok(PurgeReport { threads, documents })
}
