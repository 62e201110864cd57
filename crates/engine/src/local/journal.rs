//! The journal of one run in the engine's file.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use ibid_graph::{
    Asked, Attempts, Journal, JournalError, Kind, Perform, Record, StepError, StepEvent, StepRef, Taken,
};
use serde_json::Value;

use super::rest::Rest;
use crate::store::{Batch, RunLog, Writer};

/// What is written down of one run, and where the rest goes.
pub(super) struct LocalJournal {
    writer: Writer,
    log: Arc<RunLog>,
    records: Vec<Record>,
    attempts: BTreeMap<u32, u32>,
    answer: Option<(u32, Value)>,
    unsettled: Option<Unsettled>,
    rest: Arc<Rest>,
}

/// The last step, finished but not yet written down.
#[derive(Clone)]
pub(super) struct Unsettled {
    pub(super) record: Record,
    pub(super) finished: StepEvent,
}

impl LocalJournal {
    /// The journal of a run that has `records`.
    pub(super) fn new(writer: Writer, log: Arc<RunLog>, records: Vec<Record>, rest: Arc<Rest>) -> Self {
        Self { writer, log, records, attempts: BTreeMap::new(), answer: None, unsettled: None, rest }
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
    pub(super) fn take_unsettled(&mut self) -> Option<Unsettled> {
        self.unsettled.take()
    }

    fn recorded(&self, step: &StepRef) -> Option<&Record> {
        self.records.get(step.number as usize - 1)
    }
}

#[async_trait]
impl Journal for LocalJournal {
    async fn step(&mut self, step: &StepRef, perform: Perform) -> Result<Taken, StepError> {
        if let Some(record) = self.recorded(step) {
            return Ok(Taken::Recorded(record.clone()));
        }
        self.settle().await?;
        let working = self.rest.begin().await;
        let made = self.attempts.get(&step.number).copied().unwrap_or_default();
        let performed = perform(Attempts::after(made)).await?;
        let record = Record::of(step, &performed.change)
            .map_err(|error| StepError::Record { node: step.node.to_string(), error })?;
        let kind = Kind::Finished { milliseconds: performed.milliseconds };
        let finished = StepEvent { step: step.number, attempt: performed.attempt, kind };
        self.unsettled = Some(Unsettled { record, finished });
        if self.rest.is_asked() {
            self.settle().await?;
        }
        drop(working);
        Ok(Taken::Performed(performed))
    }

    async fn settle(&mut self) -> Result<(), JournalError> {
        let Some(unsettled) = self.unsettled.take() else { return Ok(()) };
        let (step, log) = (unsettled.record.step, self.log.clone());
        let write = move |_: &_| {
            let Unsettled { record, finished } = unsettled.clone();
            log.close_with(vec![finished], Some(record));
            Ok(())
        };
        let written = self.writer.write(Batch::of(&self.log), write).await;
        written.map_err(|error| {
            JournalError::new(format!("step {step} could not be written down")).caused_by(error)
        })
    }

    fn tells_finished(&self) -> bool {
        true
    }

    async fn ask(&mut self, step: &StepRef, _question: &Value) -> Result<Asked, JournalError> {
        if let Some(record) = self.recorded(step) {
            return Ok(Asked::Recorded(record.clone()));
        }
        self.settle().await?;
        match &self.answer {
            Some((asked, answer)) if *asked == step.number => Ok(Asked::Answer(answer.clone())),
            _ => Ok(Asked::Waiting),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap as Map;
    use std::sync::Mutex;
    use std::time::Duration;

    use ibid_core::{RunId, Scope, Tenant, ThreadId};
    use ibid_graph::{EventSink, conformance};
    use rusqlite::Connection;
    use tokio::time::Instant;

    use super::*;
    use crate::store::{
        NewRun, Readers, Sink, Unwritten, attempts_made, create_thread, enqueue, gather_all, last_number,
        open_for_writing, read_steps,
    };

    /// Journals in a real file, opened anew for each run as an engine does after a crash.
    struct InFile {
        writer: Writer,
        readers: Readers,
        unwritten: Arc<Unwritten>,
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
            self.writer.write(Batch::default(), gather_all).await.unwrap();
            let (records, attempts, told) = self
                .readers
                .read_here(|connection| {
                    let records = read_steps(connection, key)?;
                    Ok((records, attempts_made(connection, key)?, last_number(connection, key)?))
                })
                .unwrap();
            let log = RunLog::new(RunId::new(), key, told, self.unwritten.clone());
            let (own, mut last) = (log.clone(), told);
            tokio::spawn(async move {
                loop {
                    let (events, _) = own.after(last).unwrap();
                    events.iter().for_each(|event| witness.emit(event.what.clone()));
                    last = events.last().map_or(last, |event| event.seq);
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            });
            let mut journal = LocalJournal::new(self.writer.clone(), log.clone(), records, Arc::default());
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

    #[tokio::test]
    async fn the_sqlite_journal_conforms() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let (writer, _) = Writer::start(open_for_writing(&path).unwrap()).unwrap();
        let unwritten: Arc<Unwritten> = Arc::default();
        let (flushing, flushed) = (writer.clone(), unwritten.clone());
        tokio::spawn(async move {
            loop {
                flushed.some().await;
                let batch = Batch { others: flushed.take(Instant::now()), ..Batch::default() };
                flushing.write(batch, |_| Ok(())).await.unwrap();
            }
        });
        let readers = Readers::new(&path);
        let (keys, answers) = (Mutex::default(), Mutex::default());
        conformance::check(&InFile { writer, readers, unwritten, keys, answers }).await;
    }
}
