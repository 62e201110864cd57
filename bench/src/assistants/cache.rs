//! The cache of verified answers: whether it tells questions apart that are alike, whether it knows one again that is put in
//! other words, and how long it takes with many answers in it.

mod scale;
mod twins;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use ibid_assistants::{Spoken, question_form};
use ibid_core::cache::{AnswerCache, CacheKey, CacheQuestion, CachedAnswer, EvidencePiece};
use ibid_core::evidence::{Index, Question};
use ibid_core::model::{Caller, Embedder, Purpose, Vectors};
use ibid_core::{AnswerMetadata, RunId, Scope, Tenant};
use ibid_knowledge::{CachedAnswers, Ingestion, Search, Store};

use crate::knowledge::{local, reader, schedule, scope};

/// The embedding models of the tests, with a folder of their files.
const MODELS: [&str; 2] = ["use-multilingual", "minilm"];
/// As an assistant has it unless it is set.
const SIMILARITY: f32 = 0.6;
/// Of the pairs, so many are embedded, to see what the vectors alone would say.
const EMBEDDED: usize = 2000;
/// An hour, in milliseconds.
const LIFETIME: u64 = 3_600_000;

/// Measures, and prints tables.
pub(crate) fn measure(data: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        pairs(data).await?;
        twins::measure(data).await?;
        Box::pin(scale::measure(data)).await
    })
}

/// A pair of sentences, and whether they mean the same.
struct Pair {
    texts: [String; 2],
    is_same: bool,
}

fn read_pairs(data: &Path) -> anyhow::Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for file in ["dev.tsv", "test.tsv"] {
        let text = std::fs::read_to_string(data.join("cache_paws").join(file)).context(file)?;
        pairs.extend(text.lines().filter_map(|line| {
            let mut columns = line.split('\t').skip(1);
            let texts = [columns.next()?.to_owned(), columns.next()?.to_owned()];
            Some(Pair { texts, is_same: columns.next()? == "1" })
        }));
    }
    Ok(pairs)
}

/// As the cache compares it.
fn form(text: &str) -> String {
    question_form(text, Spoken::of(&[], text))
}

/// The share of some pairs for which something holds, in percent.
fn share<'a>(pairs: impl Iterator<Item = &'a Pair> + Clone, holds: impl Fn(&Pair) -> bool) -> f64 {
    let (held, all) = (pairs.clone().filter(|pair| holds(pair)).count(), pairs.count());
    100.0 * held as f64 / all.max(1) as f64
}

async fn pairs(data: &Path) -> anyhow::Result<()> {
    let pairs = read_pairs(data)?;
    let (same, other) = (pairs.iter().filter(|pair| pair.is_same), pairs.iter().filter(|pair| !pair.is_same));
    let is_hit = |pair: &Pair| form(&pair.texts[0]) == form(&pair.texts[1]);
    println!("## PAWS: {} pairs, {} of them of one meaning\n", pairs.len(), same.clone().count());
    println!("| a hit is a pair | false hits | hits on one meaning |\n|---|---|---|");
    println!("| of one form | {:.2} % | {:.1} % |", share(other, is_hit), share(same, is_hit));
    for model in MODELS {
        let embedder = local(model)?;
        let sample = &pairs[..EMBEDDED.min(pairs.len())];
        let cosines = cosines(embedder.as_ref(), sample).await?;
        let cosine = |pair: &Pair| cosines[&std::ptr::from_ref(pair)];
        let (same, other) =
            (sample.iter().filter(|pair| pair.is_same), sample.iter().filter(|pair| !pair.is_same));
        for least in [0.9, 0.95, 0.98, 0.99] {
            let is_near = |pair: &Pair| cosine(pair) >= least;
            let (wrong, right) = (share(other.clone(), is_near), share(same.clone(), is_near));
            println!(
                "| with a cosine of {least} and more ({model}, {EMBEDDED} pairs) | {wrong:.2} % | {right:.1} % |"
            );
        }
        let formed: Vec<f32> = sample.iter().filter(|pair| is_hit(pair)).map(cosine).collect();
        let least = formed.iter().copied().fold(1.0, f32::min);
        println!("| the least cosine of {} pairs of one form ({model}) | {least:.3} | |", formed.len());
    }
    Ok(())
}

