//! The in-memory journal keeps the rules of every journal.

use std::sync::Arc;

use async_trait::async_trait;
use ibid_graph::{EventSink, Journal, MemoryJournals, conformance};
use serde_json::Value;

struct InMemory(MemoryJournals);

#[async_trait]
impl conformance::Journals for InMemory {
    async fn open(&self, run: &str, witness: Arc<dyn EventSink>) -> (Box<dyn Journal>, Arc<dyn EventSink>) {
        (Box::new(self.0.open(run)), witness)
    }

    async fn answer(&self, run: &str, step: u32, answer: Value) {
        self.0.answer(run, step, answer);
    }
}

ibid_graph::journal_conformance_tests!(InMemory(MemoryJournals::default()));
