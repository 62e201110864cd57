//! Checking statements in this process, with a classifier of entailment.

use std::path::Path;

use async_trait::async_trait;
use ibid_core::model::{Caller, Grounding, ModelError};

use crate::local::{ModelKind, Network, Output, Runtime, unusable};

/// A classifier of entailment that runs in this process: any cross-encoder whose classes include one for "supported".
pub struct LocalGrounding {
    network: Network,
}

impl LocalGrounding {
    /// Loads the model in a folder. It uses as many threads as the machine has unless told otherwise.
    ///
    /// # Errors
    /// Fails when the folder holds no such model that can be run.
    pub fn load(runtime: &Runtime, folder: &Path, threads: Option<usize>) -> Result<Self, ModelError> {
        let network = Network::load(runtime, folder, threads)?;
        if network.card.kind != ModelKind::Grounding {
            return Err(unusable(folder, "its card does not say that it is a grounding model".to_owned()));
        }
        Ok(Self { network })
    }
}

#[async_trait]
impl Grounding for LocalGrounding {
    fn name(&self) -> &str {
        &self.network.card.name
    }

    async fn support(&self, caller: &Caller, pairs: &[(&str, &str)]) -> Result<Vec<f32>, ModelError> {
        let inputs = pairs.iter().map(|(text, statement)| self.network.card.input(statement, text)).collect();
        let class = self.network.card.supports;
        self.network.scores(caller, inputs, move |output| support(output, class)).await
    }
}

/// The share of one class in the softmax of each pair; of a single number, its sigmoid.
fn support(output: &Output<'_>, class: Option<usize>) -> Result<Vec<f32>, String> {
    let classes = output.values.len().checked_div(output.lengths.len()).unwrap_or_default();
    let class = class.unwrap_or(classes.saturating_sub(1));
    if classes == 0 || class >= classes {
        return Err(format!("it gives numbers of the shape {:?}, without a class {class}", output.shape));
    }
    if classes == 1 {
        return Ok(output.values.iter().map(|value| 1.0 / (1.0 + (-value).exp())).collect());
    }
    let share = |row: &[f32]| {
        let most = row.iter().copied().fold(f32::MIN, f32::max);
        let all: f32 = row.iter().map(|value| (value - most).exp()).sum();
        (row[class] - most).exp() / all
    };
    Ok(output.values.chunks_exact(classes).map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_that_supports_is_one_of_several() {
        let three = Output { shape: &[1, 3], values: &[0.0, 100.0, 0.0], lengths: &[1] };
        assert_eq!(support(&three, Some(1)).unwrap(), [1.0]);
        assert!(support(&three, None).unwrap()[0] < 0.001, "the last one, unless the card says otherwise");
        assert!(support(&three, Some(3)).is_err());
        let one = Output { shape: &[2, 1], values: &[0.0, 100.0], lengths: &[1, 1] };
        assert_eq!(support(&one, None).unwrap(), [0.5, 1.0]);
    }
}
