//! The port to an embedding model.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Caller, ModelError};

/// What a text is embedded for. Some models want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To search with it.
    Query,
    /// To be found.
    Passage,
}

/// A model that gives texts of like meaning like vectors.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Names the model. Vectors of different names must not be compared.
    fn name(&self) -> &str;

    /// How long its vectors are.
    fn dimensions(&self) -> usize;

    /// How like its vectors are where texts have nothing, or everything, to do with each other. Every model has a scale of
    /// its own.
    fn similarity(&self) -> Similarity {
        Similarity::default()
    }

    /// The vectors of some texts, of length 1 and in the same order.
    ///
    /// # Errors
    /// Fails when the model cannot be reached or run, or the budget is spent.
    async fn embed(&self, caller: &Caller, purpose: Purpose, texts: &[&str]) -> Result<Vectors, ModelError>;
}

/// The scale of a model's cosines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    /// Between a question and the nearest of passages that have nothing to do with it.
    pub unrelated: f32,
    /// Between a question and a passage that answers it.
    pub related: f32,
}

impl Default for Similarity {
    /// As most models have it.
    fn default() -> Self {
        Self { unrelated: 0.2, related: 0.6 }
    }
}

impl Similarity {
    /// A cosine on the scale from 0 (unrelated) to 1 (related).
    pub fn relevance(self, cosine: f32) -> f32 {
        let width = self.related - self.unrelated;
        if width <= f32::EPSILON { cosine } else { ((cosine - self.unrelated) / width).clamp(0.0, 1.0) }
    }

    /// The cosine of a relevance.
    pub fn cosine(self, relevance: f32) -> f32 {
        self.unrelated + relevance * (self.related - self.unrelated)
    }
}

/// Vectors of one length, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Vectors {
    dimensions: usize,
    values: Vec<f32>,
}

impl Vectors {
    /// Room for `count` vectors.
    pub fn with_capacity(dimensions: usize, count: usize) -> Self {
        Self { dimensions, values: Vec::with_capacity(dimensions * count) }
    }

    /// Zero vectors, to be filled in any order.
    pub fn zeros(dimensions: usize, count: usize) -> Self {
        Self { dimensions, values: vec![0.0; dimensions * count] }
    }

    /// Adds a vector. Returns whether it had the right length; otherwise nothing is added.
    #[must_use]
    pub fn push(&mut self, vector: &[f32]) -> bool {
        let fits = vector.len() == self.dimensions;
        if fits {
            self.values.extend_from_slice(vector);
        }
        fits
    }

    /// How long each is.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.dimensions).unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// One of them.
    pub fn get(&self, index: usize) -> Option<&[f32]> {
        self.values.chunks_exact(self.dimensions.max(1)).nth(index)
    }

    /// One of them, to be filled.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut [f32]> {
        self.values.chunks_exact_mut(self.dimensions.max(1)).nth(index)
    }

    /// Each in turn.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.dimensions.max(1))
    }

    /// All numbers, one vector after the other, as columns are stored.
    pub fn into_values(self) -> Vec<f32> {
        self.values
    }

    /// Gives each vector the length 1.
    pub fn normalise(&mut self) {
        for vector in self.values.chunks_exact_mut(self.dimensions.max(1)) {
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            if length > 0.0 {
                vector.iter_mut().for_each(|value| *value /= length);
            }
        }
    }
}
