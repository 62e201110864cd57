//! Reranking in this process, with a cross-encoder.

use std::path::Path;

use async_trait::async_trait;
use ibid_core::model::{Caller, ModelError, Reranker};

use crate::governor::Stats;
use crate::local::{ModelKind, Network, Output, Runtime, unusable};

/// A rerank model that runs in this process.
pub struct LocalReranker {
    network: Network,
}

impl LocalReranker {
    /// Loads the model in a folder. It uses as many threads as the machine has unless told otherwise.
    ///
    /// # Errors
    /// Fails when the folder holds no rerank model that can be run.
    pub fn load(runtime: &Runtime, folder: &Path, threads: Option<usize>) -> Result<Self, ModelError> {
        let network = Network::load(runtime, folder, threads)?;
        if network.card.kind != ModelKind::Rerank {
            return Err(unusable(folder, "its card does not say that it is a rerank model".to_owned()));
        }
        Ok(Self { network })
    }

    /// What its governor has seen.
    pub fn stats(&self) -> Stats {
        self.network.governor().stats()
    }
}

#[async_trait]
impl Reranker for LocalReranker {
    fn name(&self) -> &str {
        &self.network.card.name
    }

    async fn rerank(
        &self,
        caller: &Caller,
        question: &str,
        passages: &[&str],
    ) -> Result<Vec<f32>, ModelError> {
        let inputs = passages.iter().map(|passage| self.network.card.input(question, passage)).collect();
        self.network.scores(caller, inputs, scores).await
    }
}

/// From what the network gives for each pair to a number from 0 to 1.
fn scores(output: &Output<'_>) -> Result<Vec<f32>, String> {
    let count = output.lengths.len();
    match output.values.len().checked_div(count) {
        Some(1) => Ok(output.values.iter().map(|value| 1.0 / (1.0 + (-value).exp())).collect()),
        // Two classes, irrelevant and relevant: their softmax is the sigmoid of the difference.
        Some(2) => {
            let pairs = output.values.chunks_exact(2);
            Ok(pairs.map(|pair| 1.0 / (1.0 + (pair[0] - pair[1]).exp())).collect())
        }
        _ => Err(format!("it gives numbers of the shape {:?}, not one or two for each pair", output.shape)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_come_from_one_number_or_from_two() {
        let one = Output { shape: &[2, 1], values: &[0.0, 100.0], lengths: &[1, 1] };
        assert_eq!(scores(&one).unwrap(), [0.5, 1.0]);
        let two = Output { shape: &[2, 2], values: &[0.0, 0.0, 100.0, -100.0], lengths: &[1, 1] };
        assert_eq!(scores(&two).unwrap(), [0.5, 0.0]);
        let three = Output { shape: &[1, 3], values: &[0.0; 3], lengths: &[1] };
        assert!(scores(&three).is_err());
    }
}
