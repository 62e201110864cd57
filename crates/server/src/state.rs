//! What every handler has at hand: the application, and who may use it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ibid_app::{App, AssistantInfo, Cells, CheckResult, DocumentService, Error, HealthCheck, ServerInfo};
use ibid_core::{RunId, Scope, TurnOptions};
use ibid_engine::Engine;
use ibid_telemetry::MetricsRegistry;
use tokio::sync::Mutex;

use crate::access::Access;
use crate::audit::{AUDIT_FILE, AuditLog};
use crate::documents::remove_left_uploads;
use crate::http::{Caller, Problem};
use crate::slots::{CallerSlot, CallerSlots, half_of_the_cores};

/// What every handler has at hand. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ServerState(Arc<Inner>);

struct Inner {
    cells: Cells,
    app: App,
    engine: Arc<dyn Engine>,
    access: Arc<Access>,
    metrics: Option<MetricsRegistry>,
    audit_log: AuditLog,
    large_answers: CallerSlots,
    /// What the last check of each part found, in the order of the checks.
    found: Vec<Mutex<Option<Found>>>,
}

/// When a part was checked, and what was found.
pub(crate) type Found = (Instant, CheckResult);

impl ServerState {
    /// The state of a server for an application.
    pub(crate) fn new(
        cells: Cells,
        app: App,
        access: Arc<Access>,
        metrics: Option<MetricsRegistry>,
    ) -> Result<Self, Error> {
        let engine = app.engine()?.clone();
        remove_left_uploads(app.settings());
        let found = app.health_checks().iter().map(|_| Mutex::default()).collect();
        let large_answers = CallerSlots::new(half_of_the_cores(), 1);
        let audit_log = if app.settings().serve.audit {
            let path = app.settings().data.join(AUDIT_FILE);
            AuditLog::open(&path).map_err(|error| {
                let why = format!("the audit log {} cannot be opened: {error}", path.display());
                Error::Failed(format!("{why}; `serve.audit = false` does without"))
            })?
        } else {
            AuditLog::default()
        };
        let inner = Inner { cells, app, engine, access, metrics, audit_log, large_answers, found };
        Ok(Self(Arc::new(inner)))
    }

    /// Waits for one's turn to put an answer together that may be large, until what is given back is dropped.
    pub(crate) async fn large_answer(&self, caller: &Caller) -> Option<CallerSlot> {
        self.0.large_answers.wait(&caller.name).await.ok()
    }

    /// Who did what.
    pub(crate) fn audit_log(&self) -> &AuditLog {
        &self.0.audit_log
    }

    /// What counts, if something does.
    pub(crate) fn metrics(&self) -> Option<&MetricsRegistry> {
        self.0.metrics.as_ref()
    }

    /// The applications of the server, of which this state has one.
    pub(crate) fn cells(&self) -> &Cells {
        &self.0.cells
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

    /// Whether an assistant can answer as a turn wants it, by its folder as it is now.
    pub(crate) async fn can_answer(&self, name: &str, options: &TurnOptions) -> Result<(), Problem> {
        self.0.app.can_answer(name, options.mode(), options.format()).await?;
        Ok(())
    }
}
