//! The documents, what loads them and what finds in them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt as _;
use ibid_core::evidence::{DocumentId, Index};
use ibid_core::{Corpus, Message, Role, RunId, Scope, Tenant, ThreadId};
use ibid_engine::{Engine, MessageWindow, Run, RunStatus, Stop, Turn};
use ibid_knowledge::{Error, Ingestion, Job, Settings, Store};

use crate::http::Problem;

/// After so many documents the indexes are brought up to date, and after the last one.
const BETWEEN_UPKEEP: usize = 64;

/// So many messages tell what the loads of one document that have not ended load.
const MOST_JOBS: usize = 40;

/// How a file is treated, by its name and its corpus.
pub type Treated = Box<dyn Fn(&str, &Corpus) -> Settings + Send + Sync>;

/// The documents, what loads them and what finds in them.
pub struct Library {
    /// Where they are kept.
    pub store: Arc<Store>,
    /// Loads them.
    pub ingestion: Ingestion,
    /// Runs loads, so that none is lost.
    pub loads: Arc<dyn Engine>,
    /// What the loads are called there.
    pub program: String,
    /// Finds in them.
    pub index: Arc<dyn Index>,
    /// Where documents go that nobody says otherwise of.
    pub corpus: Corpus,
    /// How a file is treated, by its name and its corpus.
    pub treated: Treated,
    /// The largest file, in bytes.
    pub largest: u64,
    /// How many documents were loaded and are being loaded.
    pub upkeep: Arc<Upkeep>,
}

/// When the indexes are brought up to date.
#[derive(Default)]
pub struct Upkeep {
    loading: AtomicUsize,
    loaded: AtomicUsize,
}

impl Library {
    /// Loads a document, from a file that was uploaded or from its source.
    pub(crate) async fn load(
        &self,
        scope: &Scope,
        mut job: Job,
        file: Option<&Path>,
    ) -> Result<RunId, Problem> {
        self.ingestion.permit(scope, &job).await.map_err(problem)?;
        let mut length = 0;
        if let Some(file) = file {
            let bytes = tokio::fs::read(file).await.map_err(|error| Problem::internal(&error))?;
            length = bytes.len() as u64;
            job.version = Some(self.ingestion.keep(&bytes).await.map_err(problem)?);
        }
        let text = serde_json::to_string(&job).map_err(|error| Problem::internal(&error))?;
        let turn = Turn::new(Job::thread(&job.document()), &self.program, Message::user(text));
        self.ingestion.announce(&job, length).await.map_err(problem)?;
        let run = match self.loads.submit(scope, turn).await {
            Ok(submitted) => submitted.run,
            Err(error) => {
                leave(&self.loads, &self.ingestion, scope, &job, RunId::new()).await.map_err(problem)?;
                return Err(error.into());
            }
        };
        self.watch(scope.clone(), job, run);
        Ok(run)
    }

