//! `just bench-knowledge`: reading, loading, and searching as data grows, each beside its reference.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use arrow_array::{Array, Float32Array, StringArray};
use futures_util::future::try_join;
use ibid_core::Tenant;
use ibid_core::evidence::Question;
use ibid_core::model::{Caller, Embedder, Purpose};
use ibid_knowledge::{Chunk, Ingestion, Search, Store};
use lance::dataset::Dataset;
use lance_index::scalar::FullTextSearchQuery;
use lance_index::scalar::inverted::query::MatchQuery;
use lance_linalg::distance::DistanceType;

use super::potion::Potion;
use super::sets::Set;
use super::{document, local, reader, schedule, scope, vectors};
use crate::figure::{Figure, Goal};
use crate::models::percentile;

/// How many chunks a store holds, in turn.
const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
/// A chunk of the measured stores is so long, and the next one begins so far behind it.
const CHUNK: usize = 400;
/// So many questions are asked.
const QUESTIONS: usize = 200;

/// Everything, with sizes up to `most`.
pub(crate) fn measure(data: &Path, most: usize) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        reading(data).await?;
        loading(data).await?;
        for size in SIZES.into_iter().filter(|size| *size <= most) {
            Box::pin(searching(data, size)).await?;
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

/// Pieces of real texts: so many, cut from everything that is there.
fn pieces(data: &Path, count: usize) -> anyhow::Result<Vec<String>> {
    let mut texts = Vec::new();
    for folder in [
        "spanish_regulation",
        "trade_compliance",
        "tau_banking_knowledge",
        "mtrag",
        "squad2",
        "halluc_summedits",
        "multihop_hipporag",
        "clapnq",
        "pubmedqa",
    ] {
        gather(&data.join(folder), &mut texts)?;
    }
    for set in ["scifact", "squad-es-v1.1-dev", "vaswani-npl", "nq-utd", "cacm"] {
        texts.extend(
            Set::read(&data.join("retrieval").join(set), 1)?.passages.into_iter().map(|(_, text)| text),
        );
    }
    let characters: Vec<Vec<char>> = texts
        .iter()
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect())
        .collect();
    let all: usize = characters.iter().map(|text| text.len().saturating_sub(CHUNK)).sum();
    let stride = (all / count).clamp(1, CHUNK);
    let mut pieces = Vec::with_capacity(count);
    'all: for text in &characters {
        for start in (0..text.len().saturating_sub(CHUNK)).step_by(stride) {
            pieces.push(text[start..start + CHUNK].iter().collect());
            if pieces.len() == count {
                break 'all;
            }
        }
    }
    anyhow::ensure!(pieces.len() == count, "there is text for {} chunks only", pieces.len());
    Ok(pieces)
}

fn gather(folder: &Path, texts: &mut Vec<String>) -> anyhow::Result<()> {
    let mut entries: Vec<PathBuf> =
        folder.read_dir()?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            gather(&path, texts)?;
        } else if path.extension().is_some_and(|extension| {
            ["txt", "md", "json", "jsonl", "html"].iter().any(|known| extension == *known)
        }) {
            texts.push(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
        }
    }
    Ok(())
}

/// The memory of this process that is not swapped out, in megabytes.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or_default() / 1024.0
}

