//! Dropping what is no longer needed: the steps and events of runs that ended some time ago.

use std::time::Duration;

use super::LocalEngine;
use crate::error::Error;
use crate::store::{self, Batch, now_ms};

/// How long a temporary thread is kept after it was last used.
const TEMPORARY: Duration = Duration::from_secs(600);
/// How many runs one commit drops, so that turns need not wait for the broom.
const RUNS_AT_ONCE: usize = 200;

impl LocalEngine {
    /// Drops the steps and events of runs that ended longer than `age` ago, and gives the room back.
    ///
    /// # Errors
    /// Fails if the store does.
    pub async fn drop_steps_older_than(&self, age: Duration) -> Result<(), Error> {
        let before = now_ms().saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        let writer = self.writer()?;
        let mut more = true;
        let mut dropped = false;
        while more {
            let drop = move |connection: &_| store::drop_ended_before(connection, before, RUNS_AT_ONCE);
            let count = writer.write(Batch::default(), drop).await?;
            more = count == RUNS_AT_ONCE;
            dropped |= count > 0;
        }
        while dropped && writer.reclaim_space().await? {}
        Ok(())
    }

    /// Drops temporary threads that were last used longer than `age` ago.
    ///
    /// # Errors
    /// Fails if the store does.
    pub async fn drop_temporary_older_than(&self, age: Duration) -> Result<(), Error> {
        let before = now_ms().saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        let writer = self.writer()?;
        loop {
            let drop = move |connection: &_| store::drop_temporary_before(connection, before, RUNS_AT_ONCE);
            if writer.write(Batch::default(), drop).await? < RUNS_AT_ONCE {
                return Ok(());
            }
        }
    }

    pub(super) async fn run_retention(self) {
        let retention = self.0.settings.retention;
        let pause = (retention / 24).clamp(Duration::from_secs(1), Duration::from_secs(600));
        loop {
            if let Err(error) = self.drop_steps_older_than(retention).await {
                tracing::error!(error = &error as &dyn std::error::Error, "old steps could not be dropped");
            }
            if let Err(error) = self.drop_temporary_older_than(TEMPORARY).await {
                tracing::error!(error = &error as &dyn std::error::Error, "old threads could not be dropped");
            }
            if let Err(error) = self.drop_pending_events().await {
                tracing::error!(error = &error as &dyn std::error::Error, "told events could not be dropped");
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Drops what was told and stands in the journals by now.
    async fn drop_pending_events(&self) -> Result<(), Error> {
        let engine = self.clone();
        Ok(self.writer()?.write(Batch::default(), move |connection: &_| engine.trim(connection)).await?)
    }
}
