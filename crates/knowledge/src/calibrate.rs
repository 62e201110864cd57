//! Finds out the scale of a model's cosines on the documents that are loaded: how like texts are that have nothing to do
//! with each other, and how like a sentence is to the passage that it is from.

use std::sync::Arc;

use ibid_core::Tenant;
use ibid_core::model::{Caller, Purpose, Similarity};
use lance::dataset::Dataset;

use crate::Error;
use crate::search::Search;
use crate::store::Store;

/// So many chunks are looked at.
const SAMPLE: usize = 200;
/// A sentence that is searched with has so many words.
const WORDS: std::ops::RangeInclusive<usize> = 5..=25;
/// Fewer sentences or remarks tell nothing.
const LEAST: usize = 10;

/// What people say that no document of a company holds.
const REMARKS: &str = include_str!("remarks.txt");

/// What a calibration came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// The scale that was used before.
    pub before: Similarity,
    /// The scale that is used from now on.
    pub now: Similarity,
    /// On so many passages.
    pub passages: usize,
}

impl Search {
    /// Finds out the scale of the model's cosines on what is loaded, and keeps it with the store.
    ///
    /// # Errors
    /// Fails when too little is loaded, when the model does not tell texts apart, or when the store or the model fails.
    pub async fn calibrate(&self) -> Result<Calibration, Error> {
        let few =
            || Error::Document("too little is loaded to calibrate with; load documents first".to_owned());
        let dataset = self.store().pinned().await?.ok_or_else(few)?;
        let sentences = sentences(&dataset).await?;
        if sentences.len() < LEAST {
            return Err(few());
        }
        let mut related = Vec::new();
        let texts: Vec<&str> = sentences.iter().map(|(sentence, _)| sentence.as_str()).collect();
        let vectors = self.embedder().embed(&caller(), Purpose::Query, &texts).await?;
        for (at, (_, passage)) in sentences.iter().enumerate() {
            related.extend(vectors.get(at).map(|vector| cosine(vector, passage)));
        }
        let mut unrelated = Vec::new();
        let remarks: Vec<&str> = REMARKS.lines().collect();
        let vectors = self.embedder().embed(&caller(), Purpose::Query, &remarks).await?;
        for at in 0..vectors.len() {
            let Some(vector) = vectors.get(at) else { continue };
            let nearest = Store::by_meaning(&dataset, "true", vector, 1).await?;
            unrelated.extend(nearest.first().map(|hit| hit.passage.score));
        }
        // What is a little less like than usual still answers, and what is a little more like still does not.
        let now =
            Similarity { unrelated: quantile(&mut unrelated, 0.75), related: quantile(&mut related, 0.25) };
        if now.related <= now.unrelated {
            return Err(Error::Document(format!(
                "the embedding model finds remarks as like to the documents ({:.2}) as their own sentences ({:.2}); use another one",
                now.unrelated, now.related
            )));
        }
        let before = self.similarity(&dataset);
        self.store().calibrate(now).await?;
        Ok(Calibration { before, now, passages: sentences.len() })
    }
}

fn caller() -> Caller {
    Caller::ingestion(Tenant::local())
}

/// Sentences from the middle of chunks all over the store, each with the vector of its chunk.
async fn sentences(dataset: &Arc<Dataset>) -> Result<Vec<(String, Vec<f32>)>, Error> {
    let chunks = Store::sample(dataset, SAMPLE).await?;
    let found = chunks.into_iter().filter_map(|(text, vector)| Some((sentence(&text)?, vector)));
    Ok(found.collect())
}

/// A sentence of a text, from its middle on.
fn sentence(text: &str) -> Option<String> {
    let sentences: Vec<&str> = text
        .lines()
        .flat_map(|line| line.split_inclusive(". "))
        .map(str::trim)
        .filter(|sentence| WORDS.contains(&sentence.split_whitespace().count()) && !sentence.contains(" | "))
        .collect();
    sentences.get(sentences.len() / 2).map(|sentence| (*sentence).to_owned())
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn quantile(values: &mut [f32], share: f32) -> f32 {
    values.sort_by(f32::total_cmp);
    let at = (values.len().saturating_sub(1)) as f32 * share;
    values.get(at.round() as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_taken_from_the_middle() {
        let text = "A heading\nThe first sentence has six words. The second one has as many. No. Rows | of | a | table have bars.";
        assert_eq!(sentence(text).as_deref(), Some("The second one has as many."));
        assert_eq!(sentence("too short"), None);
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.5), 2.0);
    }
}