async fn cosines(embedder: &dyn Embedder, pairs: &[Pair]) -> anyhow::Result<HashMap<*const Pair, f32>> {
    let mut cosines = HashMap::new();
    for some in pairs.chunks(32) {
        let [ours, theirs] =
            [0, 1].map(|side| some.iter().map(|pair| pair.texts[side].as_str()).collect::<Vec<_>>());
        let (ours, theirs) = (embed(embedder, &ours).await?, embed(embedder, &theirs).await?);
        for ((pair, our), their) in some.iter().zip(ours.iter()).zip(theirs.iter()) {
            let cosine = our.iter().zip(their).map(|(one, other)| one * other).sum();
            cosines.insert(std::ptr::from_ref(pair), cosine);
        }
    }
    Ok(cosines)
}

async fn embed(embedder: &dyn Embedder, texts: &[&str]) -> anyhow::Result<Vectors> {
    Ok(embedder.embed(&Caller::chat(Tenant::local()), Purpose::Query, texts).await?)
}

/// A store with a document that answers rest on, and its cache.
struct Cached {
    store: Arc<Store>,
    search: Arc<Search>,
    cache: Arc<CachedAnswers>,
    evidence: Vec<EvidencePiece>,
    folder: tempfile::TempDir,
}

impl Cached {
    async fn open(data: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let embedder = local(MODELS[0])?;
        let place = folder.path().join("store").to_string_lossy().into_owned();
        let store =
            Arc::new(Store::open(&place, HashMap::new(), embedder.name(), embedder.dimensions()).await?);
        let ingestion = Ingestion::new(store.clone(), embedder.clone(), reader()?);
        let file = super::library::chapter(data, 94);
        let content = ingestion.keep(&std::fs::read(&file)?).await?;
        Box::pin(ingestion.load(schedule(file.to_string_lossy().into_owned(), content)?)).await?;
        Box::pin(store.maintain()).await?;
        let search = Arc::new(Search::new(store.clone(), embedder.clone()));
        let found = search.retrieve(&scope(), &Question::new("seats")).await?;
        // As an assistant keeps it: one piece of each document.
        let evidence = found.passages.iter().take(1).map(EvidencePiece::from).collect();
        let cache = Arc::new(CachedAnswers::new(store.clone(), embedder));
        Ok(Self { store, search, cache, evidence, folder })
    }

    async fn keep(&self, scope: &Scope, question: &str) -> anyhow::Result<()> {
        let now = u64::try_from(std::time::UNIX_EPOCH.elapsed()?.as_millis())?;
        let answer = CachedAnswer {
            run: RunId::new(),
            question: question.to_owned(),
            text: "The rate is 2% [1].".to_owned(),
            metadata: AnswerMetadata::default(),
            evidence: self.evidence.clone(),
            generation: self.cache.generation().await?,
            created: now,
            expires: now + LIFETIME,
        };
        Ok(self.cache.keep(scope, &key(), &asked(question), answer).await?)
    }

    async fn is_hit(&self, scope: &Scope, question: &str) -> anyhow::Result<bool> {
        let hit = self.cache.find(scope, &key(), &asked(question)).await?;
        Ok(hit.is_some_and(|hit| hit.similarity >= SIMILARITY))
    }
}

fn asked(question: &str) -> CacheQuestion {
    CacheQuestion { text: question.to_owned(), form: form(question) }
}

fn key() -> CacheKey {
    let text = |text: &str| text.to_owned();
    CacheKey { assistant: text("research"), version: text("1"), format: text("text"), language: text("en") }
}
