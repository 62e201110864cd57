//! How good the index of vectors is: its answers beside those of comparing every vector.

use std::collections::HashSet;

use arrow_array::{Float32Array, RecordBatch};
use futures_util::TryStreamExt;
use ibid_core::Scope;
use lance::dataset::Dataset;
use lance_linalg::distance::DistanceType;

use super::search::{PROBES, REFINE};
use super::{Store, filter, rows};
use crate::chunk::whole;
use crate::{Error, terms};

impl Store {
    /// The share of the nearest `top` vectors that a search through the index finds, over some questions.
    /// 1 where there is no index.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn recall(&self, questions: &[Vec<f32>], top: usize) -> Result<f64, Error> {
        let Some(dataset) = self.pinned().await? else { return Ok(1.0) };
        let (mut found, mut all) = (0, 0);
        for question in questions {
            let exact = nearest(&dataset, question, top, false).await?;
            let quick = nearest(&dataset, question, top, true).await?;
            // What is as near as the last of the exact ones is as good.
            let last = exact.last().map_or(0.0, |(_, distance)| *distance);
            let names: HashSet<&str> = exact.iter().map(|(name, _)| name.as_str()).collect();
            let right = |hit: &&(String, f32)| names.contains(hit.0.as_str()) || hit.1 <= last + 1e-6;
            found += quick.iter().filter(right).count().min(exact.len());
            all += exact.len();
        }
        Ok(if all == 0 { 1.0 } else { found as f64 / all as f64 })
    }

    /// What is embedded of each chunk that a scope may see, in no order.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn texts(&self, scope: &Scope) -> Result<Vec<String>, Error> {
        let (Some(dataset), Some(seen)) = (self.pinned().await?, filter::of_scope(scope)) else {
            return Ok(Vec::new());
        };
        let mut scan = dataset.scan();
        scan.filter(&seen)?.project(&["path", "text"])?;
        let mut texts = Vec::new();
        let mut batches = scan.try_into_stream().await?;
        while let Some(batch) = batches.try_next().await? {
            let (paths, said) = (rows::texts(&batch, "path")?, rows::texts(&batch, "text")?);
            for (path, text) in paths.iter().zip(said).filter_map(|(path, text)| Some((path?, text?))) {
                let path: Vec<String> = serde_json::from_str(path).unwrap_or_default();
                texts.push(whole(&path, text));
            }
        }
        Ok(texts)
    }

    /// The terms by which a question is searched.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn terms_of(&self, question: &str) -> Result<Vec<String>, Error> {
        let dataset = self.pinned().await?;
        let languages = dataset.map(|dataset| Self::languages(&dataset)).unwrap_or_default();
        Ok(terms::of_question(question, &languages))
    }
}

async fn nearest(
    dataset: &Dataset,
    question: &[f32],
    top: usize,
    through_index: bool,
) -> Result<Vec<(String, f32)>, Error> {
    let mut scan = dataset.scan();
    scan.nearest("vector", &Float32Array::from(question.to_vec()), top)?
        .distance_metric(DistanceType::Cosine);
    if through_index {
        scan.nprobes(PROBES).refine(REFINE);
    } else {
        scan.use_index(false);
    }
    scan.project(&["id", "_distance"])?;
    let batch: RecordBatch = scan.try_into_batch().await?;
    let distances: &Float32Array = rows::column(&batch, "_distance")?;
    let names = rows::texts(&batch, "id")?;
    Ok(names.iter().flatten().map(str::to_owned).zip(distances.values().iter().copied()).collect())
}
