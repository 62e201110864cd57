//! The local engine keeps the rules of every engine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ibid_engine::{Engine, Graphs, LocalEngine, RunSettings, conformance};

struct Local {
    folder: tempfile::TempDir,
    open: Mutex<HashMap<usize, LocalEngine>>,
}

fn address(engine: &Arc<dyn Engine>) -> usize {
    Arc::as_ptr(engine).cast::<()>() as usize
}

#[async_trait]
impl conformance::Subject for Local {
    async fn open(&self, store: &str, assistants: Graphs) -> Arc<dyn Engine> {
        let path = self.folder.path().join(store).join("engine.db");
        let engine = LocalEngine::open(&path, assistants, RunSettings::default()).await.unwrap();
        let shared: Arc<dyn Engine> = Arc::new(engine.clone());
        self.open.lock().unwrap().insert(address(&shared), engine);
        shared
    }

    async fn kill(&self, engine: Arc<dyn Engine>) {
        let local = self.open.lock().unwrap().remove(&address(&engine)).unwrap();
        local.close().await;
    }
}

ibid_engine::engine_conformance_tests!(Local {
    folder: tempfile::tempdir().unwrap(),
    open: Mutex::default(),
});
