//! Sentences checked against their sources: by a grounding model before the small one, and how well each tier tells what a source
//! supports on SummEdits.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use ibid_assistants::definition::Definition;
use ibid_core::evidence::{DocumentId, DocumentName, Evidence, EvidenceError, Index, Passage, Question};
use ibid_core::model::Grounding;
use ibid_core::{Scope, ThreadId, TurnEvent};
use ibid_models::{LocalGrounding, Provider, ProviderSettings, RemoteGrounding, Runtime};
use ibid_testkit::{RealModels, RealServer, Reply, Script, ScriptedServer, Seen, test_set};
use serde_json::{Value, json};

use crate::stage::{Played, Stage, played};

/// An index of one text.
struct Text(Passage);

impl Text {
    fn of(text: &str) -> Self {
        Self(Passage {
            document: DocumentId("text".to_owned()),
            version: "1".to_owned(),
            corpus: "texts".parse().unwrap(),
            title: "The text".to_owned(),
            source: "text.md".to_owned(),
            kind: "general".to_owned(),
            language: "en".to_owned(),
            page: 1,
            location: None,
            chunks: (0, 0),
            path: Vec::new(),
            text: text.to_owned(),
            places: Vec::new(),
            tables: Vec::new(),
            score: 1.0,
            relevance: None,
        })
    }
}

#[async_trait]
impl Index for Text {
    async fn retrieve(&self, _: &Scope, _: &Question) -> Result<Evidence, EvidenceError> {
        Ok(Evidence { passages: vec![self.0.clone()] })
    }

    async fn page(&self, _: &Scope, _: &DocumentId, _: u32) -> Result<Vec<Passage>, EvidenceError> {
        Ok(vec![self.0.clone()])
    }

    async fn relevance(&self, _: &Scope, _: &str) -> Result<Option<f32>, EvidenceError> {
        Ok(Some(1.0))
    }

    async fn documents(&self, _: &Scope, _: usize) -> Result<Vec<DocumentName>, EvidenceError> {
        Ok(Vec::new())
    }
}

/// What the models say: an answer that is given, and verdicts on everything but its sentences.
fn model(seen: &Seen, answer: &str, judge: impl Fn(&Value) -> String) -> Reply {
    let shown = seen.body["messages"].to_string();
    if shown.contains("whether it helps to answer") {
        Reply::text(&json!({ "passages": [] }).to_string())
    } else if shown.contains("whether the sources say it") {
        Reply::text(&judge(&seen.body))
    } else if shown.contains("whether the answer answers") {
        Reply::text(&json!({ "answers": true, "missing": "" }).to_string())
    } else {
        Reply::text(answer)
    }
}

/// Has an answer from a text checked.
async fn checked(
    text: &str,
    answer: &str,
    grounding: Option<Arc<dyn Grounding>>,
    judge: impl Fn(&Value) -> String + Send + Sync + 'static,
) -> Played {
    checked_in(Text::of(text), answer, grounding, judge).await
}

/// The same. Where a reranker has scored the text, no model is asked for a grade.
async fn checked_in(
    text: Text,
    answer: &str,
    grounding: Option<Arc<dyn Grounding>>,
    judge: impl Fn(&Value) -> String + Send + Sync + 'static,
) -> Played {
    let said = answer.to_owned();
    let models = ScriptedServer::start(Script::new().by(move |seen| model(seen, &said, &judge))).await;
    let is_scored = text.0.relevance.is_some();
    let mut stage = Stage::of("research", Arc::new(text), models.url());
    let definition: &mut Definition = &mut stage.assistant.definition;
    definition.corpora = Vec::new();
    definition.corrective.rounds = 1;
    stage.grounding = grounding;
    let folder = tempfile::tempdir().unwrap();
    let engine = stage.engine(&folder.path().join("engine.db")).await;
    let run = stage.submit(&engine, ThreadId::new(), "What does the text say?", &[]).await;
    let came = played(&engine, run).await;
    engine.close().await;
    let is_grade = |seen: &Seen| seen.body["messages"].to_string().contains("whether it helps to answer");
    assert_eq!(models.seen().iter().any(is_grade), !is_scored);
    came
}

