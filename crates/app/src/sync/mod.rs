//! Keeps documents in step with their sources: round after round by itself, or when somebody asks. Of several processes, one works on a
//! source at a time; what it decides from and what came of it is in the store, so that any other can go on.

mod compare;
mod record;
mod round;
mod source;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ibid_core::{Scope, SourceName};
use tokio::task::AbortHandle;

pub use record::{SourceStatus, SyncOutcome, SyncPaths, SyncPlan, SyncProblem, SyncProgress, SyncReport};
pub use round::Deletions;

use crate::documents::DocumentService;
use crate::engines::one_at_a_time;
use crate::error::Error;
use crate::settings::Settings;
use record::SyncRecord;
use round::RoundProgress;
use source::ConfiguredSource;

/// How often it is written down how far a round is.
const BETWEEN_NOTES: Duration = Duration::from_secs(2);
/// A round of which nothing was told for so long has ended with its process.
const LOST_AFTER: Duration = Duration::from_secs(120);
/// Files that were being written are looked at again so often, after so long.
const MOST_PASSES: usize = 5;
const BETWEEN_PASSES: Duration = Duration::from_secs(1);
/// The shortest time between two rounds that nobody asked for.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// The sources. Cheap to clone.
#[derive(Clone)]
pub struct SyncService(Arc<Inner>);

struct Inner {
    sources: BTreeMap<SourceName, Arc<ConfiguredSource>>,
    documents: DocumentService,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl SyncService {
    pub(crate) fn new(settings: &Settings, documents: DocumentService) -> Result<Self, Error> {
        let open = settings.sources.iter().map(|(name, source)| {
            Ok((name.clone(), Arc::new(ConfiguredSource::new(name, source, &settings.ingest)?)))
        });
        let sources = open.collect::<Result<_, Error>>()?;
        Ok(Self(Arc::new(Inner { sources, documents, tasks: Mutex::default() })))
    }

    /// Keeps every source in step from now on.
    pub fn keep_in_step(&self) {
        let tasks = self.0.sources.values().map(|source| {
            let (service, source) = (self.clone(), source.clone());
            tokio::spawn(async move { service.rounds(&source).await }).abort_handle()
        });
        self.tasks().extend(tasks);
    }

    pub(crate) fn stop(&self) {
        self.tasks().drain(..).for_each(|task| task.abort());
    }

    fn tasks(&self) -> std::sync::MutexGuard<'_, Vec<AbortHandle>> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sources of the corpora that a scope sees, and how they stand. Labels do not count: whoever looks after sources sees the paths
    /// of all their files.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn list(&self, scope: &Scope) -> Result<Vec<SourceStatus>, Error> {
        let mut all = Vec::new();
        for source in self.seen_by(scope) {
            all.push(self.status(scope, &source.name).await?);
        }
        Ok(all)
    }

    fn seen_by<'s>(&'s self, scope: &'s Scope) -> impl Iterator<Item = &'s Arc<ConfiguredSource>> {
        self.0.sources.values().filter(|source| source.is_seen_by(scope))
    }

    /// How a source stands.
    ///
    /// # Errors
    /// Fails when there is no such source, or when the store cannot be read.
    pub async fn status(&self, scope: &Scope, name: &SourceName) -> Result<SourceStatus, Error> {
        let source = self.source(scope, name)?;
        let SyncRecord { running, last, history } = self.record(source).await?;
        let lost = u64::try_from(LOST_AFTER.as_millis()).unwrap_or(u64::MAX);
        Ok(SourceStatus {
            name: name.clone(),
            kind: source.kind.name().to_owned(),
            location: source.settings.location.clone(),
            corpus: source.corpus.clone(),
            every_seconds: source.every().as_secs(),
            running: running.filter(|running| now().saturating_sub(running.updated) < lost),
            last,
            history,
        })
    }

    /// What a round would do now. Nothing is changed.
    ///
    /// # Errors
    /// Fails when there is no such source, or when it cannot be read.
    pub async fn plan(&self, scope: &Scope, name: &SourceName) -> Result<SyncPlan, Error> {
        round::plan(self.source(scope, name)?, &self.0.documents).await
    }

    /// Compares a source now, and waits until everything has followed. A source that cannot be read is told in the report.
    ///
    /// # Errors
    /// Fails when there is no such source, when it is being compared already, or when the store cannot be written.
    pub async fn sync(
        &self,
        scope: &Scope,
        name: &SourceName,
        deletions: Deletions,
    ) -> Result<SyncReport, Error> {
        let source = self.source(scope, name)?;
        let report = self.round(source, deletions).await?;
        report.ok_or_else(|| {
            Error::Failed(format!(
                "the source `{name}` is being compared already; see how it stands, or wait"
            ))
        })
    }

    /// The same without waiting for the end: it goes on also if whoever asked has gone.
    ///
    /// # Errors
    /// Fails when there is no such source.
    pub fn start(&self, scope: &Scope, name: &SourceName, deletions: Deletions) -> Result<(), Error> {
        let (service, source) = (self.clone(), self.source(scope, name)?.clone());
        let round = tokio::spawn(async move {
            if let Err(error) = service.round(&source, deletions).await {
                tracing::warn!(source = %source.name, error = error.chain(), "a source could not be compared");
            }
        });
        let mut tasks = self.tasks();
        tasks.retain(|task| !task.is_finished());
        tasks.push(round.abort_handle());
        Ok(())
    }

