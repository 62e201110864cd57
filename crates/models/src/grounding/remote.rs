//! Checking statements over HTTP, as Text Embeddings Inference serves classifiers.

use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::model::{Caller, Grounding, ModelError};
use serde_json::{Value, json};

use crate::provider::Provider;

const PATH: &str = "predict";
/// How many pairs go in one request: as many as every server takes.
const BATCH: usize = 32;

/// A classifier of entailment at a server.
pub struct RemoteGrounding {
    provider: Arc<Provider>,
    /// The label of the class for "supported".
    supports: String,
}

impl RemoteGrounding {
    /// The classifier that a server has, and the label of its class for "supported", such as `entailment`.
    pub fn new(provider: Arc<Provider>, supports: &str) -> Self {
        Self { provider, supports: supports.to_owned() }
    }

    fn read(&self, answer: &Value, count: usize) -> Result<Vec<f32>, ModelError> {
        let nonsense = |reason: &str| self.provider.nonsense(reason);
        let rows = answer.as_array().ok_or_else(|| nonsense("it has no list of classes"))?;
        let score = |row: &Value| {
            let classes = row.as_array()?;
            let of = |class: &&Value| {
                class["label"].as_str().is_some_and(|label| label.eq_ignore_ascii_case(&self.supports))
            };
            Some(classes.iter().find(of)?["score"].as_f64()? as f32)
        };
        let missing = || nonsense(&format!("it has no class `{}`; see `grounding.supports`", self.supports));
        let scores: Vec<f32> = rows.iter().map(score).collect::<Option<_>>().ok_or_else(missing)?;
        if scores.len() != count {
            return Err(nonsense("it sent another number of scores than of pairs"));
        }
        Ok(scores)
    }
}

#[async_trait]
impl Grounding for RemoteGrounding {
    fn name(&self) -> &str {
        self.provider.name()
    }

    async fn support(&self, caller: &Caller, pairs: &[(&str, &str)]) -> Result<Vec<f32>, ModelError> {
        let mut all = Vec::with_capacity(pairs.len());
        for batch in pairs.chunks(BATCH) {
            let inputs: Vec<[&str; 2]> = batch.iter().map(|(text, statement)| [*text, *statement]).collect();
            let body = json!({ "inputs": inputs, "truncate": true });
            let letters = batch.iter().map(|(text, statement)| text.len() + statement.len()).sum();
            let read = |answer: &Value| self.read(answer, batch.len());
            all.extend(self.provider.ask_json(caller, PATH, &body, letters, read).await?);
        }
        Ok(all)
    }
}
