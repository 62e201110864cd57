//! What follows when loads are over: nothing is left of one that did not get through, the indexes are brought up to date, what
//! was deleted is erased.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use ibid_core::evidence::DocumentId;
use ibid_core::load::{LoadOutcome, LoadSummary};
use ibid_core::{RunId, Scope};
use ibid_engine::RunStatus;
use ibid_knowledge::{BlobPin, LoadRequest};
use tokio::sync::oneshot;

use super::DocumentService;
use crate::engines::one_at_a_time;
use crate::error::Error;

/// After so many loads the indexes are brought up to date, and after the last one.
const LOADS_PER_MAINTENANCE: usize = 64;
/// What one process does at a time with the store, and how often others look whether it is done.
const MAINTENANCE: &str = "store";
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

impl DocumentService {
    /// Brings the indexes of the store up to date. Of several processes, one does at a time; the others wait for it.
    ///
    /// # Errors
    /// Fails when the store does. Nothing is lost by that.
    pub async fn maintain(&self) -> Result<(), Error> {
        loop {
            let maintained = Box::pin(self.0.store.maintain());
            match one_at_a_time(&self.0.engine, MAINTENANCE, maintained).await? {
                Some(maintained) => return Ok(maintained.map(drop)?),
                None => tokio::time::sleep(BETWEEN_LOOKS).await,
            }
        }
    }

    /// Erases what was deleted, and settles loads that ended while nobody watched them: whoever had taken them ended, too.
    /// Of several processes, one does at a time.
    ///
    /// # Errors
    /// Fails when the store or the engine does. Doing it again goes on where it failed.
    pub(crate) async fn look_after(&self) -> Result<(), Error> {
        let work = async {
            self.0.store.erase_deleted().await?;
            self.settle_left().await
        };
        one_at_a_time(&self.0.engine, MAINTENANCE, Box::pin(work)).await?.unwrap_or(Ok(()))
    }

    /// Settles the loads that have ended and of which the ledger still says that they are under way: those that the look before
    /// found, too, since one that has just begun or ended looks the same for a moment.
    async fn settle_left(&self) -> Result<(), Error> {
        let mut left = BTreeSet::new();
        for document in self.0.store.unsettled().await? {
            let scope = Scope::of(document.tenant.clone());
            let jobs = self.jobs(&scope, &document.id).await?;
            if jobs.iter().any(|(job, _)| !job.status.is_final()) {
                continue;
            }
            if !self.left().contains(&document.id) {
                left.insert(document.id);
                continue;
            }
            // Why it failed is the ledger's to tell, and nobody waits for it here.
            match jobs.last() {
                Some((job, request)) => drop(self.settle(&scope, request, None, job.id).await),
                None => {
                    self.0.ingestion.rollback(&LoadRequest::pending(&document), RunId::new()).await?;
                }
            }
            tracing::info!(document = %document.id, "a load that nobody watched to its end is settled");
        }
        *self.left() = left;
        Ok(())
    }

    fn left(&self) -> MutexGuard<'_, BTreeSet<DocumentId>> {
        self.0.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When a load is over: leaves nothing of one that did not get through, and brings the indexes up to date unless many
    /// others follow.
    pub(super) fn watch(
        &self,
        scope: Scope,
        request: LoadRequest,
        pin: Option<BlobPin>,
        run: RunId,
    ) -> oneshot::Receiver<Result<LoadSummary, Error>> {
        let (done, ended) = oneshot::channel();
        let service = self.clone();
        self.0.under_way.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            service.until_ended(&scope, run).await;
            let settled = service.settle(&scope, &request, pin, run).await;
            if let Err(error) = &settled {
                tracing::warn!(%error, "a load did not end well; `ibid fsck --repair` removes what it left behind");
            }
            // The caller may have gone; the load is over all the same.
            let _ = done.send(settled);
            let left = service.0.under_way.fetch_sub(1, Ordering::Relaxed) - 1;
            let loaded = service.0.ended.fetch_add(1, Ordering::Relaxed) + 1;
            if (left == 0 || loaded.is_multiple_of(LOADS_PER_MAINTENANCE))
                && let Err(error) = service.maintain().await
            {
                // Nothing is lost by it, and the next load tries again.
                tracing::warn!(%error, "the indexes of the store could not be brought up to date");
            }
        });
        ended
    }

    /// After a load: rolls back one that did not get through, as far as others of the same document do not need it, and
    /// releases its content. One that the end of the engine interrupted goes on with the next, so it is left as it is.
    async fn settle(
        &self,
        scope: &Scope,
        request: &LoadRequest,
        pin: Option<BlobPin>,
        run: RunId,
    ) -> Result<LoadSummary, Error> {
        let job = self.0.engine.job(scope, run).await?;
        let mut loaded_after_all = false;
        if matches!(job.status, RunStatus::Failed | RunStatus::Stopped) {
            let others = self.jobs(scope, &request.document()).await?;
            let why = job.error.as_deref().filter(|_| job.set_aside);
            if others.iter().all(|(other, _)| other.status.is_final()) {
                loaded_after_all = match why {
                    Some(why) => self.0.ingestion.give_up(request, run, why).await?,
                    None => self.0.ingestion.rollback(request, run).await?,
                };
            } else {
                self.0.ingestion.discard_staging(request, run).await?;
            }
        }
        if let Some(pin) = pin.filter(|_| job.status.is_final()) {
            self.0.ingestion.release(request, pin).await?;
        }
        if let Some(error) = job.error {
            return Err(Error::Failed(error));
        }
        let unclear = || Error::Failed("loading ended without a result".to_owned());
        let mut summary: LoadSummary =
            job.result.and_then(|result| serde_json::from_value(result).ok()).ok_or_else(unclear)?;
        if summary.outcome == LoadOutcome::Stopped && loaded_after_all {
            summary.outcome = LoadOutcome::Loaded;
        }
        Ok(summary)
    }

    pub(super) async fn until_ended(&self, scope: &Scope, run: RunId) {
        use futures_util::StreamExt as _;
        if let Ok(events) = self.0.engine.events(scope, run, 0).await {
            events.for_each(|_| std::future::ready(())).await;
        }
    }
}
