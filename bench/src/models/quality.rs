//! How well models find: for each question of XQuAD, is its paragraph among the first?

use std::path::Path;

use anyhow::Context;
use ibid_core::Tenant;
use ibid_core::model::{Caller, Embedder, Purpose, Reranker, Vectors};
use ibid_models::{LocalEmbedder, LocalReranker, Runtime};
use ibid_testkit::RealModels;
use serde_json::Value;

/// Questions and paragraphs of one language; each question knows its paragraph.
struct Set {
    paragraphs: Vec<String>,
    questions: Vec<(String, usize)>,
}

#[expect(clippy::print_stdout, reason = "the table is the output")]
pub(crate) async fn measure(folder: &Path) -> anyhow::Result<()> {
    let (english, spanish) = (read(&folder.join("xquad.en.json"))?, read(&folder.join("xquad.es.json"))?);
    let models = RealModels::find();
    let runtime = Runtime::load(&models.runtime())?;
    let caller = Caller::ingestion(Tenant::local());
    println!(
        "| model | questions | paragraphs | first is right | among the first 5 |\n|---|---|---|---:|---:|"
    );
    for name in ["minilm", "use-multilingual"] {
        let embedder = LocalEmbedder::load(&runtime, &models.path(name), None)?;
        let mut paragraphs = Vec::new();
        for set in [&english, &spanish] {
            let texts: Vec<&str> = set.paragraphs.iter().map(String::as_str).collect();
            paragraphs.push(embedder.embed(&caller, Purpose::Passage, &texts).await?);
        }
        for (language, set, found_in, vectors) in [
            ("English", &english, "English", &paragraphs[0]),
            ("Spanish", &spanish, "Spanish", &paragraphs[1]),
            ("Spanish", &spanish, "English", &paragraphs[0]),
        ] {
            let texts: Vec<&str> = set.questions.iter().map(|(question, _)| question.as_str()).collect();
            let questions = embedder.embed(&caller, Purpose::Query, &texts).await?;
            let ranks: Vec<usize> = questions
                .iter()
                .zip(&set.questions)
                .map(|(question, (_, right))| rank(question, vectors, *right))
                .collect();
            row(embedder.name(), language, found_in, &ranks);
        }
    }
    reranked(&runtime, &models, "English", &english, &caller).await?;
    reranked(&runtime, &models, "Spanish", &spanish, &caller).await
}

/// The first 20 of the multilingual model, before and after they are reranked, for every fifth question.
async fn reranked(
    runtime: &Runtime,
    models: &RealModels,
    language: &str,
    set: &Set,
    caller: &Caller,
) -> anyhow::Result<()> {
    let embedder = LocalEmbedder::load(runtime, &models.path("use-multilingual"), None)?;
    let reranker = LocalReranker::load(runtime, &models.path("reranker"), None)?;
    let texts: Vec<&str> = set.paragraphs.iter().map(String::as_str).collect();
    let paragraphs = embedder.embed(caller, Purpose::Passage, &texts).await?;
    let (mut before, mut ranks) = (Vec::new(), Vec::new());
    for (question, right) in set.questions.iter().step_by(5) {
        let vector = embedder.embed(caller, Purpose::Query, &[question]).await?;
        let vector = vector.get(0).context("a vector")?;
        let mut order: Vec<usize> = (0..texts.len()).collect();
        let score = |place: &usize| paragraphs.get(*place).map_or(0.0, |other| dot(vector, other));
        order.sort_by(|one, other| score(other).total_cmp(&score(one)));
        order.truncate(20);
        let passages: Vec<&str> = order.iter().map(|place| texts[*place]).collect();
        let scores = reranker.rerank(caller, question, &passages).await?;
        let own = order.iter().position(|place| place == right);
        before.push(own.unwrap_or(usize::MAX));
        ranks.push(own.map_or(usize::MAX, |own| scores.iter().filter(|score| **score > scores[own]).count()));
    }
    row(&format!("{}, every fifth question", embedder.name()), language, language, &before);
    let both = format!("{}, then {} on 20, every fifth question", embedder.name(), reranker.name());
    row(&both, language, language, &ranks);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is the output")]
fn row(model: &str, questions: &str, paragraphs: &str, ranks: &[usize]) {
    let share = |most: usize| ranks.iter().filter(|rank| **rank < most).count() as f64 / ranks.len() as f64;
    println!("| {model} | {questions} | {paragraphs} | {:.3} | {:.3} |", share(1), share(5));
}

/// How many paragraphs come before the right one.
fn rank(question: &[f32], paragraphs: &Vectors, right: usize) -> usize {
    let own = paragraphs.get(right).map_or(0.0, |own| dot(question, own));
    paragraphs.iter().filter(|other| dot(question, other) > own).count()
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn read(path: &Path) -> anyhow::Result<Set> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let file: Value = serde_json::from_str(&text)?;
    let mut set = Set { paragraphs: Vec::new(), questions: Vec::new() };
    for article in file["data"].as_array().into_iter().flatten() {
        for paragraph in article["paragraphs"].as_array().into_iter().flatten() {
            for question in paragraph["qas"].as_array().into_iter().flatten() {
                let text = question["question"].as_str().unwrap_or_default().to_owned();
                set.questions.push((text, set.paragraphs.len()));
            }
            set.paragraphs.push(paragraph["context"].as_str().unwrap_or_default().to_owned());
        }
    }
    Ok(set)
}
