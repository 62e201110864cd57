//! Journals in SQLite keep the rules of every journal.

use std::collections::HashMap as Map;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;

use ibid_core::trace::TraceParent;
use ibid_core::{RunId, Scope, Tenant, ThreadId};
use ibid_graph::{EventSink, Journal, conformance};
use rusqlite::Connection;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    Batch, Readers, Writer, create_thread, enqueue, fold_all_into_journal, last_number, open_for_writing,
    read_steps, summary,
};
use crate::run::{FlushQueue, NewRun, RunJournal, RunLog, Sink};

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
    async fn open(&self, run: &str, witness: Arc<dyn EventSink>) -> (Box<dyn Journal>, Arc<dyn EventSink>) {
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
            RunJournal::new(self.writer.clone(), log.clone(), String::new(), records, Arc::default());
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
