//! Test sets in BEIR's layout, and the measures that go with them.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

/// A set of passages, questions, and which passages answer which question.
pub(crate) struct Set {
    pub(crate) passages: Vec<(String, String)>,
    /// A question and the places of the passages that answer it.
    pub(crate) questions: Vec<(String, Vec<usize>)>,
}

impl Set {
    /// Reads a set; `most` questions of it.
    pub(crate) fn read(folder: &Path, most: usize) -> anyhow::Result<Self> {
        let file = std::fs::File::open(folder.join("corpus.jsonl.gz"))
            .with_context(|| format!("{}", folder.display()))?;
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let mut places = HashMap::new();
        let mut passages = Vec::new();
        for line in BufReader::new(flate2::read::GzDecoder::new(file)).lines() {
            let value: Value = serde_json::from_str(&line?)?;
            places.insert(text(&value, "_id"), passages.len());
            passages.push((text(&value, "title"), text(&value, "text")));
        }
        let mut answers: HashMap<String, Vec<usize>> = HashMap::new();
        for line in std::fs::read_to_string(folder.join("qrels/test.tsv"))?.lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            if let [question, passage, score] = fields[..]
                && score.parse::<f64>().unwrap_or_default() > 0.0
                && let Some(place) = places.get(passage)
            {
                answers.entry(question.to_owned()).or_default().push(*place);
            }
        }
        let mut questions = Vec::new();
        for line in std::fs::read_to_string(folder.join("queries.jsonl"))?.lines() {
            let value: Value = serde_json::from_str(line)?;
            if let Some(found) = answers.get(&text(&value, "_id")) {
                questions.push((text(&value, "text"), found.clone()));
            }
        }
        // Evenly over the whole, so that a sample is like it.
        let step = questions.len().div_ceil(most.max(1)).max(1);
        Ok(Self { passages, questions: questions.into_iter().step_by(step).collect() })
    }
}

/// How well the first ten are ordered, between 0 and 1.
pub(crate) fn ndcg(found: &[usize], right: &[usize]) -> f64 {
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let got: f64 = found
        .iter()
        .take(10)
        .enumerate()
        .filter(|(_, place)| right.contains(place))
        .map(|(rank, _)| gain(rank))
        .sum();
    let best: f64 = (0..right.len().min(10)).map(gain).sum();
    got / best
}

/// The share of the right ones among the first so many.
pub(crate) fn recall(found: &[usize], right: &[usize], top: usize) -> f64 {
    right.iter().filter(|place| found.iter().take(top).any(|found| found == *place)).count() as f64
        / right.len() as f64
}