    fn source(&self, scope: &Scope, name: &SourceName) -> Result<&Arc<ConfiguredSource>, Error> {
        let found = self.0.sources.get(name).filter(|source| source.is_seen_by(scope));
        found.ok_or_else(|| {
            let names: Vec<&str> = self.seen_by(scope).map(|source| source.name.as_str()).collect();
            Error::Unknown(match names.as_slice() {
                [] => format!("there is no source `{name}`: the settings name none under `sources`"),
                _ => format!("there is no source `{name}`; there are {}", names.join(", ")),
            })
        })
    }

    /// Round after round.
    async fn rounds(&self, source: &ConfiguredSource) {
        let mut watch = source.source.watch();
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.until_due(source).await) => {}
                () = watch.changed() => {}
            }
            match Box::pin(self.round(source, Deletions::Brake)).await {
                Ok(_) => {}
                Err(Error::Engine(ibid_engine::Error::Closed)) => return,
                Err(error) => {
                    tracing::warn!(source = %source.name, error = error.chain(), "a source could not be compared");
                    tokio::time::sleep(LEAST_PAUSE).await;
                }
            }
        }
    }

    /// How long until a source is to be compared again, whoever did it last.
    async fn until_due(&self, source: &ConfiguredSource) -> Duration {
        let ended = match self.record(source).await {
            Ok(record) => record.last.map(|last| last.ended),
            Err(error) => {
                tracing::warn!(source = %source.name, error = error.chain(), "it cannot be told when a source was compared");
                Some(now())
            }
        };
        let Some(ended) = ended else { return Duration::ZERO };
        // A clock that was set back would put it off for long.
        let since = now().checked_sub(ended).map_or(source.every(), Duration::from_millis);
        source.every().saturating_sub(since).max(LEAST_PAUSE)
    }

    /// A round, unless another process does one just now.
    async fn round(
        &self,
        source: &ConfiguredSource,
        deletions: Deletions,
    ) -> Result<Option<SyncReport>, Error> {
        let lease = format!("source {} {}", source.tenant, source.name);
        let work = Box::pin(self.noted_round(source, deletions));
        one_at_a_time(self.0.documents.engine(), &lease, work).await?.transpose()
    }

    /// A round, with how far it is and what came of it written down.
    async fn noted_round(
        &self,
        source: &ConfiguredSource,
        deletions: Deletions,
    ) -> Result<SyncReport, Error> {
        let began = now();
        let mut record = self.record(source).await?;
        let progress = RoundProgress::default();
        let noting = async {
            loop {
                record.running = Some(progress.told(began));
                if let Err(error) = self.keep(source, &record).await {
                    tracing::warn!(source = %source.name, error = error.chain(), "it cannot be noted how far a round is");
                }
                tokio::time::sleep(BETWEEN_NOTES).await;
            }
        };
        let report = tokio::select! {
            report = self.passes(source, deletions, &progress) => report,
            () = noting => return Err(Error::Failed("the round was not done".to_owned())),
        };
        let report = match report {
            // The engine is closed with the process; the next one goes on.
            Err(error @ Error::Engine(ibid_engine::Error::Closed)) => return Err(error),
            Err(error) => SyncReport::failed(began, now(), error.chain()),
            Ok(report) => SyncReport { began, ended: now(), ..report },
        };
        record.end(&report);
        self.keep(source, &record).await?;
        tell(source, &report);
        Ok(report)
    }

    /// Until nothing is being written or loaded any more, within reason.
    async fn passes(
        &self,
        source: &ConfiguredSource,
        deletions: Deletions,
        progress: &RoundProgress,
    ) -> Result<SyncReport, Error> {
        let mut all = SyncReport::default();
        for pass in 1.. {
            let deletions = match deletions {
                Deletions::Brake => Deletions::Brake,
                Deletions::Allow(most) => Deletions::Allow(most.saturating_sub(all.deleted)),
            };
            let report = round::sync(source, &self.0.documents, deletions, progress).await?;
            all = report.after(&all);
            if all.waiting == 0 || pass == MOST_PASSES {
                break;
            }
            tokio::time::sleep(BETWEEN_PASSES).await;
        }
        Ok(all)
    }

    async fn record(&self, source: &ConfiguredSource) -> Result<SyncRecord, Error> {
        let kept = self.0.documents.store().sync_record(&source.tenant, &source.name).await?;
        // One that cannot be read is of no use, and made anew.
        Ok(kept.and_then(|kept| serde_json::from_slice(&kept).ok()).unwrap_or_default())
    }

    async fn keep(&self, source: &ConfiguredSource, record: &SyncRecord) -> Result<(), Error> {
        let record = serde_json::to_vec(record).map_err(Error::other)?;
        Ok(self.0.documents.store().put_sync_record(&source.tenant, &source.name, &record).await?)
    }
}

impl RoundProgress {
    fn told(&self, began: u64) -> SyncProgress {
        let read =
            |number: &std::sync::atomic::AtomicUsize| number.load(std::sync::atomic::Ordering::Relaxed);
        SyncProgress { began, updated: now(), done: read(&self.done), of: read(&self.of) }
    }
}

fn tell(source: &ConfiguredSource, report: &SyncReport) {
    let SyncReport { loaded, updated, moved, deleted, failed, .. } = report;
    match &report.outcome {
        SyncOutcome::Failed { why } => {
            tracing::warn!(source = %source.name, why, "a source could not be read");
        }
        SyncOutcome::Held { deletions } => tracing::warn!(
            source = %source.name,
            deletions,
            "documents are gone from a source, and are not deleted before a person says so: `ibid sync`"
        ),
        SyncOutcome::Done if report.is_news() => {
            tracing::info!(source = %source.name, loaded, updated, moved, deleted, failed, "a source was followed");
        }
        SyncOutcome::Done => tracing::debug!(source = %source.name, "a source has not changed"),
    }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
