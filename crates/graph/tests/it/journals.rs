//! The in-memory journal keeps the rules of every journal.

use async_trait::async_trait;
use ibid_graph::{Journal, MemoryJournals, conformance};
use serde_json::Value;

struct InMemory(MemoryJournals);

#[async_trait]
impl conformance::Journals for InMemory {
    async fn open(&self, run: &str) -> Box<dyn Journal> {
        Box::new(self.0.open(run))
    }

    async fn answer(&self, run: &str, step: u32, answer: Value) {
        self.0.answer(run, step, answer);
    }
}

#[tokio::test]
async fn the_in_memory_journal_conforms() {
    conformance::check(&InMemory(MemoryJournals::default())).await;
}