fn verdict(came: &Played) -> Value {
    let rounds = came.told("round");
    rounds.last().map(|round| round["verdict"].clone()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_small_model_is_asked_about_what_a_grounding_model_is_not_sure_of() {
    let classes =
        |score: f64| json!([{ "label": "ENTAILMENT", "score": score }, { "label": "neutral", "score": 0.0 }]);
    let classifier = ScriptedServer::start(Script::new().by(move |seen| {
        let pairs = seen.body["inputs"].as_array().unwrap();
        let score = |pair: &Value| match pair[1].as_str().unwrap() {
            sentence if sentence.contains("red") => 0.95,
            sentence if sentence.contains("green") => 0.05,
            _ => 0.5,
        };
        assert!(pairs.iter().all(|pair| pair[0].as_str().unwrap().contains("painted")), "{pairs:?}");
        Reply::json(json!(pairs.iter().map(|pair| classes(score(pair))).collect::<Vec<_>>()))
    }))
    .await;
    let provider = Provider::new(ProviderSettings::new("classifier", &classifier.url()), None).unwrap();
    let grounding: Arc<dyn Grounding> = Arc::new(RemoteGrounding::new(provider, "entailment"));
    let answer = "The old gate of the house is red now. The new gate of the house is green now. The small door of the house is blue now [1].";
    let judge = |body: &Value| {
        let shown = body["messages"].to_string();
        assert!(shown.contains("1. The small door") && !shown.contains("2. "), "{shown}");
        json!({ "sentences": [{ "number": 1, "supported": true }] }).to_string()
    };
    let came = checked("The gates were painted in spring.", answer, Some(grounding), judge).await;
    assert_eq!(
        verdict(&came)["unsupported"],
        json!(["The new gate of the house is green now."]),
        "{:?}",
        came.error
    );
    let seen = classifier.seen();
    assert_eq!((seen.len(), seen[0].path.as_str()), (1, "/v1/predict"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cites_nothing_and_no_source_says_is_not_known() {
    let judge = |_: &Value| panic!("no model is asked about it");
    let text = "The gates were painted in spring.";
    let came = checked(text, "Nobody may enter without written permission.", None, judge).await;
    let message = came.message.unwrap();
    assert!(message.text.starts_with("I don't know"), "{}", message.text);
    assert!(message.metadata.unwrap().unanswered);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reranker_decides_what_is_clear_without_a_model() {
    for (relevance, graded, answered) in [(0.99, "relevant", true), (0.001, "irrelevant", false)] {
        let mut text = Text::of("The gates of the house were painted in spring.");
        text.0.relevance = Some(relevance);
        let judge = |_: &Value| json!({ "sentences": [{ "number": 1, "supported": true }] }).to_string();
        let came = checked_in(text, "The gates of the house were painted in spring [1].", None, judge).await;
        let metadata = came.message.unwrap().metadata.unwrap();
        assert_eq!(json!(metadata.research[0].grades[0].relevance), graded);
        assert_eq!(!metadata.unanswered, answered);
    }
}

/// A summary, the text that it is of, and whether it is true.
struct Summary {
    domain: String,
    text: String,
    summary: String,
    is_true: bool,
}

fn summaries() -> Vec<Summary> {
    let folder = test_set("halluc_summedits").join("data/summedits");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().replace("summedits_", "");
        let rows: Vec<Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        all.extend(rows.iter().map(|row| Summary {
            domain: name.clone(),
            text: row["doc"].as_str().unwrap().to_owned(),
            summary: row["summary"].as_str().unwrap().trim().to_owned(),
            is_true: row["label"] == 1,
        }));
    }
    all
}

/// Asks the real model, once and whole.
fn relayed(server: &RealServer, body: &Value) -> String {
    let mut body = body.clone();
    let fields = body.as_object_mut().unwrap();
    fields.insert("stream".to_owned(), false.into());
    fields.remove("stream_options");
    let (url, body) = (server.url(), body.to_string());
    let address = url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let json: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap_or_default();
    json["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
}

/// The cross-encoder of the tests as a grounding model. It was trained for something else, and shows the plumbing only.
fn stand_in() -> Arc<dyn Grounding> {
    let models = RealModels::find();
    let (folder, from) = (tempfile::tempdir().unwrap().keep(), models.path("reranker"));
    for file in ["model.onnx", "tokenizer.json"] {
        std::os::unix::fs::symlink(from.join(file), folder.join(file)).unwrap();
    }
    let card =
        "name = \"stand-in\"\nkind = \"grounding\"\npair = \"Query: {question}\\nSentence: {passage}\"\n";
    std::fs::write(folder.join("model.toml"), card).unwrap();
    Arc::new(LocalGrounding::load(&Runtime::load(&models.runtime()).unwrap(), &folder, None).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes long: `just eval-grounding`"]
#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn how_well_each_tier_tells_what_a_text_supports() {
    let number = |name: &str, usual: usize| {
        std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
    };
    let all = summaries();
    let (quick, slow) = (number("IBID_EVERY", 4), number("IBID_MODEL_EVERY", 60));
    println!(
        "\n| tier | domain | summaries | true ones kept | false ones found | balanced accuracy | seconds each |\n|---|---|---:|---:|---:|---:|---:|"
    );
    for (tier, every) in [("the guard", quick), ("with the stand-in", quick), ("with the small model", slow)]
    {
        if every == 0 {
            continue;
        }
        let grounding = (tier == "with the stand-in").then(stand_in);
        let server = if tier == "with the small model" {
            Some(tokio::task::spawn_blocking(RealServer::large).await.unwrap())
        } else {
            None
        };
        let mut domains: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
        let mut seconds = 0.0;
        let mut count = 0;
        for one in all.iter().step_by(every) {
            let judge = move |body: &Value| server.map_or_else(String::new, |server| relayed(server, body));
            let began = Instant::now();
            let answer = format!("{} [1]", one.summary);
            let came = checked(&one.text, &answer, grounding.clone(), judge).await;
            let step = came.events.iter().filter_map(|event| match &event.event {
                TurnEvent::StepFinished { milliseconds } => Some((event.step, *milliseconds)),
                _ => None,
            });
            let grounded = came.events.iter().find_map(|event| match &event.event {
                TurnEvent::StepStarted { node } if node == "check_grounding" => Some(event.step),
                _ => None,
            });
            let took =
                step.filter(|(number, _)| Some(*number) == grounded).map(|(_, milliseconds)| milliseconds);
            seconds += took.max().map_or_else(|| began.elapsed().as_secs_f64(), |ms| ms as f64 / 1000.0);
            count += 1;
            let is_kept = verdict(&came)["unsupported"] == json!([]);
            let counts = domains.entry(&one.domain).or_default();
            counts[usize::from(!one.is_true) * 2] += 1;
            counts[usize::from(!one.is_true) * 2 + 1] += usize::from(is_kept == one.is_true);
        }
        let share = |right: usize, all: usize| 100.0 * right as f64 / all.max(1) as f64;
        let balanced = |[true_all, kept, false_all, found]: [usize; 4]| {
            f64::midpoint(share(kept, true_all), share(found, false_all))
        };
        let mut sum = [0; 4];
        for (domain, counts) in &domains {
            let [true_all, kept, false_all, found] = *counts;
            println!(
                "| {tier} | {domain} | {} | {kept} of {true_all} | {found} of {false_all} | {:.1} | |",
                true_all + false_all,
                balanced(*counts)
            );
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        let mean = domains.values().map(|counts| balanced(*counts)).sum::<f64>() / domains.len() as f64;
        let [true_all, kept, false_all, found] = sum;
        println!(
            "| {tier} | all | {count} | {kept} of {true_all} | {found} of {false_all} | {:.1}, mean of domains {mean:.1} | {:.2} |",
            balanced(sum),
            seconds / f64::from(u32::try_from(count).unwrap_or(1).max(1))
        );
    }
}
