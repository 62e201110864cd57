//! Answers that were verified before, kept beside the documents that they rest on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures_util::future::try_join;
use ibid_core::cache::{AnswerCache, CacheError, CacheHit, CacheKey, CacheQuestion, CachedAnswer};
use ibid_core::model::{Caller, Embedder, Purpose};
use ibid_core::{RunId, Scope};
use lance::dataset::Dataset;

use crate::Error;
use crate::document::sha256;
use crate::store::{AnswerRow, FoundAnswer, Store};

/// So many of the most similar questions are looked at.
const CANDIDATES: usize = 5;

/// The answers of a store.
pub struct CachedAnswers {
    store: Arc<Store>,
    embedder: Arc<dyn Embedder>,
    /// Whether they are being tidied.
    tidying: Arc<AtomicBool>,
}

impl CachedAnswers {
    /// Keeps answers in a store, with the vectors of their questions.
    pub fn new(store: Arc<Store>, embedder: Arc<dyn Embedder>) -> Self {
        Self { store, embedder, tidying: Arc::default() }
    }

    /// Everything that has to be the same, in one text.
    fn place(&self, scope: &Scope, key: &CacheKey) -> Result<String, Error> {
        // Who asks does not matter, as long as they may see the same.
        let all = serde_json::to_vec(&(self.embedder.name(), scope.of_nobody(), key));
        Ok(sha256(&all.map_err(|error| Error::Damaged(error.to_string()))?))
    }

    async fn vector(&self, scope: &Scope, question: &CacheQuestion) -> Result<Vec<f32>, Error> {
        let caller = Caller::chat(scope.tenant().clone());
        let vectors = self.embedder.embed(&caller, Purpose::Query, &[&question.text]).await?;
        Ok(vectors.get(0).map(<[f32]>::to_vec).unwrap_or_default())
    }

    /// An answer, if what it rests on is what it was.
    async fn hit(
        &self,
        scope: &Scope,
        (answer, own): FoundAnswer,
        vector: &[f32],
    ) -> Result<Option<CacheHit>, Error> {
        let (generation, pieces) = (answer.generation, &answer.evidence);
        let evidence = |chunks: Arc<Dataset>| async move {
            // Where nothing was loaded or deleted since, nothing behind it has changed.
            let is_current = generation == chunks.version_id();
            Ok((is_current, is_current || Store::holds(&chunks, scope, pieces).await?))
        };
        let Some((is_current, true)) = self.store.read_chunks(evidence).await? else { return Ok(None) };
        let similarity = own.iter().zip(vector).map(|(one, other)| one * other).sum();
        Ok(Some(CacheHit { answer, similarity, is_current }))
    }

    async fn same(
        &self,
        scope: &Scope,
        key: &CacheKey,
        question: &CacheQuestion,
    ) -> Result<Option<CacheHit>, Error> {
        let id = id(&self.place(scope, key)?, question);
        // A search needs the vector, too, so that it is not in vain where nothing is found.
        let (found, vector) = try_join(self.store.answer(&id), self.vector(scope, question)).await?;
        match found {
            Some(found) => self.hit(scope, found, &vector).await,
            None => Ok(None),
        }
    }

    async fn similar(
        &self,
        scope: &Scope,
        key: &CacheKey,
        question: &CacheQuestion,
        least: f32,
    ) -> Result<Vec<CacheHit>, Error> {
        let vector = self.vector(scope, question).await?;
        let mut hits = Vec::new();
        for found in self.store.similar_answers(&self.place(scope, key)?, &vector, CANDIDATES).await? {
            hits.extend(self.hit(scope, found, &vector).await?);
        }
        hits.retain(|hit| hit.similarity >= least);
        hits.sort_by(|one, other| other.similarity.total_cmp(&one.similarity));
        Ok(hits)
    }

    async fn put(
        &self,
        scope: &Scope,
        key: &CacheKey,
        question: &CacheQuestion,
        answer: CachedAnswer,
    ) -> Result<(), Error> {
        let place = self.place(scope, key)?;
        let (id, vector) = (id(&place, question), self.vector(scope, question).await?);
        let row =
            AnswerRow { id: &id, place: &place, tenant: scope.tenant().as_str(), answer: &answer, vector };
        self.store.keep_answer(row).await?;
        if self.store.has_loose_answers().await? && !self.tidying.swap(true, Ordering::AcqRel) {
            let (store, tidying) = (self.store.clone(), self.tidying.clone());
            tokio::spawn(async move {
                if let Err(error) = Box::pin(store.tidy_answers()).await {
                    tracing::warn!(%error, "the cache of answers could not be tidied; it is tried again");
                }
                tidying.store(false, Ordering::Release);
            });
        }
        Ok(())
    }
}

fn id(place: &str, question: &CacheQuestion) -> String {
    sha256(format!("{place}\n{}", question.form).as_bytes())
}

fn unusable(error: Error) -> CacheError {
    CacheError(error.to_string())
}

#[async_trait]
impl AnswerCache for CachedAnswers {
    async fn generation(&self) -> Result<u64, CacheError> {
        let dataset = self.store.pinned().await.map_err(unusable)?;
        Ok(dataset.map_or(0, |dataset| dataset.version_id()))
    }

    async fn find(
        &self,
        scope: &Scope,
        key: &CacheKey,
        question: &CacheQuestion,
    ) -> Result<Option<CacheHit>, CacheError> {
        self.same(scope, key, question).await.map_err(unusable)
    }

    async fn find_similar(
        &self,
        scope: &Scope,
        key: &CacheKey,
        question: &CacheQuestion,
        least: f32,
    ) -> Result<Vec<CacheHit>, CacheError> {
        self.similar(scope, key, question, least).await.map_err(unusable)
    }

    async fn keep(
        &self,
        scope: &Scope,
        key: &CacheKey,
        question: &CacheQuestion,
        answer: CachedAnswer,
    ) -> Result<(), CacheError> {
        self.put(scope, key, question, answer).await.map_err(unusable)
    }

    async fn forget(&self, scope: &Scope, run: RunId) -> Result<bool, CacheError> {
        let forgotten = self.store.forget_answer(scope.tenant().as_str(), &run.to_string()).await;
        Ok(forgotten.map_err(unusable)? > 0)
    }
}
