//! Reranking over HTTP, in the form that Cohere and Jina share or in that of Text Embeddings Inference.

use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::model::{Caller, ModelError, Reranker};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::provider::Provider;

const PATH: &str = "rerank";
/// How many passages go in one request: as many as every server takes.
const BATCH: usize = 32;

/// How a rerank request is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RerankForm {
    /// `documents` in, `results` with `relevance_score` out: Cohere, Jina, vLLM, llama.cpp.
    #[default]
    Cohere,
    /// `texts` in, a list with `score` out: Text Embeddings Inference.
    Tei,
}

/// A rerank model of a provider.
pub struct RemoteReranker {
    provider: Arc<Provider>,
    model: String,
    form: RerankForm,
}

impl RemoteReranker {
    /// A model of a provider, by its name there.
    pub fn new(provider: Arc<Provider>, model: &str, form: RerankForm) -> Self {
        Self { provider, model: model.to_owned(), form }
    }

    fn body(&self, question: &str, passages: &[&str]) -> Value {
        match self.form {
            RerankForm::Cohere => {
                json!({ "model": self.model, "query": question, "documents": passages, "top_n": passages.len() })
            }
            RerankForm::Tei => json!({ "query": question, "texts": passages, "truncate": true }),
        }
    }

    fn read(&self, answer: &Value, count: usize) -> Result<Vec<f32>, ModelError> {
        let (list, field) = match self.form {
            RerankForm::Cohere => (&answer["results"], "relevance_score"),
            RerankForm::Tei => (answer, "score"),
        };
        let nonsense = |reason: &str| self.provider.nonsense(reason);
        let items = list.as_array().ok_or_else(|| nonsense("it has no list of scores"))?;
        let mut scores = vec![None; count];
        for item in items {
            let index = item["index"].as_u64().and_then(|index| usize::try_from(index).ok());
            let place = index.and_then(|index| scores.get_mut(index));
            let (Some(place), Some(score)) = (place, item[field].as_f64()) else {
                return Err(nonsense("a score is missing or belongs to no passage"));
            };
            *place = Some(score as f32);
        }
        scores
            .into_iter()
            .collect::<Option<_>>()
            .ok_or_else(|| nonsense("it sent fewer scores than passages"))
    }
}

/// Some servers give scores from 0 to 1, others the numbers that the network gave.
fn from_0_to_1(mut scores: Vec<f32>) -> Vec<f32> {
    if scores.iter().any(|score| !(-0.001..=1.001).contains(score)) {
        scores.iter_mut().for_each(|score| *score = 1.0 / (1.0 + (-*score).exp()));
    }
    scores.iter_mut().for_each(|score| *score = score.clamp(0.0, 1.0));
    scores
}

#[async_trait]
impl Reranker for RemoteReranker {
    fn name(&self) -> &str {
        &self.model
    }

    async fn rerank(
        &self,
        caller: &Caller,
        question: &str,
        passages: &[&str],
    ) -> Result<Vec<f32>, ModelError> {
        let mut all = Vec::with_capacity(passages.len());
        for batch in passages.chunks(BATCH) {
            let body = self.body(question, batch);
            let letters = batch.iter().map(|passage| passage.len() + question.len()).sum();
            let read = |answer: &Value| self.read(answer, batch.len());
            all.extend(self.provider.ask_json(caller, PATH, &body, letters, read).await?);
        }
        Ok(from_0_to_1(all))
    }
}
