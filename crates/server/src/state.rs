//! What every handler has at hand: the application, and who may use it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use ibid_app::{App, AssistantInfo, CheckResult, DocumentService, Error, HealthCheck, ServerInfo};
use ibid_core::{RunId, Scope};
use ibid_engine::Engine;
use ibid_telemetry::MetricsRegistry;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use crate::access::Access;
use crate::http::{Caller, Problem};

/// What every handler has at hand. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ServerState(Arc<Inner>);

struct Inner {
    app: App,
    engine: Arc<dyn Engine>,
    access: Access,
    metrics: Option<MetricsRegistry>,
    large_answers: Arc<Semaphore>,
    large_answers_of: std::sync::Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
    /// What the last check of each part found, in the order of the checks.
    found: Vec<Mutex<Option<Found>>>,
}

/// When a part was checked, and what was found.
pub(crate) type Found = (Instant, CheckResult);

impl ServerState {
    /// The state of a server for an application.
    pub(crate) fn new(app: App, access: Access, metrics: Option<MetricsRegistry>) -> Result<Self, Error> {
        let engine = app.engine()?.clone();
        let found = app.health_checks().iter().map(|_| Mutex::default()).collect();
        // Half of the cores are left to those who want little.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let large_answers = Arc::new(Semaphore::new((cores / 2).max(1)));
        let large_answers_of = std::sync::Mutex::default();
        let inner = Inner { app, engine, access, metrics, large_answers, large_answers_of, found };
        Ok(Self(Arc::new(inner)))
    }

    /// Waits for one's turn to put an answer together that may be large, until what is given back is dropped. Each caller does so
    /// with one at a time, so that whoever asks for many waits for themselves.
    pub(crate) async fn large_answer(&self, caller: &Caller) -> Option<[OwnedSemaphorePermit; 2]> {
        let own = {
            let mut callers = self.0.large_answers_of.lock().unwrap_or_else(PoisonError::into_inner);
            callers.retain(|_, waiting| Arc::strong_count(waiting) > 1);
            callers.entry(caller.name.clone()).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
        };
        let own = own.acquire_owned().await.ok()?;
        Some([own, self.0.large_answers.clone().acquire_owned().await.ok()?])
    }

    /// What counts, if something does.
    pub(crate) fn metrics(&self) -> Option<&MetricsRegistry> {
        self.0.metrics.as_ref()
    }

    /// The application.
    pub(crate) fn app(&self) -> &App {
        &self.0.app
    }

    /// Runs turns.
    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.0.engine
    }

    /// The documents.
    pub(crate) fn documents(&self) -> Result<&DocumentService, Problem> {
        Ok(self.0.app.documents()?)
    }

    /// Gives the answer of a turn no more.
    pub(crate) async fn forget_answer(&self, scope: &Scope, run: RunId) -> Result<(), Error> {
        self.0.app.forget_answer(scope, run).await
    }

    /// Who may ask.
    pub(crate) fn access(&self) -> &Access {
        &self.0.access
    }

    /// What is checked to see whether the server can work.
    pub(crate) fn checks(&self) -> &[HealthCheck] {
        self.0.app.health_checks()
    }

    /// What the last check of a part found, in the order of the checks.
    pub(crate) fn found(&self, part: usize) -> &Mutex<Option<Found>> {
        &self.0.found[part]
    }

    /// What it is set up with.
    pub(crate) fn info(&self) -> &ServerInfo {
        self.0.app.info()
    }

    /// Who can answer, by name.
    pub(crate) fn assistants(&self) -> BTreeMap<String, Arc<AssistantInfo>> {
        self.0.app.assistants().ready().clone()
    }

    /// One that can answer.
    pub(crate) fn assistant(&self, name: &str) -> Result<Arc<AssistantInfo>, Problem> {
        Ok(self.0.app.assistants().get(name)?)
    }
}