    /// The last load of a document and what it loads, if the scope may see that.
    pub(crate) async fn last_load(
        &self,
        scope: &Scope,
        document: &DocumentId,
    ) -> Result<Option<(Run, Job)>, Problem> {
        let thread = Job::thread(document);
        let runs = match self.loads.runs(scope, thread).await {
            Ok(runs) => runs,
            Err(ibid_engine::Error::UnknownThread(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // What was asked for says who may see it; the ledger does not know it yet.
        let said = crate::messages::of_thread(&self.loads, scope, thread).await?;
        let jobs = said.iter().rev().filter(|said| said.message.role == Role::User);
        let job = jobs.filter_map(|said| serde_json::from_str::<Job>(&said.message.text).ok()).next();
        let job = job.filter(|job| scope.sees(&job.tenant, &job.corpus, &job.settings.labels));
        Ok(runs.into_iter().next_back().zip(job))
    }

    /// Stops every load of a document, the one that came last first: none begins when another ends. Says which they are.
    pub(crate) async fn cancel(&self, scope: &Scope, document: &DocumentId) -> Result<Vec<RunId>, Problem> {
        if self.last_load(scope, document).await?.is_none() {
            return Ok(Vec::new());
        }
        let mut stopped = Vec::new();
        for (run, _) in unfinished(&self.loads, scope, Job::thread(document)).await?.into_iter().rev() {
            self.loads.stop(scope, run, Stop::Keep).await?;
            stopped.push(run);
        }
        Ok(stopped)
    }

    /// Deletes a document, also one that is being loaded. Says whether there was one.
    pub(crate) async fn delete(&self, scope: &Scope, document: &DocumentId) -> Result<bool, Problem> {
        let stopped = self.cancel(scope, document).await?;
        // What is being loaded must not come back, so it has to have ended first.
        for run in &stopped {
            ended(&self.loads, scope, *run).await;
        }
        if let Some((run, job)) = self.last_load(scope, document).await? {
            if !stopped.is_empty() {
                self.ingestion.abandon(&job, run.id).await.map_err(problem)?;
            }
            self.loads.delete_thread(scope, run.thread).await?;
        }
        Ok(self.store.delete(scope, document).await.map_err(problem)? || !stopped.is_empty())
    }

    /// Watches loads that an earlier process left, and that go on now.
    ///
    /// # Errors
    /// Fails when what they load cannot be read.
    pub async fn take_up(&self, left: Vec<(Tenant, ThreadId)>) -> Result<(), ibid_engine::Error> {
        for (tenant, thread) in left {
            let scope = Scope::of(tenant);
            for (run, job) in unfinished(&self.loads, &scope, thread).await? {
                // One that waits for another of the same document has said nothing in the ledger.
                if let Some(job) = job {
                    self.watch(scope.clone(), job, run);
                }
            }
        }
        Ok(())
    }

    /// When a load is over: leaves nothing of one that did not get through, and brings the indexes up to date unless many
    /// others follow.
    fn watch(&self, scope: Scope, job: Job, run: RunId) {
        let (loads, store, upkeep) = (self.loads.clone(), self.store.clone(), self.upkeep.clone());
        let ingestion = self.ingestion.clone();
        upkeep.loading.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            ended(&loads, &scope, run).await;
            let status = loads.run(&scope, run).await.map(|run| run.status);
            if matches!(status, Ok(RunStatus::Failed | RunStatus::Stopped))
                && let Err(error) = leave(&loads, &ingestion, &scope, &job, run).await
            {
                tracing::warn!(%error, "what a load left behind could not be removed; `ibid fsck --repair` does it");
            }
            let left = upkeep.loading.fetch_sub(1, Ordering::Relaxed) - 1;
            let loaded = upkeep.loaded.fetch_add(1, Ordering::Relaxed) + 1;
            if (left == 0 || loaded.is_multiple_of(BETWEEN_UPKEEP))
                && let Err(error) = store.keep_up().await
            {
                // Nothing is lost by it, and the next load tries again.
                tracing::warn!(%error, "the indexes of the store could not be brought up to date");
            }
        });
    }
}

/// The loads of a document that have not ended, oldest first, and what they load; that is not known of one that waits for
/// another of them.
async fn unfinished(
    loads: &Arc<dyn Engine>,
    scope: &Scope,
    thread: ThreadId,
) -> Result<Vec<(RunId, Option<Job>)>, ibid_engine::Error> {
    let runs = match loads.runs(scope, thread).await {
        Err(ibid_engine::Error::UnknownThread(_)) => return Ok(Vec::new()),
        runs => runs?,
    };
    let said = loads.messages(scope, thread, MessageWindow { before: None, limit: MOST_JOBS }).await?;
    let job = |run: RunId| {
        let own = said.iter().find(|said| said.run == Some(run) && said.message.role == Role::User);
        own.and_then(|said| serde_json::from_str(&said.message.text).ok())
    };
    Ok(runs.into_iter().filter(|run| !run.status.is_final()).map(|run| (run.id, job(run.id))).collect())
}

/// Leaves nothing of a load that did not get through, but what others of the same document need.
async fn leave(
    loads: &Arc<dyn Engine>,
    ingestion: &Ingestion,
    scope: &Scope,
    job: &Job,
    run: RunId,
) -> Result<(), Error> {
    let others = unfinished(loads, scope, Job::thread(&job.document())).await.unwrap_or_default();
    let unknown = || Job { version: None, ..job.clone() };
    let others: Vec<Job> = others
        .into_iter()
        .filter(|(other, _)| *other != run)
        .map(|(_, other)| other.unwrap_or_else(unknown))
        .collect();
    if others.is_empty() {
        ingestion.abandon(job, run).await.map(drop)
    } else {
        ingestion.withdraw(job, run, &others).await
    }
}

/// Waits until a load has ended.
async fn ended(loads: &Arc<dyn Engine>, scope: &Scope, run: RunId) {
    if let Ok(events) = loads.events(scope, run, 0).await {
        events.for_each(|_| std::future::ready(())).await;
    }
}

/// What is told of a failure of the store.
pub(crate) fn problem(error: Error) -> Problem {
    match error {
        Error::NotAllowed(why) => Problem::forbidden(why),
        error if error.may_pass() => Problem::unavailable(error.to_string()),
        error => Problem::internal(&error),
    }
}
