//! Dropping what is no longer needed: first the journals of runs that ended some time ago, of which traces are kept, then
//! those.

use std::time::Duration;

use ibid_core::Tenant;
use rusqlite::Connection;

use super::LocalEngine;
use crate::error::Error;
use crate::run::now_ms;
use crate::store::{self, Batch, StoreError};

/// How long a temporary thread is kept after it was last used.
const TEMPORARY: Duration = Duration::from_secs(600);
/// How long a copy is kept that was made before a migration.
const COPIES: Duration = Duration::from_secs(7 * 24 * 3600);
/// How many runs one commit drops, so that turns need not wait for the broom.
const RUNS_AT_ONCE: usize = 50;

impl LocalEngine {
    /// Drops the journals of runs that ended longer than `age` ago, and gives the room back. Those of turns are packed, unless
    /// no traces are to be kept.
    ///
    /// # Errors
    /// Fails if the store does.
    pub async fn drop_steps_older_than(&self, age: Duration) -> Result<(), Error> {
        let (keep_traces, before) = (self.0.settings.trace_retention > age, time_before(age));
        let writer = self.writer()?;
        let (mut more, mut dropped) = (true, false);
        while more {
            let pack =
                move |connection: &_| store::pack_ended_before(connection, before, RUNS_AT_ONCE, keep_traces);
            let ended = self.0.readers.read_apart(pack).await?;
            (more, dropped) = (ended.len() == RUNS_AT_ONCE, dropped || !ended.is_empty());
            if !ended.is_empty() {
                writer
                    .write(Batch::default(), move |connection| store::drop_journals(connection, &ended))
                    .await?;
            }
        }
        while dropped && writer.reclaim_space().await? {}
        Ok(())
    }

    /// Drops the traces of turns that ended longer than `age` ago, and gives the room back.
    ///
    /// # Errors
    /// Fails if the store does.
    pub async fn drop_traces_older_than(&self, age: Duration) -> Result<(), Error> {
        self.sweep(age, |connection, before| store::drop_traces_before(connection, before, RUNS_AT_ONCE))
            .await
    }

    /// Drops temporary threads that were last used longer than `age` ago, and gives the room back.
    ///
    /// # Errors
    /// Fails if the store does.
    pub async fn drop_temporary_older_than(&self, age: Duration) -> Result<(), Error> {
        self.sweep(age, |connection, before| store::drop_temporary_before(connection, before, RUNS_AT_ONCE))
            .await
    }

    /// Drops threads that have not been used for as long as their tenants keep them, and gives the room back.
    ///
    /// # Errors
    /// Fails if the store does.
    pub async fn drop_old_threads(&self) -> Result<(), Error> {
        let settings = &self.0.settings;
        let (general, single) = (settings.thread_retention, &settings.tenant_retention);
        let mut kept: Vec<(Tenant, Duration)> =
            single.iter().map(|(tenant, age)| (tenant.clone(), *age)).collect();
        if let Some(age) = general {
            let tenants = self.0.readers.read(store::tenants).await?.into_iter();
            kept.extend(tenants.filter(|tenant| !single.contains_key(tenant)).map(|tenant| (tenant, age)));
        }
        for (tenant, age) in kept {
            let drop = move |connection: &_, before| {
                store::drop_threads_before(connection, &tenant, before, RUNS_AT_ONCE)
            };
            self.sweep(age, drop).await?;
        }
        Ok(())
    }

    /// Drops what is older than `age`, a few at a time, and gives the room back.
    async fn sweep<F>(&self, age: Duration, drop: F) -> Result<(), Error>
    where
        F: Fn(&Connection, i64) -> Result<usize, StoreError> + Clone + Send + 'static,
    {
        let before = time_before(age);
        let writer = self.writer()?;
        let (mut more, mut dropped) = (true, false);
        while more {
            let drop = drop.clone();
            let count = writer.write(Batch::default(), move |connection| drop(connection, before)).await?;
            (more, dropped) = (count == RUNS_AT_ONCE, dropped || count > 0);
        }
        while dropped && writer.reclaim_space().await? {}
        Ok(())
    }

    pub(super) async fn run_retention(self) {
        let retention = self.0.settings.retention;
        let pause = (retention / 24).clamp(Duration::from_secs(1), Duration::from_secs(600));
        loop {
            if let Err(error) = self.drop_steps_older_than(retention).await {
                tracing::error!(error = &error as &dyn std::error::Error, "old steps could not be dropped");
            }
            if let Err(error) = self.drop_traces_older_than(self.0.settings.trace_retention).await {
                tracing::error!(error = &error as &dyn std::error::Error, "old traces could not be dropped");
            }
            if let Err(error) = self.drop_temporary_older_than(TEMPORARY).await {
                tracing::error!(error = &error as &dyn std::error::Error, "old threads could not be dropped");
            }
            if let Err(error) = self.drop_old_threads().await {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "threads that are not kept could not be dropped"
                );
            }
            if let Err(error) = self.drop_pending_events().await {
                tracing::error!(error = &error as &dyn std::error::Error, "told events could not be dropped");
            }
            if let Err(error) = self.erase_deleted().await {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "what was deleted could not be erased"
                );
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Leaves no byte of what was deleted: free pages are given back to the disk, the log is emptied, and copies that were
    /// made before migrations are removed after a while.
    async fn erase_deleted(&self) -> Result<(), Error> {
        let writer = self.writer()?;
        while writer.reclaim_space().await? {}
        let path = self.0.path.clone();
        let removed =
            tokio::task::spawn_blocking(move || store::remove_copies_older_than(&path, COPIES)).await;
        Ok(removed.unwrap_or(Ok(()))?)
    }

    /// Drops what was told and stands in the journals by now.
    async fn drop_pending_events(&self) -> Result<(), Error> {
        let engine = self.clone();
        Ok(self.writer()?.write(Batch::default(), move |connection: &_| engine.trim(connection)).await?)
    }
}

/// The time so long ago, as the store has it.
fn time_before(age: Duration) -> i64 {
    now_ms().saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
}
