//! Keeps the vectors of questions, which are asked again: by SHA-256 of the model and the text.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use ibid_core::model::{Caller, Embedder, ModelError, Purpose, Similarity, Vectors};
use ibid_core::trace;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use tracing::Instrument;

type Key = [u8; 32];

/// An embedding model that remembers the questions it was asked. Passages pass through: they come once.
pub struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    questions: Cache<Key, Arc<[f32]>>,
    hits: AtomicU64,
}

impl CachedEmbedder {
    /// Remembers at most so many questions.
    pub fn new(inner: Arc<dyn Embedder>, capacity: usize) -> Self {
        Self { inner, questions: Cache::new(capacity), hits: AtomicU64::new(0) }
    }

    /// How many questions were answered from memory.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    async fn asked(&self, caller: &Caller, purpose: Purpose, texts: &[&str]) -> Result<Vectors, ModelError> {
        let span = trace::embedding_span(self.inner.name(), texts.len());
        let embedded = self.inner.embed(caller, purpose, texts).instrument(span.clone()).await;
        embedded.inspect_err(|error| trace::failed(&span, error))
    }

    fn key(&self, text: &str) -> Key {
        let mut hash = Sha256::new();
        hash.update(self.inner.name());
        // No name holds a zero, so that no two pairs of model and text are written alike.
        hash.update([0]);
        hash.update(text);
        hash.finalize().into()
    }
}

#[async_trait]
impl Embedder for CachedEmbedder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn similarity(&self) -> Similarity {
        self.inner.similarity()
    }

    async fn embed(&self, caller: &Caller, purpose: Purpose, texts: &[&str]) -> Result<Vectors, ModelError> {
        if purpose == Purpose::Passage {
            return self.asked(caller, purpose, texts).await;
        }
        let keys: Vec<Key> = texts.iter().map(|text| self.key(text)).collect();
        let mut vectors = Vectors::zeros(self.dimensions(), texts.len());
        let mut missing = Vec::new();
        for (place, key) in keys.iter().enumerate() {
            match (self.questions.get(key), vectors.get_mut(place)) {
                (Some(known), Some(vector)) => vector.copy_from_slice(&known),
                _ => missing.push(place),
            }
        }
        self.hits.fetch_add((texts.len() - missing.len()) as u64, Ordering::Relaxed);
        if missing.is_empty() {
            return Ok(vectors);
        }
        let wanted: Vec<&str> = missing.iter().map(|place| texts[*place]).collect();
        let found = self.asked(caller, purpose, &wanted).await?;
        for (place, vector) in missing.into_iter().zip(found.iter()) {
            self.questions.insert(keys[place], vector.into());
            if let Some(target) = vectors.get_mut(place) {
                target.copy_from_slice(vector);
            }
        }
        Ok(vectors)
    }
}
