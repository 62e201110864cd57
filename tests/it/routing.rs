//! How well questions find their way: CLINC150's questions in and out of scope over a corpus of topics, and follow-ups of
//! CANARD and MTRAG made into questions, with a real small model. It takes long: `just eval-routing`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use ibid_assistants::route::{mentions, smalltalk};
use ibid_core::evidence::Index;
use ibid_core::{Message, ThreadId};
use ibid_engine::{Engine, LocalEngine};
use ibid_graph::EventKind;
use ibid_knowledge::{Ingestion, Search};
use ibid_testkit::{RealServer, test_set};
use serde_json::{Map, Value};

use crate::library::{embedder, load, open, reader};
use crate::stage::{Stage, scope};

/// So many questions are measured by relevance, and so many are decided by the model.
const BY_RELEVANCE: usize = 400;
const BY_MODEL: usize = 40;
const FOLLOW_UPS: usize = 30;

/// Some of a list, spread over all of it.
fn some<T: Clone>(all: &[T], count: usize) -> Vec<T> {
    (0..count.min(all.len())).map(|number| all[number * all.len() / count.min(all.len())].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes long: `just eval-routing`"]
#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn questions_find_their_way() {
    let data = test_set("routing_clinc150/data_full.json");
    let data: Value = serde_json::from_str(&std::fs::read_to_string(data).unwrap()).unwrap();
    let pairs = |name: &str| {
        let rows = data[name].as_array().unwrap().iter();
        rows.map(|row| (row[0].as_str().unwrap().to_owned(), row[1].as_str().unwrap().to_owned()))
            .collect::<Vec<_>>()
    };
    let mut topics: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (text, topic) in pairs("train") {
        topics.entry(topic).or_default().push(text);
    }
    let folder = tempfile::tempdir().unwrap();
    let embedder = embedder();
    let store = open(folder.path(), embedder.as_ref()).await;
    let ingestion = Ingestion::new(store.clone(), embedder.clone(), reader());
    let mut text = String::from("# Topics\n");
    for (topic, questions) in &topics {
        text.push_str(&format!("\n## {}\n\n{}.\n", topic.replace('_', " "), some(questions, 12).join(". ")));
    }
    load(&ingestion, "policies", "topics.md", Some("Topics"), "general", text.as_bytes()).await;
    let search = Search::new(store, embedder);
    println!("| calibrated | {:?} |", search.calibrate().await.unwrap());
    let index: Arc<dyn Index> = Arc::new(search);

    let (inside, outside) = (pairs("test"), pairs("oos_test"));
    // The first two tiers, on everything.
    let began = Instant::now();
    let all = inside.iter().chain(&outside);
    let passing =
        all.clone().filter(|(text, _)| mentions::has_any(text) || smalltalk::is_smalltalk(text)).count();
    let each = began.elapsed() / u32::try_from(inside.len() + outside.len()).unwrap();
    println!(
        "| first two tiers | {} questions | {passing} decided | {:.4} ms each |",
        all.count(),
        each.as_secs_f64() * 1000.0
    );
    assert!(each < Duration::from_millis(1), "the first two tiers take {each:?}");

    // How well the nearest passage fits them.
    let (mut near, mut far, mut took) = (Vec::new(), Vec::new(), Duration::ZERO);
    for (questions, found) in [(&inside, &mut near), (&outside, &mut far)] {
        for (question, _) in some(questions, BY_RELEVANCE) {
            let began = Instant::now();
            found.push(index.relevance(&scope(), &question).await.unwrap().unwrap());
            took += began.elapsed();
        }
    }
    let each = took.as_secs_f64() * 1000.0 / (near.len() + far.len()) as f64;
    for limit in [0.0, 0.25, 0.5, 0.75] {
        let share = |found: &[f32]| {
            found.iter().filter(|relevance| **relevance > limit).count() as f64 / found.len() as f64
        };
        println!(
            "| relevance > {limit} | in scope {:.3} | out of scope {:.3} | {each:.1} ms each |",
            share(&near),
            share(&far)
        );
    }

    // What the model makes of those that are near.
    let server = tokio::task::spawn_blocking(RealServer::large).await.unwrap();
    let mut stage = Stage::of("policy-desk", index, server.url());
    let names: Vec<String> = some(&topics.keys().cloned().collect::<Vec<_>>(), 40);
    stage.assistant.definition.description =
        format!("It answers questions on {}.", names.join(", ").replace('_', " "));
    let engine = stage.engine(&folder.path().join("engine.db")).await;
    for (label, questions) in [("in scope", &inside), ("out of scope", &outside)] {
        let (mut documents, mut took) = (0, Duration::ZERO);
        let questions = some(questions, BY_MODEL);
        for (question, _) in &questions {
            let began = Instant::now();
            let route = told(&stage, &engine, ThreadId::new(), question, "route").await;
            took += began.elapsed();
            documents += usize::from(route["intent"] == "direct_rag");
        }
        let each = took.as_secs_f64() / questions.len() as f64;
        println!(
            "| all tiers, 1.5B model | {label} | {documents} of {} to the documents | {each:.1} s each |",
            questions.len()
        );
    }
    engine.close().await;
}

/// A question in a conversation, and how it reads by itself.
#[derive(Clone)]
struct FollowUp {
    said: Vec<Message>,
    question: String,
    wanted: String,
}

/// Follow-ups of CANARD: questions and answers on an article, and the question as a person wrote it out.
fn of_canard() -> Option<Vec<FollowUp>> {
    let data = test_set("rewrite_canard/dev.json");
    let turns: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(data).unwrap()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let turns = turns.iter().filter(|turn| turn["History"].as_array().unwrap().len() >= 4);
    let turns = turns.map(|turn| {
        let history: Vec<String> = turn["History"].as_array().unwrap().iter().map(text).collect();
        // The title and the section stand where a person would have named them.
        let first = format!("{} ({}, {})", history[2], history[0], history[1]);
        let mut said = vec![Message::user(first), Message::assistant(&history[3])];
        for (number, line) in history[4..].iter().enumerate() {
            said.push(if number % 2 == 0 { Message::user(line) } else { Message::assistant(line) });
        }
        FollowUp { said, question: text(&turn["Question"]), wanted: text(&turn["Rewrite"]) }
    });
    Some(turns.collect())
}

/// Follow-ups of MTRAG on public administration: the questions of a conversation without the answers, and the last one
/// as it was written out.
fn of_mtrag() -> Option<Vec<FollowUp>> {
    let folder = test_set("mtrag/mtrag-human/retrieval_tasks/govt");
    let read = |name: &str| {
        let lines = std::fs::read_to_string(folder.join(name)).unwrap();
        let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        rows.map(|row| (text(&row["_id"]), text(&row["text"]))).collect::<BTreeMap<_, _>>()
    };
    let (asked, written) = (read("govt_questions.jsonl"), read("govt_rewrite.jsonl"));
    let turns = asked.into_iter().filter_map(|(id, questions)| {
        let mut said: Vec<String> = questions
            .split("|user|:")
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .collect();
        let question = said.pop()?;
        let wanted = written.get(&id)?.trim_start_matches("|user|:").trim().to_owned();
        (!said.is_empty()).then(|| FollowUp {
            said: said.iter().map(Message::user).collect(),
            question,
            wanted,
        })
    });
    Some(turns.collect())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes long: `just eval-routing`"]
#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn follow_ups_become_questions() {
    let (Some(canard), Some(mtrag)) = (of_canard(), of_mtrag()) else { return };
    let server = tokio::task::spawn_blocking(RealServer::large).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let embedder = embedder();
    let store = open(&folder.path().join("store"), embedder.as_ref()).await;
    let stage = Stage::of("trade-compliance", Arc::new(Search::new(store, embedder)), server.url());
    let engine = stage.engine(&folder.path().join("engine.db")).await;
    for (set, turns) in [("CANARD", canard), ("MTRAG", mtrag)] {
        let (mut as_asked, mut condensed, mut took, mut exact) = (0.0, 0.0, Duration::ZERO, 0);
        let turns = some(&turns, FOLLOW_UPS);
        for FollowUp { said, question, wanted } in turns.clone() {
            let thread = ThreadId::new();
            engine.create_thread(&scope(), thread, Map::new(), ibid_engine::Lifetime::Kept).await.unwrap();
            engine.add_messages(&scope(), thread, said).await.unwrap();
            let began = Instant::now();
            let made = told(&stage, &engine, thread, &question, "question").await;
            took += began.elapsed();
            let made = made["text"].as_str().unwrap_or_default().to_owned();
            as_asked += overlap(&question, &wanted);
            condensed += overlap(&made, &wanted);
            exact += usize::from(words(&made) == words(&wanted));
            println!("<!-- {question} -> {made} (wanted: {wanted}) -->");
        }
        let of = |sum: f64| sum / turns.len() as f64;
        println!(
            "| follow-ups of {set}, {} | F1 of words as asked {:.3} | condensed {:.3} | {exact} with the same words | {:.1} s each |",
            turns.len(),
            of(as_asked),
            of(condensed),
            of(took.as_secs_f64())
        );
    }
    engine.close().await;
}

/// What a turn tells under a name; then it is stopped.
async fn told(stage: &Stage, engine: &LocalEngine, thread: ThreadId, say: &str, wanted: &str) -> Value {
    let run = stage.submit(engine, thread, say, &[]).await;
    let mut events = engine.events(&scope(), run, 0).await.unwrap();
    let mut found = Value::Null;
    while let Some(event) = events.next().await {
        if let EventKind::Custom { name, value } = event.unwrap().what.kind
            && name == wanted
            && found.is_null()
        {
            found = value;
            engine.stop(&scope(), run, ibid_engine::Stop::Keep).await.unwrap();
        }
    }
    found
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The F1 of the words that two texts share.
fn overlap(one: &str, other: &str) -> f64 {
    let (one, other) = (words(one), words(other));
    let shared = one.intersection(&other).count() as f64;
    2.0 * shared / (one.len() + other.len()).max(1) as f64
}
