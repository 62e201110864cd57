//! The journal of one run in the engine's file.

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
use crate::store::{RunCommit, RunLog, Writer};

/// What is written down of one run, and where the rest goes.
pub(super) struct LocalJournal {
    writer: Writer,
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
pub(super) struct Unflushed {
    pub(super) record: Record,
    pub(super) finished: StepEvent,
}

impl LocalJournal {
    /// The journal of a run that has `records`.
    pub(super) fn new(
        writer: Writer,
        log: Arc<RunLog>,
        graph: String,
        records: Vec<Record>,
        drain: Arc<DrainGate>,
    ) -> Self {
        Self { writer, log, graph, records, attempts: BTreeMap::new(), answer: None, unflushed: None, drain }
    }

    /// Goes on counting after the attempts that earlier processes made.
    pub(super) fn count_attempts(&mut self, made: BTreeMap<u32, u32>) {
        self.attempts = made;
    }

    /// Takes the answer to what a step asked.
    pub(super) fn take_answer(&mut self, step: u32, answer: Value) {
        self.answer = Some((step, answer));
    }

    /// What is written down.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Forgets what was written down, because the run begins again.
    pub(super) fn forget_records(&mut self) {
        self.records.clear();
    }

    /// Hands the last step to whoever writes it down with the end of the run.
    pub(super) fn take_unflushed(&mut self) -> Option<Unflushed> {
        self.unflushed.take()
    }

    fn recorded(&self, step: &StepRef) -> Option<&Record> {
        self.records.get(step.number as usize - 1)
    }
}

#[async_trait]
impl Journal for LocalJournal {
    async fn step(&mut self, step: &StepRef, perform: Perform) -> Result<StepOutcome, StepError> {
        if let Some(record) = self.recorded(step) {
            return Ok(StepOutcome::Recorded(record.clone()));
        }
        self.flush().await?;
        let working = self.drain.begin().await;
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
        let write = move |_: &_| {
            let Unflushed { record, finished } = unflushed.clone();
            Ok(RunCommit { value: (), events: vec![finished], record: Some(record) })
        };
        let written = self.writer.write_run(&self.log, write).await;
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap as Map;
    use std::sync::Mutex;

    use ibid_core::trace::TraceParent;
    use ibid_core::{RunId, Scope, Tenant, ThreadId};
    use ibid_graph::{EventSink, conformance};
    use rusqlite::Connection;
    use tokio::time::Instant;

    use super::*;
    use crate::store::{
        Batch, FlushQueue, NewRun, Readers, Sink, create_thread, enqueue, fold_all_into_journal, last_number,
        open_for_writing, read_steps, summary,
    };

    /// Journals in a real file, opened anew for each run as an engine does after a crash.
    struct InFile {
        _folder: tempfile::TempDir,
        writer: Writer,
        readers: Readers,
        flush_queue: Arc<FlushQueue>,
        keys: Mutex<Map<String, i64>>,
        answers: Mutex<Map<i64, (u32, Value)>>,
    }

    impl InFile {
        /// The key of a run, which is stored when it is first asked for.
        async fn key(&self, run: &str) -> i64 {
            if let Some(key) = self.keys.lock().unwrap().get(run) {
                return *key;
            }
            let store = |connection: &Connection| {
                let scope = Scope::of(Tenant::local());
                let thread_key = create_thread(connection, &scope, ThreadId::new(), "test", "{}")?;
                let new = NewRun {
                    id: RunId::new(),
                    thread_key,
                    graph: "",
                    version: "",
                    options: "",
                    metadata: "",
                    scope: "",
                    idempotency: None,
                    stream_modes: "[]",
                    request: None,
                    trace: TraceParent::begin(),
                };
                enqueue(connection, &new, None, false)
            };
            let key = self.writer.write(Batch::default(), store).await.unwrap();
            self.keys.lock().unwrap().insert(run.to_owned(), key);
            key
        }
    }

    #[async_trait]
    impl conformance::Journals for InFile {
        async fn open(
            &self,
            run: &str,
            witness: Arc<dyn EventSink>,
        ) -> (Box<dyn Journal>, Arc<dyn EventSink>) {
            let key = self.key(run).await;
            self.writer.write(Batch::default(), fold_all_into_journal).await.unwrap();
            let (records, attempts, told) = self
                .readers
                .read_here(|connection| {
                    let records = read_steps(connection, key)?;
                    Ok((records, summary(connection, key)?.attempts, last_number(connection, key)?))
                })
                .unwrap();
            let log = RunLog::new(RunId::new(), key, told, self.flush_queue.clone());
            let (own, mut last) = (log.clone(), told);
            tokio::spawn(async move {
                loop {
                    let (events, _) = own.after(last).unwrap();
                    events.iter().for_each(|event| witness.emit(event.what.clone()));
                    last = events.last().map_or(last, |event| event.seq);
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            });
            let mut journal =
                LocalJournal::new(self.writer.clone(), log.clone(), String::new(), records, Arc::default());
            journal.count_attempts(attempts);
            if let Some((step, answer)) = self.answers.lock().unwrap().get(&key) {
                journal.take_answer(*step, answer.clone());
            }
            (Box::new(journal), Arc::new(Sink(log)))
        }

        async fn answer(&self, run: &str, step: u32, answer: Value) {
            let key = self.key(run).await;
            self.answers.lock().unwrap().insert(key, (step, answer));
        }
    }

    ibid_graph::journal_conformance_tests!(InFile::open());

    impl InFile {
        fn open() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("journal.db");
            let (writer, _) = Writer::start(open_for_writing(&path).unwrap()).unwrap();
            let flush_queue: Arc<FlushQueue> = Arc::default();
            let (flushing, flushed) = (writer.clone(), flush_queue.clone());
            tokio::spawn(async move {
                loop {
                    flushed.some().await;
                    let batch = Batch::events_of(flushed.take(Instant::now()));
                    flushing.write(batch, |_| Ok(())).await.unwrap();
                }
            });
            let readers = Readers::new(&path);
            let (keys, answers) = (Mutex::default(), Mutex::default());
            Self { _folder: folder, writer, readers, flush_queue, keys, answers }
        }
    }
}
