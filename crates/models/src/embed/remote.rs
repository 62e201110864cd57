//! Embeddings over HTTP, in the form of OpenAI's `/v1/embeddings`.

use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::model::{Caller, Embedder, ModelError, Purpose, Vectors};
use serde_json::{Value, json};

use super::EmbeddingSettings;
use crate::governor::{Ask, Failure};
use crate::provider::Provider;

const PATH: &str = "embeddings";

/// An embedding model of a provider.
pub struct RemoteEmbedder {
    provider: Arc<Provider>,
    model: String,
    dimensions: usize,
    settings: EmbeddingSettings,
}

impl RemoteEmbedder {
    /// A model of a provider, by its name there and the length of its vectors.
    pub fn new(provider: Arc<Provider>, model: &str, dimensions: usize, settings: EmbeddingSettings) -> Self {
        Self { provider, model: model.to_owned(), dimensions, settings }
    }

    /// A model whose vectors are as long as they turn out to be.
    ///
    /// # Errors
    /// Fails when the model gives no vector.
    pub async fn found(
        caller: &Caller,
        provider: Arc<Provider>,
        model: &str,
        settings: EmbeddingSettings,
    ) -> Result<Self, ModelError> {
        let body = json!({ "model": model, "input": ["ibid"], "encoding_format": "float" });
        let length = |answer: &Value| Ok(answer["data"][0]["embedding"].as_array().map_or(0, Vec::len));
        let dimensions = provider.ask_json(caller, PATH, &body, body.to_string().len(), length).await?;
        if dimensions == 0 {
            return Err(provider.nonsense("it gave no vector"));
        }
        Ok(Self::new(provider, model, dimensions, settings))
    }

    async fn batch(&self, caller: &Caller, texts: &[String]) -> Result<Vectors, ModelError> {
        let mut body = json!({ "model": self.model, "input": texts, "encoding_format": "float" });
        if self.settings.send_dimensions {
            body["dimensions"] = json!(self.dimensions);
        }
        let ask = Ask::reading(caller, texts.iter().map(String::len).sum());
        let estimate = ask.tokens;
        let attempt = async || {
            let answer = self.provider.post_for_json(PATH, &body).await?;
            let vectors = self.read(&answer, texts.len()).map_err(Failure::Final)?;
            Ok((vectors, answer["usage"]["prompt_tokens"].as_u64()))
        };
        let ((vectors, told), permit) = self.provider.governor().call(ask, attempt).await?;
        permit.done(told.unwrap_or(estimate), told.is_none());
        Ok(vectors)
    }

    fn read(&self, answer: &Value, count: usize) -> Result<Vectors, ModelError> {
        let nonsense = |reason: String| self.provider.nonsense(&reason);
        let items =
            answer["data"].as_array().ok_or_else(|| nonsense("it has no list of vectors".to_owned()))?;
        let mut vectors = Vectors::zeros(self.dimensions, count);
        let mut filled = vec![false; count];
        for (position, item) in items.iter().enumerate() {
            let index = item["index"].as_u64().map_or(position, |index| index as usize);
            let values =
                item["embedding"].as_array().ok_or_else(|| nonsense("a vector is missing".to_owned()))?;
            if values.len() != self.dimensions {
                return Err(nonsense(format!(
                    "`{}` has vectors of {} dimensions, not of {}; set `embedding.dimensions` to that",
                    self.model,
                    values.len(),
                    self.dimensions
                )));
            }
            let Some(vector) = vectors.get_mut(index) else {
                return Err(nonsense("it sent more vectors than texts".to_owned()));
            };
            for (place, value) in vector.iter_mut().zip(values) {
                *place = value.as_f64().ok_or_else(|| nonsense("a vector holds something else".to_owned()))?
                    as f32;
            }
            filled[index] = true;
        }
        if filled.contains(&false) {
            return Err(nonsense("it sent fewer vectors than texts".to_owned()));
        }
        vectors.normalise();
        Ok(vectors)
    }
}

#[async_trait]
impl Embedder for RemoteEmbedder {
    fn name(&self) -> &str {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    async fn embed(&self, caller: &Caller, purpose: Purpose, texts: &[&str]) -> Result<Vectors, ModelError> {
        let mut all = Vectors::with_capacity(self.dimensions, texts.len());
        let texts: Vec<String> = texts.iter().map(|text| self.settings.prefixed(purpose, text)).collect();
        for batch in texts.chunks(self.settings.batch.max(1)) {
            for vector in self.batch(caller, batch).await?.iter() {
                // Their length was checked when they were read.
                let _ = all.push(vector);
            }
        }
        Ok(all)
    }
}
