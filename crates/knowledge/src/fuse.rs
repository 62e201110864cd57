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

/// Words count so much in a question, with and without a code in it, and so much less in a long story.
const WITH_A_CODE: f32 = 0.95;
const WITHOUT: f32 = 0.8;
const LESS: f32 = 0.4;
/// A question has at most so many words; a story has more than the second.
const QUESTION: f32 = 30.0;
const STORY: f32 = 100.0;
/// Other phrasings of a question count so much.
const OTHERS: f32 = 0.7;

impl Weight {
    /// What a question looks like. With a code in it, words decide almost alone; else both count, words more, since
    /// a small embedding model is wrong more often than they are. In a long story most words tell nothing of what is
    /// looked for, and the vector sums it up.
    pub fn of(question: &str) -> Self {
        let most = if crate::terms::codes(question).is_empty() { WITHOUT } else { WITH_A_CODE };
        let words = question.split_whitespace().count() as f32;
        Self(most - LESS * ((words - QUESTION) / (STORY - QUESTION)).clamp(0.0, 1.0))
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
        let cosine = hit.cosine;
        let known = fused.entry(hit.id()).and_modify(|known| known.passage.score += score).or_insert(hit);
        known.cosine = known.cosine.or(cosine);
    }
    sorted(fused.into_values().collect())
}

/// The hits of several phrasings: each counts as it does for the phrasing that it fits best. The question itself comes first
/// and counts most: what a model has made of it may have lost something.
pub(crate) fn best_of(phrasings: Vec<Vec<Hit>>) -> Vec<Hit> {
    let mut best: HashMap<String, Hit> = HashMap::new();
    let weighed = phrasings.into_iter().enumerate().flat_map(|(number, hits)| {
        let weight = if number == 0 { 1.0 } else { OTHERS };
        hits.into_iter().map(move |mut hit| {
            hit.passage.score *= weight;
            hit
        })
    });
    for hit in weighed {
        let known = best.entry(hit.id()).or_insert_with(|| hit.clone());
        known.passage.score = known.passage.score.max(hit.passage.score);
        known.cosine = known.cosine.into_iter().chain(hit.cosine).reduce(f32::max);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_most_where_there_is_a_code_and_least_in_a_story() {
        let weight = |question: &str| Weight::of(question).0;
        assert!(weight("What is the rate of 8539.52.00?") > weight("What is the rate of lamps?"));
        assert!(
            weight("What is the rate of lamps?") > weight(&"and then I went to the bank ".repeat(20)) + 0.3
        );
    }
}
