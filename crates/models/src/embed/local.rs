//! Embeddings in this process.

use std::path::Path;

use async_trait::async_trait;
use ibid_core::model::{Caller, Embedder, ModelError, Purpose, Similarity, Vectors};

use super::settings::EmbeddingSettings;
use crate::governor::Stats;
use crate::local::{Input, ModelKind, Network, Output, Pooling, Runtime, unusable};

/// An embedding model that runs in this process.
pub struct LocalEmbedder {
    network: Network,
    settings: EmbeddingSettings,
}

impl LocalEmbedder {
    /// Loads the model in a folder. It uses as many threads as the machine has unless told otherwise.
    ///
    /// # Errors
    /// Fails when the folder holds no embedding model that can be run.
    pub fn load(runtime: &Runtime, folder: &Path, threads: Option<usize>) -> Result<Self, ModelError> {
        let network = Network::load(runtime, folder, threads)?;
        let card = &network.card;
        if card.kind != ModelKind::Embedding || card.dimensions == 0 {
            return Err(unusable(folder, "its card does not say that it is an embedding model".to_owned()));
        }
        let settings = EmbeddingSettings {
            query_prefix: card.query_prefix.clone(),
            passage_prefix: card.passage_prefix.clone(),
            ..EmbeddingSettings::default()
        };
        Ok(Self { network, settings })
    }

    /// What its governor has seen.
    pub fn stats(&self) -> Stats {
        self.network.governor().stats()
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn name(&self) -> &str {
        &self.network.card.name
    }

    fn dimensions(&self) -> usize {
        self.network.card.dimensions
    }

    fn similarity(&self) -> Similarity {
        self.network.card.similarity
    }

    async fn embed(&self, caller: &Caller, purpose: Purpose, texts: &[&str]) -> Result<Vectors, ModelError> {
        let (dimensions, pooling) = (self.dimensions(), self.network.card.pooling);
        let inputs = texts.iter().map(|text| Input::Text(self.settings.prefixed(purpose, text))).collect();
        let pooled =
            self.network.run(caller, inputs, move |output| pool(&output, pooling, dimensions)).await?;
        let mut vectors = Vectors::zeros(dimensions, texts.len());
        for (places, batch) in &pooled {
            for (place, vector) in places.iter().zip(batch.chunks_exact(dimensions)) {
                if let Some(target) = vectors.get_mut(*place) {
                    target.copy_from_slice(vector);
                }
            }
        }
        vectors.normalise();
        Ok(vectors)
    }
}

/// One vector for each text, from those of its tokens.
fn pool(output: &Output<'_>, pooling: Pooling, dimensions: usize) -> Result<Vec<f32>, String> {
    let size = |place: usize| output.shape.get(place).and_then(|size| usize::try_from(*size).ok());
    let (last, count) = (size(output.shape.len().saturating_sub(1)), output.lengths.len());
    if last != Some(dimensions) || size(0) != Some(count) {
        return Err(format!(
            "it gives numbers of the shape {:?}, but its card says {dimensions} dimensions",
            output.shape
        ));
    }
    match (output.shape.len(), pooling) {
        (2, _) => Ok(output.values.to_vec()),
        (3, Pooling::None) => {
            Err("it gives one vector for each token; its card must say how to pool them".to_owned())
        }
        (3, Pooling::Cls) => {
            let width = size(1).unwrap_or(0) * dimensions;
            let texts = output.values.chunks_exact(width.max(1));
            Ok(texts.flat_map(|text| &text[..dimensions]).copied().collect())
        }
        (3, Pooling::Mean) => {
            let width = size(1).unwrap_or(0) * dimensions;
            let mut pooled = vec![0.0; count * dimensions];
            let texts = output.values.chunks_exact(width.max(1)).zip(output.lengths);
            for ((text, length), mean) in texts.zip(pooled.chunks_exact_mut(dimensions)) {
                for token in text.chunks_exact(dimensions).take(*length) {
                    mean.iter_mut().zip(token).for_each(|(sum, value)| *sum += value);
                }
                let length = (*length).max(1) as f32;
                mean.iter_mut().for_each(|value| *value /= length);
            }
            Ok(pooled)
        }
        _ => Err(format!("it gives numbers of the shape {:?}", output.shape)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_pooled_without_the_padding() {
        let values: Vec<f32> = (0..12).map(|value| value as f32).collect();
        let output = Output { shape: &[2, 3, 2], values: &values, lengths: &[3, 1] };
        assert_eq!(pool(&output, Pooling::Mean, 2).unwrap(), [2.0, 3.0, 6.0, 7.0]);
        assert_eq!(pool(&output, Pooling::Cls, 2).unwrap(), [0.0, 1.0, 6.0, 7.0]);
        assert!(pool(&output, Pooling::None, 2).is_err());
        assert!(pool(&output, Pooling::Mean, 4).unwrap_err().contains("[2, 3, 2]"));
        let output = Output { shape: &[2, 6], values: &values, lengths: &[3, 1] };
        assert_eq!(pool(&output, Pooling::None, 6).unwrap(), values);
    }
}
