//! Journals in Postgres keep the rules of every journal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::{RunId, Scope, Tenant, ThreadId};
use ibid_graph::{EventSink, Journal, conformance};
use ibid_testkit::RealPostgres;
use serde_json::{Map, Value};

use super::bound::bind;
use super::journal::{last_number, read_steps, summary};
use super::rows::{JOINED, RUN_COLUMNS, first_run};
use super::{PostgresEngine, PostgresSettings};
use crate::engine::Engine;
use crate::run::{Graphs, RunJournal, Sink};
use crate::types::Lifetime;

/// Journals in a real database, claimed anew for each run as a worker does after a crash.
struct InPostgres {
    engine: tokio::sync::OnceCell<PostgresEngine>,
    runs: Mutex<HashMap<String, RunId>>,
    answers: Mutex<HashMap<RunId, (u32, Value)>>,
}

impl InPostgres {
    fn new() -> Self {
        Self { engine: tokio::sync::OnceCell::new(), runs: Mutex::default(), answers: Mutex::default() }
    }

    async fn engine(&self) -> &PostgresEngine {
        let open = async || {
            let url = RealPostgres::get().database();
            // One heartbeat is told, and lasts for all of the test.
            let lease = Duration::from_secs(3600);
            let settings = PostgresSettings { works: false, lease, ..PostgresSettings::new(url) };
            let engine = PostgresEngine::open(Graphs::default(), settings).await.unwrap();
            engine.join_workers().await.unwrap();
            engine
        };
        self.engine.get_or_init(open).await
    }

    /// The id of a run, which is stored when it is first asked for.
    async fn run(&self, name: &str) -> RunId {
        if let Some(run) = self.runs.lock().unwrap().get(name) {
            return *run;
        }
        let (engine, run, thread) = (self.engine().await, RunId::new(), ThreadId::new());
        let scope = Scope::of(Tenant::local());
        engine.create_thread(&scope, thread, Map::new(), Lifetime::Kept).await.unwrap();
        let sql = "INSERT INTO runs (id, thread, tenant, graph, version, status, queue_position, options, metadata, scope,
                       stream_modes, created_ms, journal_day)
                   SELECT $1, key, tenant, '', '', 'running', 1, '{}', '{}', '', '[]', now_ms(), day_of(now_ms())
                   FROM threads WHERE id = $2";
        engine.database().query(sql, bind![run, thread]).await.unwrap();
        self.runs.lock().unwrap().insert(name.to_owned(), run);
        run
    }
}

#[async_trait]
impl conformance::Journals for InPostgres {
    async fn open(&self, run: &str, witness: Arc<dyn EventSink>) -> (Box<dyn Journal>, Arc<dyn EventSink>) {
        let (run, engine) = (self.run(run).await, self.engine().await);
        let claim = "UPDATE runs SET owner = $2, epoch = epoch + 1 WHERE id = $1";
        engine.database().query(claim, bind![run, engine.worker_id()]).await.unwrap();
        let sql = format!("SELECT {RUN_COLUMNS} FROM {JOINED} WHERE runs.id = $1");
        let row = first_run(&engine.database().query(&sql, bind![run]).await.unwrap()).unwrap().unwrap();
        let records = read_steps(engine.database(), &row).await.unwrap();
        let attempts = summary(engine.database(), &row).await.unwrap().attempts;
        let told = last_number(engine.database(), &row).await.unwrap().unwrap();
        let log = engine.watch(run, Tenant::local(), row.key, row.claim, told).log;
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
            RunJournal::new(engine.clone(), log.clone(), String::new(), records, Arc::default());
        journal.count_attempts(attempts);
        if let Some((step, answer)) = self.answers.lock().unwrap().get(&run) {
            journal.take_answer(*step, answer.clone());
        }
        (Box::new(journal), Arc::new(Sink(log)))
    }

    async fn answer(&self, run: &str, step: u32, answer: Value) {
        let run = self.run(run).await;
        self.answers.lock().unwrap().insert(run, (step, answer));
    }
}

ibid_graph::journal_conformance_tests!(InPostgres::new());
