//! Stores of 10 thousand, 100 thousand and a million chunks: searching beside bare Lance, Chroma beside both,
//! and what memory grows to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use arrow_array::{Array, Float32Array, StringArray};
use async_trait::async_trait;
use futures_util::future::try_join;
use ibid_core::Tenant;
use ibid_core::evidence::Question;
use ibid_core::model::{Caller, Embedder, ModelError, Purpose, Vectors};
use ibid_knowledge::{Chunk, Search, SearchMode, Store};
use lance::dataset::Dataset;
use lance_index::scalar::FullTextSearchQuery;
use lance_index::scalar::inverted::query::MatchQuery;
use lance_linalg::distance::DistanceType;
use serde::Deserialize;

use super::potion::Potion;
use super::sets::Set;
use super::{document, scope, vectors};
use crate::figure::{Figure, Goal};
use crate::models::percentile;

/// A size of a store, and what its figures are called.
pub(super) struct Size {
    pub(super) chunks: usize,
    hybrid: &'static str,
    slow: &'static str,
    recall: &'static str,
    memory: &'static str,
}

/// How many chunks a store holds, in turn.
pub(super) const SIZES: [Size; 3] = [
    Size {
        chunks: 10_000,
        hybrid: "hybrid search in ms, median, 10 thousand chunks (reference: bare Lance)",
        slow: "hybrid search in ms, 95th of 100, 10 thousand chunks (reference: bare Lance)",
        recall: "recall@20 of vector search, 10 thousand chunks (reference: exact)",
        memory: "resident MB after searching, 10 thousand chunks (reference: before)",
    },
    Size {
        chunks: 100_000,
        hybrid: "hybrid search in ms, median, 100 thousand chunks (reference: bare Lance)",
        slow: "hybrid search in ms, 95th of 100, 100 thousand chunks (reference: bare Lance)",
        recall: "recall@20 of vector search, 100 thousand chunks (reference: exact)",
        memory: "resident MB after searching, 100 thousand chunks (reference: before)",
    },
    Size {
        chunks: 1_000_000,
        hybrid: "hybrid search in ms, median, 1 million chunks (reference: bare Lance)",
        slow: "hybrid search in ms, 95th of 100, 1 million chunks (reference: bare Lance)",
        recall: "recall@20 of vector search, 1 million chunks (reference: exact)",
        memory: "resident MB after searching, 1 million chunks (reference: before)",
    },
];
/// At this size Chroma is measured too.
const BESIDE_CHROMA: usize = 100_000;
/// A chunk of the measured stores is so long, and the next one begins so far behind it.
const CHUNK: usize = 400;
/// So many questions are asked.
const QUESTIONS: usize = 200;

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

/// A store of a size: written, indexed, searched.
pub(super) async fn growing(data: &Path, size: &Size, python: &Path) -> anyhow::Result<()> {
    let potion = Potion::load()?;
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("store").to_string_lossy().into_owned();
    let store = Arc::new(Store::open(&place, HashMap::new(), potion.name(), potion.dimensions()).await?);
    let all = folder.path().join("vectors.f32");
    let written = Box::pin(write(data, size.chunks, &store, &potion, &all)).await?;
    let questions = Set::read(&data.join("retrieval/scifact"), QUESTIONS)?.questions;
    let spanish = Set::read(&data.join("retrieval/squad-es-v1.1-dev"), QUESTIONS)?.questions;
    let questions: Vec<String> =
        questions.into_iter().chain(spanish).map(|(text, _)| text).step_by(2).take(QUESTIONS).collect();
    let before = resident();
    let (ours, bare) = searches(&store, &place, &potion, &questions).await?;
    for (label, part, goal) in [(size.hybrid, 0.5, Some(1.15)), (size.slow, 0.95, None)] {
        let (ours, bare) = (percentile(&mut ours.clone(), part), percentile(&mut bare.clone(), part));
        Figure::compare(label, ours, bare, goal.map_or(Goal::Reported, Goal::AtMostTimes)).print()?;
    }
    Figure::compare(size.memory, resident(), before, Goal::Reported).print()?;
    let asked = vectors(&*potion, Purpose::Query, &questions).await?;
    let each: Vec<Vec<f32>> = asked.chunks(potion.dimensions()).map(<[f32]>::to_vec).collect();
    Figure::compare(size.recall, store.recall(&each, 20).await?, 1.0, Goal::AtLeastTimes(0.98)).print()?;
    eprintln!("caches hold {} MB", store.cached() >> 20);
    if size.chunks == BESIDE_CHROMA {
        let questions = folder.path().join("questions.f32");
        std::fs::write(&questions, bytes(&asked))?;
        let chroma = Chroma::measure(python, &all, potion.dimensions(), &questions)?;
        beside_chroma(&store, &potion, &each, written, &chroma).await?;
    }
    Ok(())
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Fills a store, keeps the vectors in a file, and says how long writing and indexing took without embedding.
async fn write(data: &Path, size: usize, store: &Store, potion: &Potion, all: &Path) -> anyhow::Result<f64> {
    use std::io::Write;
    let mut file = std::io::BufWriter::new(std::fs::File::create(all)?);
    let pieces = pieces(data, size)?;
    let mut written = 0.0;
    // As many documents as a corpus of that size would have, a commit for each.
    let each = (size / 40).max(1000);
    for (number, texts) in pieces.chunks(each).enumerate() {
        let chunks: Vec<Chunk> =
            texts.iter().map(|text| Chunk { page: 1, text: text.clone(), ..Chunk::default() }).collect();
        let vectors = vectors(potion, Purpose::Passage, texts).await?;
        if size == BESIDE_CHROMA {
            file.write_all(&bytes(&vectors))?;
        }
        let mut document = document(&format!("document-{number}"), "en")?;
        document.kind = if number % 4 == 0 { "quarter" } else { "rest" }.to_owned();
        let began = Instant::now();
        store.replace(&document, chunks, vectors).await?;
        written += began.elapsed().as_secs_f64();
    }
    file.flush()?;
    let began = Instant::now();
    store.maintain().await?;
    let indexed = began.elapsed().as_secs_f64();
    eprintln!("{size} chunks: written in {written:.1} s, indexed in {indexed:.1} s");
    Ok(written + indexed)
}

/// How long hybrid searches take, in milliseconds: through ibid, and made directly.
async fn searches(
    store: &Arc<Store>,
    place: &str,
    potion: &Arc<Potion>,
    questions: &[String],
) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let search = Search::new(store.clone(), potion.clone());
    let table = bare_table(place).await?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..3 {
        for text in questions {
            let question = Question::new(text);
            // One after the other in turn, so that neither always finds what the other has warmed.
            if round % 2 == 0 {
                ours.push(timed(search.hits(&scope(), &question)).await?);
                bare.push(timed(bare_search(&table, potion, store, text)).await?);
            } else {
                bare.push(timed(bare_search(&table, potion, store, text)).await?);
                ours.push(timed(search.hits(&scope(), &question)).await?);
            }
        }
    }
    // The first round warms up.
    Ok((ours.split_off(questions.len()), bare.split_off(questions.len())))
}

