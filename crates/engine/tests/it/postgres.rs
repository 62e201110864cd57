//! The engine on Postgres keeps the rules of every engine, over connections of its own and behind a pooler.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ibid_engine::{Engine, Graphs, PostgresEngine, PostgresSettings, conformance};
use ibid_testkit::RealPostgres;

/// As long as a worker may be silent: short, since tests wait for it, and long enough for a busy machine.
const LEASE: Duration = Duration::from_secs(1);

pub(crate) fn settings(url: String) -> PostgresSettings {
    PostgresSettings { lease: LEASE, connections: 6, ..PostgresSettings::new(url) }
}

struct Shared {
    /// Makes a new database.
    make: fn(&RealPostgres) -> String,
    urls: Mutex<HashMap<String, String>>,
    open: Mutex<HashMap<usize, PostgresEngine>>,
}

impl Shared {
    fn new(make: fn(&RealPostgres) -> String) -> Self {
        Self { make, urls: Mutex::default(), open: Mutex::default() }
    }
}

fn address(engine: &Arc<dyn Engine>) -> usize {
    Arc::as_ptr(engine).cast::<()>() as usize
}

#[async_trait]
impl conformance::Subject for Shared {
    async fn open(&self, store: &str, assistants: Graphs) -> Arc<dyn Engine> {
        let make = || (self.make)(RealPostgres::get());
        let url = self.urls.lock().unwrap().entry(store.to_owned()).or_insert_with(make).clone();
        let engine = PostgresEngine::open(assistants, settings(url)).await.unwrap();
        let shared: Arc<dyn Engine> = Arc::new(engine.clone());
        self.open.lock().unwrap().insert(address(&shared), engine);
        shared
    }

    async fn kill(&self, engine: Arc<dyn Engine>) {
        let engine = self.open.lock().unwrap().remove(&address(&engine)).unwrap();
        engine.close().await;
    }
}

mod direct {
    use super::*;

    ibid_engine::engine_conformance_tests!(Shared::new(RealPostgres::database));
}

mod pooled {
    use super::*;

    ibid_engine::engine_conformance_tests!(Shared::new(RealPostgres::pooled_database));
}
