//! `just bench-knowledge`: reading, loading, and searching as data grows, each beside its reference.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use futures_util::{StreamExt, stream};
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

fn chapter_of(data: &Path, number: u32) -> PathBuf {
    data.join(format!("trade_compliance/hts/pdf/chapter/Chapter_{number}.pdf"))
}

/// Pages for each second of processor time, of this process and of those that read.
async fn reading(data: &Path) -> anyhow::Result<()> {
    let (file, reader) = (chapter_of(data, 85), reader()?);
    let children = || children_seconds();
    let mut rates = Vec::new();
    for _ in 0..5 {
        let (before, began) = (children()?, cpu_time::ProcessTime::now());
        let reading = reader.read(&file, ibid_reading::FileFormat::Pdf, 0..u32::MAX, |_, _| {}).await?;
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

/// Loading four chapters, two at once, against the bare embedder on the same chunks, with a small and a larger model.
async fn loading(data: &Path) -> anyhow::Result<()> {
    let models = [
        (
            "use-multilingual",
            3,
            "chunks loaded each second, four chapters, USE (reference: the bare embedder)",
        ),
        ("minilm", 1, "chunks loaded each second, four chapters, MiniLM (reference: the bare embedder)"),
    ];
    for (model, rounds, figure) in models {
        let embedder = local(model)?;
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let folder = tempfile::tempdir()?;
            let place = folder.path().to_string_lossy().into_owned();
            let store =
                Arc::new(Store::open(&place, HashMap::new(), embedder.name(), embedder.dimensions()).await?);
            let ingestion = Ingestion::new(store.clone(), embedder.clone(), reader()?);
            // The tables and their indexes are made once for a store, not for a document.
            load(&ingestion, "rules.txt", b"The rules that come before the schedule.").await?;
            let began = Instant::now();
            let chapters = [84, 85, 90, 94].map(|chapter| chapter_of(data, chapter));
            let ingestion = &ingestion;
            let loads = chapters.iter().map(|file| async move {
                load(ingestion, &file.to_string_lossy(), &std::fs::read(file)?).await
            });
            let loaded: Vec<anyhow::Result<u32>> = stream::iter(loads).buffered(2).collect().await;
            let chunks = loaded.into_iter().sum::<anyhow::Result<u32>>()?;
            ours.push(f64::from(chunks) / began.elapsed().as_secs_f64());
            let texts = store.texts(&scope()).await?;
            let began = Instant::now();
            vectors(&*embedder, Purpose::Passage, &texts).await?;
            bare.push(texts.len() as f64 / began.elapsed().as_secs_f64());
        }
        let (ours, bare) = (percentile(&mut ours, 0.5), percentile(&mut bare, 0.5));
        Figure::compare(figure, ours, bare, Goal::AtLeastTimes(0.9)).print()?;
    }
    Ok(())
}

async fn load(ingestion: &Ingestion, source: &str, bytes: &[u8]) -> anyhow::Result<u32> {
    let job = schedule(source.to_owned(), ingestion.keep(bytes).await?)?;
    Ok(ingestion.load(job).await?.chunks)
}