/// What Chroma needed for the same vectors and the same filtered searches.
#[derive(Deserialize)]
struct Chroma {
    written: f64,
    median: f64,
    memory: f64,
}

impl Chroma {
    fn measure(python: &Path, all: &Path, dimensions: usize, questions: &Path) -> anyhow::Result<Self> {
        let output = Command::new(python)
            .arg("bench/chroma_reference.py")
            .arg(all)
            .arg(dimensions.to_string())
            .arg(questions)
            .output()?;
        anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).context("Chroma's figures")
    }
}

async fn beside_chroma(
    store: &Arc<Store>,
    potion: &Arc<Potion>,
    questions: &[Vec<f32>],
    written: f64,
    chroma: &Chroma,
) -> anyhow::Result<()> {
    Figure::compare(
        "writing and indexing 100 thousand chunks with vectors, in seconds (reference: Chroma, vectors alone)",
        written,
        chroma.written,
        Goal::AtMostTimes(1.0),
    )
    .print()?;
    let search = Search::new(store.clone(), Arc::new(Ready(questions.to_vec(), potion.clone())))
        .by(SearchMode::Vector);
    let mut times = Vec::new();
    for number in 0..questions.len() {
        let mut question = Question::new(number.to_string());
        question.kinds = vec!["quarter".to_owned()];
        question.top = 20;
        times.push(timed(search.hits(&scope(), &question)).await?);
    }
    Figure::compare(
        "vector search of a quarter of 100 thousand chunks in ms, median (reference: Chroma)",
        percentile(&mut times, 0.5),
        chroma.median,
        Goal::AtMostTimes(1.0),
    )
    .print()?;
    Figure::compare(
        "resident MB with 100 thousand chunks (reference: Chroma)",
        resident(),
        chroma.memory,
        Goal::Reported,
    )
    .print()
}

/// Vectors that were made before, asked for by their number, so that only the search is measured.
struct Ready(Vec<Vec<f32>>, Arc<Potion>);

#[async_trait]
impl Embedder for Ready {
    fn name(&self) -> &str {
        self.1.name()
    }

    fn dimensions(&self) -> usize {
        self.1.dimensions()
    }

    async fn embed(&self, _: &Caller, _: Purpose, texts: &[&str]) -> Result<Vectors, ModelError> {
        let mut vectors = Vectors::with_capacity(self.dimensions(), texts.len());
        for text in texts {
            let number: usize = text.parse().unwrap_or_default();
            assert!(vectors.push(&self.0[number]), "vectors of one length");
        }
        Ok(vectors)
    }
}

async fn timed<T, E: Into<anyhow::Error>>(work: impl Future<Output = Result<T, E>>) -> anyhow::Result<f64> {
    let began = Instant::now();
    work.await.map_err(Into::into)?;
    Ok(began.elapsed().as_secs_f64() * 1000.0)
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
            .nprobes(48)
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
