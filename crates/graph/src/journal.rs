//! Where finished steps are written down. The trait is shaped so that an engine which replays by
//! calling again, as durable-execution engines do, can stand behind it as well as a table of records.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::error::{JournalError, StepError};
use crate::record::{Record, StepRef};
use crate::task::{Attempts, Performed};

/// Does the work of a step; the argument counts the attempts at it.
pub type Perform = Box<dyn FnOnce(Attempts) -> BoxFuture<'static, Result<Performed, StepError>> + Send>;

/// The memory of one run.
///
/// Rules that every implementation keeps, checked by [`conformance`](crate::conformance):
/// a step that is written down is never performed again; the record of a step is safe before another
/// step is performed, and after `flush`; a record comes from [`Record::of`], which refuses what is too
/// large.
#[async_trait]
pub trait Journal: Send {
    /// Gives back the record of `step` if it is written down, else performs the step and writes it down.
    ///
    /// # Errors
    /// Fails as `perform` fails, or when the record cannot be made or written.
    async fn step(&mut self, step: &StepRef, perform: Perform) -> Result<StepOutcome, StepError>;

    /// Makes the last step safe, if it is not yet. An engine may flush it in one with the end of the run.
    ///
    /// # Errors
    /// Fails when the journal cannot be written.
    async fn flush(&mut self) -> Result<(), JournalError> {
        Ok(())
    }

    /// Whether `step` itself tells [`Finished`](crate::EventKind::StepFinished), in one with the record, so that
    /// neither can be lost without the other. If not, the runner tells it.
    fn emits_step_finished(&self) -> bool {
        false
    }

    /// Asks a person, or gives back what came of asking.
    ///
    /// # Errors
    /// Fails when the journal cannot be read or written.
    async fn interrupt(&mut self, step: &StepRef, question: &Value) -> Result<Interrupted, JournalError>;
}

/// What came of a step.
#[derive(Debug)]
pub enum StepOutcome {
    /// It was performed now.
    Performed(Performed),
    /// It had been written down.
    Recorded(Record),
}

/// What came of asking.
#[derive(Debug)]
pub enum Interrupted {
    /// Nobody has answered yet: the run pauses.
    Waiting,
    /// The answer is here.
    Answer(Value),
    /// The answered step had been written down.
    Recorded(Record),
}

/// No memory at all, for runs that may be lost. It never serialises an update.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

#[async_trait]
impl Journal for NoJournal {
    async fn step(&mut self, _step: &StepRef, perform: Perform) -> Result<StepOutcome, StepError> {
        Ok(StepOutcome::Performed(perform(Attempts::default()).await?))
    }

    async fn interrupt(&mut self, _step: &StepRef, _question: &Value) -> Result<Interrupted, JournalError> {
        Ok(Interrupted::Waiting)
    }
}

/// Journals of many runs in this process's memory, for tests and for runs that need not outlive it.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournals(Arc<Mutex<HashMap<String, Kept>>>);

#[derive(Debug, Default, Clone)]
struct Kept {
    records: Vec<Record>,
    answers: HashMap<u32, Value>,
    attempts: HashMap<u32, Attempts>,
}

impl MemoryJournals {
    /// The journal of one run, with what was written down for it.
    pub fn open(&self, run: &str) -> MemoryJournal {
        MemoryJournal { run: run.to_owned(), all: self.clone() }
    }

    /// What was written down for a run.
    pub fn records(&self, run: &str) -> Vec<Record> {
        self.with(run, |kept| kept.records.clone())
    }

    /// Answers the question that `step` of a run asks.
    pub fn answer(&self, run: &str, step: u32, answer: Value) {
        self.with(run, |kept| kept.answers.insert(step, answer));
    }

    /// Begins the run `to` with the first `steps` steps of `from`: a fork.
    pub fn fork(&self, from: &str, steps: usize, to: &str) {
        let mut records = self.records(from);
        records.truncate(steps);
        self.with(to, |kept| kept.records = records);
    }

    fn with<T>(&self, run: &str, look: impl FnOnce(&mut Kept) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        look(all.entry(run.to_owned()).or_default())
    }
}

/// The journal of one run in [`MemoryJournals`].
#[derive(Debug)]
pub struct MemoryJournal {
    run: String,
    all: MemoryJournals,
}

impl MemoryJournal {
    fn recorded(&self, step: &StepRef) -> Option<Record> {
        self.all.with(&self.run, |kept| kept.records.get(step.number as usize - 1).cloned())
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn step(&mut self, step: &StepRef, perform: Perform) -> Result<StepOutcome, StepError> {
        if let Some(record) = self.recorded(step) {
            return Ok(StepOutcome::Recorded(record));
        }
        let attempts = self.all.with(&self.run, |kept| kept.attempts.entry(step.number).or_default().clone());
        let performed = perform(attempts).await?;
        let record = Record::of(step, &performed.update)
            .map_err(|error| StepError::Record { node: step.node.to_string(), error })?;
        self.all.with(&self.run, |kept| kept.records.push(record));
        Ok(StepOutcome::Performed(performed))
    }

    async fn interrupt(&mut self, step: &StepRef, _question: &Value) -> Result<Interrupted, JournalError> {
        if let Some(record) = self.recorded(step) {
            return Ok(Interrupted::Recorded(record));
        }
        let answer = self.all.with(&self.run, |kept| kept.answers.get(&step.number).cloned());
        Ok(answer.map_or(Interrupted::Waiting, Interrupted::Answer))
    }
}
