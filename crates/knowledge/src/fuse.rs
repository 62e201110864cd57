//! One order from two searches.
//!
//! Ranks forget how much better one hit is than the next, which costs most where one of the searches is
//! sure. So the scores themselves are weighed: the share of the best keyword score, and the cosine
//! between the best and the worst hit. How much words count depends on what the question looks like.

use std::collections::HashMap;

use crate::store::Hit;

/// How much a keyword score counts against a vector score, between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight(pub f32);

impl Weight {
    /// What a question looks like: with a code in it, words decide almost alone; else both count, words more,
    /// since a small embedding model is wrong more often than they are.
    pub fn of(question: &str) -> Self {
        if crate::terms::codes(question).is_empty() { Self(0.8) } else { Self(0.95) }
    }
}

/// The hits of both searches, the best first, each with its fused score between 0 and 1.
pub(crate) fn fuse(by_terms: Vec<Hit>, by_meaning: Vec<Hit>, Weight(weight): Weight) -> Vec<Hit> {
    let best = by_terms.iter().map(|hit| hit.passage.score).fold(0.0, f32::max).max(f32::MIN_POSITIVE);
    let nearest = by_meaning.iter().map(|hit| hit.passage.score).fold(f32::MIN, f32::max);
    let farthest = by_meaning.iter().map(|hit| hit.passage.score).fold(f32::MAX, f32::min);
    let spread = (nearest - farthest).max(f32::MIN_POSITIVE);
    let mut fused: HashMap<String, Hit> = HashMap::new();
    let terms = by_terms.into_iter().map(|hit| (weight * hit.passage.score / best, hit));
    let meaning =
        by_meaning.into_iter().map(|hit| ((1.0 - weight) * (hit.passage.score - farthest) / spread, hit));
    for (score, mut hit) in terms.chain(meaning) {
        hit.passage.score = score;
        fused.entry(hit.id()).and_modify(|known| known.passage.score += score).or_insert(hit);
    }
    sorted(fused.into_values().collect())
}

/// The hits of several phrasings: each counts as it does for the phrasing that it fits best.
pub(crate) fn best_of(phrasings: Vec<Vec<Hit>>) -> Vec<Hit> {
    let mut best: HashMap<String, Hit> = HashMap::new();
    for hit in phrasings.into_iter().flatten() {
        let known = best.entry(hit.id()).or_insert_with(|| hit.clone());
        known.passage.score = known.passage.score.max(hit.passage.score);
    }
    sorted(best.into_values().collect())
}

/// The best first; what is alike stays in the order of the documents, so that a search always says the same.
pub(crate) fn sorted(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by(|a, b| {
        let place = |hit: &Hit| (hit.passage.document.clone(), hit.passage.chunks);
        b.passage.score.total_cmp(&a.passage.score).then_with(|| place(a).cmp(&place(b)))
    });
    hits
}
