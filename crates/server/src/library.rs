//! The documents, what loads them and what finds in them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt as _;
use ibid_core::evidence::{DocumentId, Index};
use ibid_core::{Corpus, Message, Role, RunId, Scope, ThreadId};
use ibid_engine::{Engine, Run, RunStatus, Stop, Turn, Unfinished};
use ibid_knowledge::{Error, Hold, Ingestion, Job, Settings, Store};

use crate::http::Problem;

/// After so many documents the indexes are brought up to date, and after the last one.
const BETWEEN_UPKEEP: usize = 64;

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

/// A load that an earlier process left. Its content is held from before it goes on.
pub struct Left {
    scope: Scope,
    job: Job,
    hold: Option<Hold>,
    run: RunId,
}

impl Left {
    /// What such a turn loads.
    ///
    /// # Errors
    /// Fails when it is no load.
    pub fn of(ingestion: &Ingestion, left: Unfinished) -> Result<Self, serde_json::Error> {
        let job = Job::asked(&left.input)?;
        let hold = job.version.as_ref().map(|version| ingestion.hold(version));
        Ok(Self { scope: Scope::of(left.tenant), job, hold, run: left.run })
    }
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
        let (mut hold, mut length) = (None, 0);
        if let Some(file) = file {
            let bytes = tokio::fs::read(file).await.map_err(|error| Problem::internal(&error))?;
            let version = Ingestion::name(&bytes);
            length = bytes.len() as u64;
            hold = Some(self.ingestion.hold(&version));
            self.ingestion.keep_as(&version, &bytes).await.map_err(problem)?;
            job.version = Some(version);
        }
        let text = serde_json::to_string(&job).map_err(|error| Problem::internal(&error))?;
        let turn = Turn::new(Job::thread(&job.document()), &self.program, Message::user(text));
        let announced = self.ingestion.announce(&job, length).await.map_err(problem)?;
        match self.loads.submit(scope, turn).await {
            Ok(submitted) => {
                self.watch(scope.clone(), job, hold, submitted.run);
                Ok(submitted.run)
            }
            Err(error) => {
                drop(hold);
                if announced {
                    self.ingestion.abandon(&job, RunId::new()).await.map_err(problem)?;
                }
                Err(error.into())
            }
        }
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
        self.stop_loads(scope, document).await
    }

    async fn stop_loads(&self, scope: &Scope, document: &DocumentId) -> Result<Vec<RunId>, Problem> {
        let mut stopped = Vec::new();
        for run in unfinished(&self.loads, scope, Job::thread(document)).await?.into_iter().rev() {
            self.loads.stop(scope, run, Stop::Keep).await?;
            stopped.push(run);
        }
        Ok(stopped)
    }

    /// Deletes a document, also one that is being loaded. Says whether there was one.
    pub(crate) async fn delete(&self, scope: &Scope, document: &DocumentId) -> Result<bool, Problem> {
        // Who may delete what is there may stop what would take its place, whoever may see that.
        let stopped = if self.store.document(scope, document).await.map_err(problem)?.is_some() {
            self.stop_loads(scope, document).await?
        } else {
            self.cancel(scope, document).await?
        };
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
    pub fn take_up(&self, left: Vec<Left>) {
        for Left { scope, job, hold, run } in left {
            self.watch(scope, job, hold, run);
        }
    }

    /// When a load is over: leaves nothing of one that did not get through, and brings the indexes up to date unless many
    /// others follow.
    fn watch(&self, scope: Scope, job: Job, hold: Option<Hold>, run: RunId) {
        let (loads, store, upkeep) = (self.loads.clone(), self.store.clone(), self.upkeep.clone());
        let ingestion = self.ingestion.clone();
        upkeep.loading.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            ended(&loads, &scope, run).await;
            if let Err(error) = settle(&loads, &ingestion, &scope, &job, hold, run).await {
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

/// The loads of a document that have not ended, oldest first.
async fn unfinished(
    loads: &Arc<dyn Engine>,
    scope: &Scope,
    thread: ThreadId,
) -> Result<Vec<RunId>, ibid_engine::Error> {
    let runs = match loads.runs(scope, thread).await {
        Err(ibid_engine::Error::UnknownThread(_)) => return Ok(Vec::new()),
        runs => runs?,
    };
    Ok(runs.into_iter().filter(|run| !run.status.is_final()).map(|run| run.id).collect())
}

/// After a load: leaves nothing of one that did not get through but what others of the same document need, and lets go of
/// its content. One that the server's end interrupted goes on with the next, so it is left as it is.
async fn settle(
    loads: &Arc<dyn Engine>,
    ingestion: &Ingestion,
    scope: &Scope,
    job: &Job,
    hold: Option<Hold>,
    run: RunId,
) -> Result<(), Error> {
    let status = loads.run(scope, run).await.map(|run| run.status);
    if matches!(status, Ok(RunStatus::Failed | RunStatus::Stopped)) {
        match unfinished(loads, scope, Job::thread(&job.document())).await {
            Ok(others) if others.is_empty() => drop(ingestion.abandon(job, run).await?),
            Ok(_) => ingestion.withdraw(job, run).await?,
            Err(_) => return Ok(()),
        }
    }
    match (status, hold) {
        (Ok(status), Some(hold)) if status.is_final() => ingestion.let_go(job, hold).await,
        _ => Ok(()),
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
