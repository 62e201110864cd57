//! `just bench-knowledge`: reading, loading, and searching as data grows, each beside its reference.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use ibid_core::model::Purpose;
use ibid_knowledge::{Ingestion, Store};

use super::growth::{SIZES, growing};
use super::{local, reader, schedule, scope, vectors};
use crate::figure::{Figure, Goal};
use crate::models::percentile;

/// Everything, with sizes up to `most`. `python` has Chroma.
pub(crate) fn measure(data: &Path, most: usize, python: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        reading(data).await?;
        loading(data).await?;
        for size in SIZES.iter().filter(|size| size.chunks <= most) {
            Box::pin(growing(data, size, python)).await?;
        }
        Ok(())
    })
}

fn chapter(data: &Path) -> PathBuf {
    data.join("trade_compliance/hts/pdf/chapter/Chapter_85.pdf")
}

/// Pages for each second of processor time, of this process and of those that read.
async fn reading(data: &Path) -> anyhow::Result<()> {
    let (file, reader) = (chapter(data), reader()?);
    let children = || children_seconds();
    let mut rates = Vec::new();
    for _ in 0..5 {
        let (before, began) = (children()?, cpu_time::ProcessTime::now());
        let reading = reader.read(&file, ibid_reading::Kind::Pdf, 0..u32::MAX, |_, _| {}).await?;
        let used = children()? - before + began.elapsed().as_secs_f64();
        rates.push(f64::from(reading.count) / used);
    }
    let rate = percentile(&mut rates, 0.5);
    Figure::compare(
        "pages read for each CPU second, chapter 85 (reference: the goal)",
        rate,
        100.0,
        Goal::AtLeastTimes(1.0),
    )
    .print()
}

/// The processor time of the processes that this one waited for.
fn children_seconds() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit_once(')').context("no fields")?.1.split_whitespace().collect();
    let ticks: f64 = fields[13].parse::<f64>()? + fields[14].parse::<f64>()?;
    Ok(ticks / 100.0)
}

/// Loading a chapter against the bare embedder on the same chunks.
async fn loading(data: &Path) -> anyhow::Result<()> {
    let embedder = local("use-multilingual")?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let folder = tempfile::tempdir()?;
        let place = folder.path().to_string_lossy().into_owned();
        let store =
            Arc::new(Store::open(&place, HashMap::new(), embedder.name(), embedder.dimensions()).await?);
        let ingestion = Ingestion::new(store.clone(), embedder.clone(), reader()?);
        let bytes = std::fs::read(chapter(data))?;
        let began = Instant::now();
        let job = schedule("Chapter_85.pdf".to_owned(), ingestion.keep(&bytes).await?)?;
        let summary = ingestion.load(job).await?;
        let whole = began.elapsed().as_secs_f64();
        let texts = store.texts(&scope()).await?;
        let began = Instant::now();
        vectors(&*embedder, Purpose::Passage, &texts).await?;
        let alone = began.elapsed().as_secs_f64();
        ours.push(f64::from(summary.chunks) / whole);
        bare.push(texts.len() as f64 / alone);
    }
    let (ours, bare) = (percentile(&mut ours, 0.5), percentile(&mut bare, 0.5));
    Figure::compare(
        "chunks loaded each second, chapter 85 (reference: the bare embedder)",
        ours,
        bare,
        Goal::AtLeastTimes(0.9),
    )
    .print()
}
