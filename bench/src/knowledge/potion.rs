//! A static embedding: the mean of its words' vectors. Quick enough to make a million vectors of real text.

use std::sync::Arc;

use anyhow::{Context, ensure};
use async_trait::async_trait;
use ibid_core::model::{Caller, Embedder, ModelError, Purpose, Vectors};
use ibid_testkit::RealModels;
use serde_json::Value;
use tokenizers::Tokenizer;

/// potion-base-8M.
pub(crate) struct Potion {
    tokenizer: Tokenizer,
    rows: Vec<f32>,
    dimensions: usize,
}

impl Potion {
    pub(crate) fn load() -> anyhow::Result<Arc<Self>> {
        let models = RealModels::find();
        let mut tokenizer =
            Tokenizer::from_file(models.path("potion/tokenizer.json")).map_err(anyhow::Error::msg)?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(anyhow::Error::msg)?;
        let bytes = std::fs::read(models.path("potion/model.safetensors"))?;
        let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into()?))?;
        let header: Value = serde_json::from_slice(&bytes[8..8 + length])?;
        let tensors = header.as_object().context("the model has no header")?;
        let (_, tensor) =
            tensors.iter().find(|(name, _)| *name != "__metadata__").context("the model has no tensor")?;
        ensure!(tensor["dtype"] == "F32", "the model is of another type");
        let dimensions = usize::try_from(tensor["shape"][1].as_u64().context("the model has no shape")?)?;
        let rows = bytes[8 + length..].chunks_exact(4);
        let rows = rows.map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect();
        Ok(Arc::new(Self { tokenizer, rows, dimensions }))
    }

    fn vector(&self, ids: &[u32]) -> Vec<f32> {
        let mut vector = vec![0.0_f32; self.dimensions];
        for id in ids {
            let row = *id as usize * self.dimensions;
            for (sum, value) in vector.iter_mut().zip(&self.rows[row..row + self.dimensions]) {
                *sum += value;
            }
        }
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        vector.iter_mut().for_each(|value| *value /= length);
        vector
    }
}

#[async_trait]
impl Embedder for Potion {
    fn name(&self) -> &str {
        "potion-base-8M"
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    async fn embed(&self, _: &Caller, _: Purpose, texts: &[&str]) -> Result<Vectors, ModelError> {
        let mut vectors = Vectors::with_capacity(self.dimensions, texts.len());
        let encoded = self.tokenizer.encode_batch_fast(texts.to_vec(), false).unwrap_or_default();
        for encoding in encoded {
            let _ = vectors.push(&self.vector(encoding.get_ids()));
        }
        Ok(vectors)
    }
}
