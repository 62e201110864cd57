//! The journal of one run, as an engine keeps it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::{metric, trace};
use ibid_graph::{
    Attempts, EventKind, Interrupted, Journal, JournalError, Perform, Record, StepError, StepEvent,
    StepOutcome, StepRef,
};
use serde_json::Value;
use tracing::Instrument;

use super::drain::DrainGate;
use super::log::RunLog;
use crate::store::StoreError;

/// Writes finished steps down.
#[async_trait]
pub(crate) trait StepWriter: Send + Sync + 'static {
    /// Writes a step down with everything that its run told until then.
    async fn write_step(&self, log: &Arc<RunLog>, step: Unflushed) -> Result<(), StoreError>;

    /// Waits until a step may begin: until no other process can have taken the run over unnoticed.
    async fn may_begin(&self, _log: &RunLog) -> Result<(), StoreError> {
        Ok(())
    }
}

/// What is written down of one run, and where the rest goes.
pub(crate) struct RunJournal<W> {
    writer: W,
    log: Arc<RunLog>,
    graph: String,
    records: Vec<Record>,
    attempts: BTreeMap<u32, u32>,
    answer: Option<(u32, Value)>,
    unflushed: Option<Unflushed>,
    drain: Arc<DrainGate>,
}

/// The last step, finished but not yet written down.
#[derive(Clone)]
pub(crate) struct Unflushed {
    pub(crate) record: Record,
    pub(crate) finished: StepEvent,
}

impl<W> RunJournal<W> {
    /// The journal of a run that has `records`.
    pub(crate) fn new(
        writer: W,
        log: Arc<RunLog>,
        graph: String,
        records: Vec<Record>,
        drain: Arc<DrainGate>,
    ) -> Self {
        Self { writer, log, graph, records, attempts: BTreeMap::new(), answer: None, unflushed: None, drain }
    }

    /// Goes on counting after the attempts that earlier processes made.
    pub(crate) fn count_attempts(&mut self, made: BTreeMap<u32, u32>) {
        self.attempts = made;
    }

    /// Takes the answer to what a step asked.
    pub(crate) fn take_answer(&mut self, step: u32, answer: Value) {
        self.answer = Some((step, answer));
    }

    /// What is written down.
    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Forgets what was written down, because the run begins again.
    pub(crate) fn forget_records(&mut self) {
        self.records.clear();
    }

    /// Hands the last step to whoever writes it down with the end of the run.
    pub(crate) fn take_unflushed(&mut self) -> Option<Unflushed> {
        self.unflushed.take()
    }

    fn recorded(&self, step: &StepRef) -> Option<&Record> {
        self.records.get(step.number as usize - 1)
    }
}

#[async_trait]
impl<W: StepWriter> Journal for RunJournal<W> {
    async fn step(&mut self, step: &StepRef, perform: Perform) -> Result<StepOutcome, StepError> {
        if let Some(record) = self.recorded(step) {
            return Ok(StepOutcome::Recorded(record.clone()));
        }
        self.flush().await?;
        let working = self.drain.begin().await;
        // Whoever wakes up after a long sleep must not do again what others have done meanwhile.
        self.writer.may_begin(&self.log).await.map_err(|error| {
            JournalError::new(format!("step {} could not begin", step.number)).caused_by(error)
        })?;
        let made = self.attempts.get(&step.number).copied().unwrap_or_default();
        let span = trace::node_span(&step.node, step.number);
        let performed = perform(Attempts::after(made)).instrument(span.clone()).await;
        let performed = performed.inspect_err(|error| trace::failed(&span, error))?;
        metric::step_ended(&self.graph, &step.node, Duration::from_millis(performed.milliseconds));
        let record = Record::of(step, &performed.update)
            .map_err(|error| StepError::Record { node: step.node.to_string(), error })?;
        let kind = EventKind::StepFinished { milliseconds: performed.milliseconds };
        let finished = StepEvent { step: step.number, attempt: performed.attempt, kind };
        self.unflushed = Some(Unflushed { record, finished });
        if self.drain.is_draining() {
            self.flush().await?;
        }
        drop(working);
        Ok(StepOutcome::Performed(performed))
    }

    async fn flush(&mut self) -> Result<(), JournalError> {
        let Some(unflushed) = self.unflushed.take() else { return Ok(()) };
        let step = unflushed.record.step;
        let written = self.writer.write_step(&self.log, unflushed).await;
        written.map_err(|error| {
            JournalError::new(format!("step {step} could not be written down")).caused_by(error)
        })
    }

    fn emits_step_finished(&self) -> bool {
        true
    }

    async fn interrupt(&mut self, step: &StepRef, _question: &Value) -> Result<Interrupted, JournalError> {
        if let Some(record) = self.recorded(step) {
            return Ok(Interrupted::Recorded(record.clone()));
        }
        self.flush().await?;
        match &self.answer {
            Some((asked, answer)) if *asked == step.number => Ok(Interrupted::Answer(answer.clone())),
            _ => Ok(Interrupted::Waiting),
        }
    }
}
