//! Questions about tariff schedules whose page and row are known, over the real chapters.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use ibid_core::evidence::{Index, Passage, Question};
use ibid_knowledge::{Ingestion, Search, SearchMode, Store};
use serde_json::Value;

use super::{local, schedule, scope};

/// The share of questions whose page and row are among the first five.
pub(super) async fn measure(data: &Path) -> anyhow::Result<()> {
    let data = data.join("trade_compliance");
    let gold = std::fs::read_to_string(data.join("gold/hts_gold.jsonl"))?;
    let gold: Vec<Value> = gold.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let model = "use-multilingual";
    let embedder = local(model)?;
    let folder = tempfile::tempdir()?;
    let place = folder.path().to_string_lossy().into_owned();
    let store = Arc::new(Store::open(&place, HashMap::new(), embedder.name(), embedder.dimensions()).await?);
    let ingestion = Ingestion::new(store.clone(), embedder.clone(), super::reader()?);
    for chapter in [84, 85, 90, 94] {
        let source = format!("hts/pdf/chapter/Chapter_{chapter}.pdf");
        let bytes = std::fs::read(data.join(&source)).with_context(|| source.clone())?;
        let job = schedule(source, ingestion.keep(&bytes).await?)?;
        ingestion.load(job).await?;
    }
    store.maintain().await?;
    let asked: Vec<&Value> =
        gold.iter().filter(|line| line["page"].is_u64() && line["hts"].is_string()).collect();
    for (label, way) in
        [("keyword", SearchMode::Keyword), ("vector", SearchMode::Vector), ("hybrid", SearchMode::Hybrid)]
    {
        let search = Search::new(store.clone(), embedder.clone()).by(way);
        let (mut at_1, mut at_5) = (0, 0);
        for line in &asked {
            let found = search.hits(&scope(), &Question::new(text(line, "question"))).await?;
            let right = |passage: &Passage| {
                let row =
                    |row: &str| row.starts_with(text(line, "hts")) && row.contains(text(line, "answer"));
                passage.source == text(line, "source")
                    && u64::from(passage.page) == line["page"].as_u64().unwrap_or_default()
                    && passage.text.lines().any(row)
            };
            let place = found.iter().position(right);
            at_1 += usize::from(place == Some(0));
            at_5 += usize::from(place.is_some());
            if place.is_none() && label == "hybrid" {
                eprintln!("not found: {} {}", text(line, "hts"), text(line, "answer"));
            }
        }
        let share = |count: usize| count as f64 / asked.len() as f64;
        println!(
            "| HTS gold, page and row | {model} | {label} | first {:.3} | first five {:.3} | of {} questions | |",
            share(at_1),
            share(at_5),
            asked.len()
        );
    }
    neighbours(&Search::new(store, embedder), &asked).await
}

/// Whether what a model is shown holds the row, without the chunks beside the hits, and with them also over the ends of
/// pages; and how much it is shown.
async fn neighbours(search: &Search, asked: &[&Value]) -> anyhow::Result<()> {
    for beside in [0, 1] {
        let (mut found, mut passages, mut letters, mut over_pages) = (0, 0, 0, 0);
        for line in asked {
            let mut question = Question::new(text(line, "question"));
            question.neighbours = beside;
            let evidence = search.retrieve(&scope(), &question).await?.passages;
            let right = |passage: &Passage| {
                u64::from(passage.page) == line["page"].as_u64().unwrap_or_default()
                    && passage.text.lines().any(|row| row.starts_with(text(line, "hts")))
            };
            found += usize::from(evidence.iter().any(right));
            passages += evidence.len();
            letters += evidence.iter().map(|passage| passage.text.len()).sum::<usize>();
            over_pages += usize::from(evidence.len() > question.top);
        }
        let each = |sum: usize| sum as f64 / asked.len() as f64;
        println!(
            "| HTS gold, {beside} neighbours | row shown {:.3} | {:.1} passages | {:.0} letters | more passages than hits in {over_pages} of {} |",
            each(found),
            each(passages),
            each(letters),
            asked.len()
        );
    }
    Ok(())
}

fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    line[key].as_str().unwrap_or_default()
}
