//! Whether `ibid eval` tells faults that were made on purpose from chance: 200 questions on the tariff schedule and from
//! conversations, to configurations with one fault each and to equal ones. The model is scripted and errs at random: it copies
//! what fits a question best from what it is shown, and now and then something else. `just eval-self`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ibid_testkit::{Reply, Script, ScriptedServer, Seen};
use serde_json::{Value, json};

use super::assistants::with_model;
use super::documents::folder;
use super::{printed, run};

/// Questions of each kind.
const EACH: usize = 100;
/// Passages of the conversations that are loaded.
const PASSAGES: usize = 300;
/// How often the model errs, and how often the worse one does.
const ERRS: f64 = 0.05;
const ERRS_MORE: f64 = 0.3;
/// How often two equal configurations are compared, and how often they may seem to differ.
const REPETITIONS: usize = 20;
const FALSE_ALARMS: usize = 1;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data")
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '.');
    words.filter(|word| word.len() > 2).map(|word| word.trim_matches('.').to_lowercase()).collect()
}

/// A model that copies the line of its sources that has most words of the question; sometimes any line.
async fn copying(errs: f64) -> ScriptedServer {
    let chance = Mutex::new(0x9e37_79b9_7f4a_7c15_u64);
    let random = move || {
        let mut state = chance.lock().unwrap();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let answer = move |seen: &Seen| {
        let prompts = seen.body["messages"].as_array().unwrap();
        let last = prompts.last().and_then(|prompt| prompt["content"].as_str()).unwrap_or_default();
        if seen.says("can be understood without the conversation") {
            let asked = last.lines().rev().find(|line| line.len() > 10).unwrap_or(last);
            return Reply::text(asked);
        }
        let Some((sources, question)) = last.rsplit_once("Question:") else {
            return Reply::text("I do not know. [0]");
        };
        let asked = words(question);
        let mut lines: Vec<(usize, usize, &str)> = Vec::new();
        for (at, source) in sources.split("<source ").skip(1).enumerate() {
            let fits = |line: &str| words(line).intersection(&asked).count();
            lines.extend(
                source.lines().skip(1).filter(|line| line.len() > 20).map(|line| (fits(line), at + 1, line)),
            );
        }
        let chosen = if random() < errs {
            lines.get((random() * lines.len() as f64) as usize)
        } else {
            lines.iter().max_by_key(|(fits, number, _)| (*fits, usize::MAX - number))
        };
        match chosen {
            Some((fits, number, line)) if *fits > 0 => {
                let line: String = line.chars().take(300).collect();
                Reply::text(&format!("{line} [{number}]"))
            }
            _ => Reply::text("I do not know. [0]"),
        }
    };
    ScriptedServer::start(Script::new().by(answer)).await
}

/// The documents: two chapters of the schedule, and passages of the conversations.
fn load(folder: &Path) {
    for chapter in [85, 94] {
        let file = data().join(format!("trade_compliance/hts/pdf/chapter/Chapter_{chapter}.pdf"));
        printed(&run(folder, &["ingest", &file.to_string_lossy(), "--corpus", "questions"]));
    }
    let passages = folder.join("passages");
    fs::create_dir_all(&passages).unwrap();
    // The first questions are about the first passages; the others are there to be told from them.
    for line in unpacked(&data().join("retrieval/mtrag-un/corpus.jsonl.gz")).lines().take(PASSAGES) {
        let passage: Value = serde_json::from_str(line).unwrap();
        let name = format!("{}.md", passage["_id"].as_str().unwrap());
        fs::write(passages.join(name), passage["text"].as_str().unwrap()).unwrap();
    }
    printed(&run(folder, &["ingest", "passages", "--corpus", "questions"]));
}

fn unpacked(file: &Path) -> String {
    let output =
        std::process::Command::new("gzip").args(["--decompress", "--stdout"]).arg(file).output().unwrap();
    let mut text = String::new();
    output.stdout.as_slice().read_to_string(&mut text).unwrap();
    text
}

/// The questions, with the ids of the documents as they were loaded.
fn questions(folder: &Path) {
    let listed = printed(&run(folder, &["documents", "list", "--json"]));
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    for line in listed.lines() {
        let document: Value = serde_json::from_str(line).unwrap();
        let source = document["source"].as_str().unwrap();
        let name = source.rsplit('/').next().unwrap_or(source).to_owned();
        ids.insert(name, document["id"].as_str().unwrap().to_owned());
    }
    let lines = |path: &str| fs::read_to_string(data().join(path)).unwrap();
    let read =
        |text: &str| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
    let mut all = String::new();
    let rows = read(&lines("trade_compliance/gold/hts_gold.jsonl"));
    let of_chapters = |row: &&Value| {
        row["page"].is_u64() && ["85", "94"].iter().any(|of| row["hts"].as_str().unwrap().starts_with(of))
    };
    for row in rows.iter().filter(of_chapters).take(EACH) {
        let chapter = &ids[&format!("Chapter_{}.pdf", &row["hts"].as_str().unwrap()[..2])];
        let item = json!({
            "id": row["id"], "question": row["question"], "values": [row["answer"]],
            "pages": [{ "document": chapter, "page": row["page"] }],
        });
        writeln!(all, "{item}").unwrap();
    }
    let mut relevant: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in lines("retrieval/mtrag-un/qrels/test.tsv").lines().skip(1) {
        let [question, passage, _] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        if let Some(id) = ids.get(&format!("{passage}.md")) {
            relevant.entry(question.to_owned()).or_default().push(json!({ "document": id, "page": 1 }));
        }
    }
    let said = read(&lines("retrieval/mtrag-un/queries.jsonl"));
    let wanted = 2 * EACH - all.lines().count();
    let usable = said.iter().filter(|one| match one["answerability"].as_str() {
        Some("UNANSWERABLE") => true,
        Some("ANSWERABLE") => relevant.contains_key(one["_id"].as_str().unwrap()),
        _ => false,
    });
    for asked in usable.take(wanted) {
        let refused = asked["answerability"] == "UNANSWERABLE";
        let pages = relevant.get(asked["_id"].as_str().unwrap()).filter(|_| !refused).cloned();
        let item = json!({
            "id": asked["_id"], "question": asked["text"], "refusal": refused,
            "pages": pages.unwrap_or_default(),
        });
        writeln!(all, "{item}").unwrap();
    }
    assert_eq!(all.lines().count(), 2 * EACH);
    fs::write(folder.join("questions.jsonl"), all).unwrap();
}

/// An assistant for the questions, changed in one thing.
fn desk(folder: &Path, name: &str, retrieval: &str, evidence: Option<&str>) {
    let path = folder.join("assistants").join(name);
    fs::create_dir_all(path.join("prompts")).unwrap();
    let definition = format!(
        "title = \"Desk\"\ndescription = \"It answers.\"\ncorpora = [\"questions\"]\nformats = [\"text\"]\n\
         [[modes]]\nname = \"standard\"\ngraph = \"conversational\"\n[retrieval]\n{retrieval}\n"
    );
    fs::write(path.join("assistant.toml"), definition).unwrap();
    if let Some(evidence) = evidence {
        fs::write(path.join("prompts/evidence.md"), evidence).unwrap();
    }
}

/// Compares two, and tells which metrics differ.
fn compared(folder: &Path, out: &str, arguments: &[&str]) -> Vec<(String, String)> {
    let usual = ["eval", "questions.jsonl", "--at-once", "2", "--json", "--out", out];
    let output = run(folder, &[&usual[..], arguments].concat());
    let told: Vec<Value> = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let text = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
    let differs = |one: &&Value| ["better", "worse"].contains(&text(one, "verdict").as_str());
    told.iter()
        .filter(differs)
        .map(|one| {
            (
                text(one, "metric"),
                format!("{} {:.3} to {:.3}", text(one, "verdict"), one["baseline"], one["candidate"]),
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes an hour: `just eval-self`"]
#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn faults_are_told_from_chance() {
    let place = folder();
    let folder = place.path();
    load(folder);
    questions(folder);
    println!("loaded");
    let (model, worse) = (copying(ERRS).await, copying(ERRS_MORE).await);
    with_model(folder, &worse.url());
    fs::copy(folder.join("ibid.toml"), folder.join("worse.toml")).unwrap();
    with_model(folder, &model.url());
    desk(folder, "desk", "", None);
    desk(folder, "alone", "neighbours = 0", None);
    desk(folder, "narrow", "top = 1", None);
    desk(folder, "broken", "", Some("Question: {{ question }}\n"));
    let mut missed = Vec::new();
    let faults = [
        ("neighbours off", ["-a", "desk", "-a", "alone"].to_vec()),
        ("top 1", ["-a", "desk", "-a", "narrow"].to_vec()),
        ("a prompt without sources", ["-a", "desk", "-a", "broken"].to_vec()),
        ("a worse model", ["-a", "desk", "--config", "ibid.toml", "--config", "worse.toml"].to_vec()),
    ];
    for (at, (fault, arguments)) in faults.iter().enumerate() {
        let told = compared(folder, &format!("fault-{at}"), arguments);
        println!("{fault}: {told:?}");
        if told.is_empty() {
            missed.push(*fault);
        }
    }
    let repetitions = std::env::var("IBID_REPETITIONS").ok().and_then(|count| count.parse().ok());
    let mut alarms = 0;
    for at in 0..repetitions.unwrap_or(REPETITIONS) {
        let told = compared(folder, &format!("equal-{at}"), &["-a", "desk", "-a", "desk"]);
        println!("equal, repetition {at}: {told:?}");
        alarms += usize::from(!told.is_empty());
    }
    println!("faults that were not told: {missed:?}; false alarms: {alarms}");
    assert!(missed.is_empty(), "{missed:?}");
    assert!(alarms <= FALSE_ALARMS, "{alarms}");
}