async fn searching(data: &Path, size: usize) -> anyhow::Result<()> {
    let potion = Potion::load()?;
    let folder = tempfile::tempdir()?;
    let place = folder.path().to_string_lossy().into_owned();
    let store = Arc::new(Store::open(&place, HashMap::new(), potion.name(), potion.dimensions()).await?);
    let began = Instant::now();
    {
        let pieces = pieces(data, size)?;
        // As many documents as a corpus of that size would have, a commit for each.
        let each = (size / 40).max(1000);
        for (number, texts) in pieces.chunks(each).enumerate() {
            let chunks: Vec<Chunk> =
                texts.iter().map(|text| Chunk { page: 1, text: text.clone(), ..Chunk::default() }).collect();
            let vectors = vectors(&*potion, Purpose::Passage, texts).await?;
            let mut document = document(&format!("document-{number}"), "en")?;
            document.kind = if number % 4 == 0 { "quarter" } else { "rest" }.to_owned();
            store.replace(&document, &chunks, vectors).await?;
        }
    }
    let written = began.elapsed().as_secs_f64();
    let began = Instant::now();
    store.keep_up().await?;
    let indexed = began.elapsed().as_secs_f64();
    eprintln!("{size} chunks: embedded and written in {written:.1} s, indexed in {indexed:.1} s");
    let questions = Set::read(&data.join("retrieval/scifact"), QUESTIONS)?.questions;
    let spanish = Set::read(&data.join("retrieval/squad-es-v1.1-dev"), QUESTIONS)?.questions;
    let questions: Vec<String> =
        questions.into_iter().chain(spanish).map(|(text, _)| text).step_by(2).take(QUESTIONS).collect();
    let search = Search::new(store.clone(), potion.clone());
    let table = bare_table(&place).await?;
    let before = resident();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..3 {
        for text in &questions {
            let question = Question::new(text);
            // One after the other in turn, so that neither always finds what the other has warmed.
            if round % 2 == 0 {
                ours.push(timed(search.hits(&scope(), &question)).await?);
                bare.push(timed(bare_search(&table, &potion, &store, text)).await?);
            } else {
                bare.push(timed(bare_search(&table, &potion, &store, text)).await?);
                ours.push(timed(search.hits(&scope(), &question)).await?);
            }
        }
    }
    let shown = match size {
        10_000 => [
            "hybrid search in ms, median, 10 thousand chunks (reference: bare Lance)",
            "recall@20 of vector search, 10 thousand chunks (reference: exact)",
        ],
        100_000 => [
            "hybrid search in ms, median, 100 thousand chunks (reference: bare Lance)",
            "recall@20 of vector search, 100 thousand chunks (reference: exact)",
        ],
        _ => [
            "hybrid search in ms, median, 1 million chunks (reference: bare Lance)",
            "recall@20 of vector search, 1 million chunks (reference: exact)",
        ],
    };
    let skip = questions.len();
    eprintln!(
        "p95: ours {:.1} ms, bare {:.1} ms",
        percentile(&mut ours[skip..].to_vec(), 0.95),
        percentile(&mut bare[skip..].to_vec(), 0.95)
    );
    let (ours, bare) = (percentile(&mut ours[skip..], 0.5), percentile(&mut bare[skip..], 0.5));
    Figure::compare(shown[0], ours, bare, Goal::AtMostTimes(1.15)).print()?;
    let recall = store.recall(&questions_vectors(&potion, &questions).await?, 20).await?;
    Figure::compare(shown[1], recall, 1.0, Goal::AtLeastTimes(0.98)).print()?;
    let after = resident();
    eprintln!(
        "resident memory: {before:.0} MB before searching, {after:.0} MB after {} searches; caches hold {} MB",
        questions.len() * 6,
        store.cached() >> 20
    );
    Ok(())
}

async fn timed<T, E: Into<anyhow::Error>>(work: impl Future<Output = Result<T, E>>) -> anyhow::Result<f64> {
    let began = Instant::now();
    work.await.map_err(Into::into)?;
    Ok(began.elapsed().as_secs_f64() * 1000.0)
}

async fn questions_vectors(potion: &Potion, questions: &[String]) -> anyhow::Result<Vec<Vec<f32>>> {
    let flat = vectors(potion, Purpose::Query, questions).await?;
    Ok(flat.chunks(potion.dimensions()).map(<[f32]>::to_vec).collect())
}

async fn bare_table(place: &str) -> anyhow::Result<Dataset> {
    Ok(Dataset::open(&format!("{place}/chunks.lance")).await?)
}

/// What ibid asks of Lance, asked directly: two scans at once, with the same filter and the same columns.
async fn bare_search(table: &Dataset, potion: &Potion, store: &Store, text: &str) -> anyhow::Result<usize> {
    const COLUMNS: [&str; 13] = [
        "document", "version", "corpus", "title", "source", "kind", "language", "page", "chunk", "path",
        "text", "places", "digest",
    ];
    let filter = "tenant = 'local' AND array_has_any(labels, ['*'])";
    let caller = Caller::chat(Tenant::local());
    let vector = potion.embed(&caller, Purpose::Query, &[text]).await?.into_values();
    let terms = store.terms_of(text).await?;
    let by_terms = async {
        let query = MatchQuery::new(terms.join(" ")).with_column(Some("terms".to_owned()));
        let mut scan = table.scan();
        scan.full_text_search(FullTextSearchQuery::new_query(query.into()).limit(Some(50)))?
            .prefilter(true)
            .filter(filter)?
            .project(&[COLUMNS.as_slice(), &["_score"]].concat())?
            .limit(Some(50), None)?;
        scan.try_into_batch().await
    };
    let by_meaning = async {
        let mut scan = table.scan();
        scan.nearest("vector", &Float32Array::from(vector), 50)?
            .distance_metric(DistanceType::Cosine)
            .nprobes(24)
            .refine(5)
            .prefilter(true)
            .filter(filter)?
            .project(&[COLUMNS.as_slice(), &["_distance"]].concat())?;
        scan.try_into_batch().await
    };
    let (terms, meaning) = try_join(by_terms, by_meaning).await?;
    let texts = |batch: &arrow_array::RecordBatch| {
        batch
            .column_by_name("text")
            .and_then(|column| column.as_any().downcast_ref::<StringArray>().map(Array::len))
            .unwrap_or_default()
    };
    Ok(texts(&terms) + texts(&meaning))
}
