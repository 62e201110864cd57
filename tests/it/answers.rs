//! How many questions a real small model answers right, and what ibid makes of those that it answers wrong: questions on
//! the tariff schedule, and on prose in English and Spanish. It takes hours: `just eval-answers`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::StreamExt;
use ibid_core::evidence::Index;
use ibid_core::{Message, ThreadId, TurnEvent};
use ibid_engine::{Engine, LocalEngine, turn_events};
use ibid_knowledge::{Ingestion, Search};
use ibid_testkit::{RealServer, Reply, Script, ScriptedServer, Seen};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::library::{embedder, load, open, reader};
use crate::stage::{Stage, scope};

/// What the server of the tests holds at once.
const CONTEXT: usize = 4096;
const ANSWER: usize = 300;
const CHAPTERS: [u32; 4] = [84, 85, 90, 94];
/// Questions on prose, of each language.
const ON_PROSE: usize = 50;

/// A question with its answer.
struct Asked {
    set: &'static str,
    corpus: &'static str,
    assistant: &'static str,
    mode: &'static str,
    question: String,
    /// The code of the row that answers.
    row: String,
    /// What a right answer says, in one of these ways.
    right: Vec<String>,
    /// Values that a right answer does not give instead.
    wrong: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes hours: `just eval-answers`"]
#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn how_many_answers_are_right() {
    let data = data();
    let index: Arc<dyn Index> = Arc::new(Box::pin(library(&data)).await);
    let server = tokio::task::spawn_blocking(RealServer::large).await.unwrap();
    let every = std::env::var("IBID_EVERY").ok().and_then(|every| every.parse().ok()).unwrap_or(1);
    let wanted = std::env::var("IBID_SETS").unwrap_or_default();
    let mut results = Results::open();
    let mut sets: BTreeMap<&str, Vec<Graded>> = BTreeMap::new();
    let mut desks: BTreeMap<&str, Desk> = BTreeMap::new();
    let (by_code, by_description) = on_tariffs(&data);
    let (english, spanish) = (on_prose(&data, "en"), on_prose(&data, "es"));
    let mut questions = [by_code, by_description, english, spanish, unanswerable(&data)];
    if let Some(assistant) = std::env::var("IBID_ASSISTANT").ok().filter(|assistant| !assistant.is_empty()) {
        let assistant: &'static str = assistant.leak();
        let all = questions.iter_mut().flatten();
        all.for_each(|asked| (asked.assistant, asked.mode) = (assistant, assistant));
    }
    let questions = questions.iter().flat_map(|set| set.iter().step_by(every));
    for asked in questions.filter(|asked| wanted.is_empty() || wanted.split(',').any(|set| set == asked.set))
    {
        let graded = match results.of(asked) {
            Some(known) => known,
            None => {
                if !desks.contains_key(asked.set) {
                    let stage = Desk::set_up(index.clone(), server.url(), asked);
                    desks.insert(asked.set, Desk::of(stage).await);
                }
                results.take(desks[asked.set].ask(asked).await)
            }
        };
        sets.entry(asked.set).or_default().push(graded);
    }
    println!(
        "\n| set | questions | right | with a verified citation | right but flagged | wrong and flagged | wrong, not flagged | refused | tokens read | seconds to the first word | calls |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (set, graded) in sets {
        let count = |wanted: fn(&Graded) -> bool| graded.iter().filter(|one| wanted(one)).count();
        let middle = |of: fn(&Graded) -> f64| {
            let mut all: Vec<f64> = graded.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        println!(
            "| {set} | {} | {} | {} | {} | {} | {} | {} | {:.0} | {:.1} | {:.1} |",
            graded.len(),
            count(|one| one.is_right),
            count(|one| one.is_right && one.cited),
            count(|one| one.is_right && one.is_flagged()),
            count(|one| !one.is_right && one.is_flagged() && !one.refused),
            count(|one| !one.is_right && !one.is_flagged() && !one.refused),
            count(|one| !one.is_right && one.refused),
            middle(|one| one.tokens as f64),
            middle(|one| one.first_word),
            middle(|one| one.calls as f64),
        );
    }
}

/// Whether what answers is among what a model is shown where it reads slowly: what it cannot read, it cannot get right. Of a
/// table that is the row, and whether it is alone.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the documents of `just eval-answers`: `just eval-shown`"]
#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn how_often_what_answers_is_shown() {
    let data = data();
    let index: Arc<dyn Index> = Arc::new(Box::pin(library(&data)).await);
    let seen: Arc<Mutex<String>> = Arc::default();
    let server = {
        let seen = seen.clone();
        let answer = move |request: &Seen| {
            let prompts = request.body["messages"].as_array().unwrap();
            let sources = prompts.last().and_then(|prompt| prompt["content"].as_str()).unwrap_or_default();
            *seen.lock().unwrap() = sources.to_owned();
            Reply::text("Free [1]")
        };
        ScriptedServer::start(Script::new().by(answer)).await
    };
    let (by_code, by_description) = on_tariffs(&data);
    println!("| set | questions | shown | alone | letters | sources |\n|---|---:|---:|---:|---:|---:|");
    for set in [by_code, by_description, on_prose(&data, "en"), on_prose(&data, "es")] {
        let mut desk = Desk::set_up(index.clone(), server.url(), &set[0]);
        desk.assistant.definition.limits.patience_seconds = 0;
        let desk = Desk::of(desk).await;
        let (mut shown, mut alone, mut letters, mut sources_shown) = (0, 0, Vec::new(), 0);
        for asked in &set {
            desk.ask(asked).await;
            let sources = seen.lock().unwrap().clone();
            let is_shown = if asked.row.is_empty() {
                let sources = plain(&sources);
                asked.right.iter().any(|right| sources.contains(&plain(right)))
            } else {
                let codes = sources.split("Subheading: ").skip(1).filter_map(|rest| rest.lines().next());
                let codes: Vec<&str> = codes.collect();
                let is_right = |code: &&str| code.starts_with(&asked.row);
                alone += usize::from(!codes.is_empty() && codes.iter().all(is_right));
                codes.iter().any(is_right)
            };
            shown += usize::from(is_shown);
            letters.push(sources.len());
            sources_shown += sources.matches("<source ").count();
            if !is_shown {
                println!("not shown: {} {:?}", asked.question, asked.right);
            }
        }
        letters.sort_unstable();
        let (middle, each) = (letters[letters.len() / 2], sources_shown as f64 / set.len() as f64);
        println!("| {} | {} | {shown} | {alone} | {middle} | {each:.1} |", set[0].set, set.len());
    }
}

/// What became of one question.
#[derive(Clone, Serialize, Deserialize)]
struct Graded {
    set: String,
    question: String,
    right: Vec<String>,
    answer: String,
    is_right: bool,
    cited: bool,
    refused: bool,
    warnings: Vec<String>,
    tokens: u64,
    cached: u64,
    calls: usize,
    first_word: f64,
    seconds: f64,
}

impl Graded {
    fn is_flagged(&self) -> bool {
        !self.warnings.is_empty()
    }
}

/// What became of the questions so far, in the file that `IBID_RESULTS` names, so that hours of work can be gone on with.
struct Results {
    known: Vec<Graded>,
    file: Option<PathBuf>,
}

impl Results {
    fn open() -> Self {
        let file = std::env::var_os("IBID_RESULTS").map(PathBuf::from);
        let lines = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        Self { known: lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(), file }
    }

    fn of(&self, asked: &Asked) -> Option<Graded> {
        self.known.iter().find(|one| one.set == asked.set && one.question == asked.question).cloned()
    }

    #[allow(clippy::print_stdout, reason = "the answers are for whoever looks")]
    fn take(&mut self, graded: Graded) -> Graded {
        let line = serde_json::to_string(&graded).unwrap();
        println!("{line}");
        if let Some(file) = &self.file {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
            writeln!(file, "{line}").unwrap();
        }
        graded
    }
}

/// Where all questions of a set are asked: it learns how fast the model is.
struct Desk {
    stage: Stage,
    engine: LocalEngine,
    _folder: tempfile::TempDir,
}

impl Desk {
    fn set_up(index: Arc<dyn Index>, url: String, asked: &Asked) -> Stage {
        let mut stage = Stage::of(asked.assistant, index, url);
        (stage.context, stage.is_near) = (CONTEXT, true);
        stage.assistant.definition.corpora = vec![asked.corpus.parse().unwrap()];
        stage.assistant.definition.limits.answer_tokens = Some(ANSWER);
        stage
    }

    async fn of(stage: Stage) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = stage.engine(&folder.path().join("engine.db")).await;
        Self { stage, engine, _folder: folder }
    }

    async fn ask(&self, asked: &Asked) -> Graded {
        one(&self.stage, &self.engine, asked).await
    }
}

async fn one(stage: &Stage, engine: &LocalEngine, asked: &Asked) -> Graded {
    let began = Instant::now();
    let run = stage.submit(engine, ThreadId::new(), &asked.question, &[("mode", asked.mode)]).await;
    let shared: Arc<dyn Engine> = Arc::new(engine.clone());
    let mut events = turn_events(&shared, &scope(), run, 0).await.unwrap();
    let (mut first_word, mut tokens, mut cached, mut calls) = (None, 0, 0, 0);
    let mut answer: Option<Message> = None;
    while let Some(event) = events.next().await {
        match event.unwrap().event {
            TurnEvent::Token { .. } => {
                first_word.get_or_insert(began.elapsed());
            }
            TurnEvent::ModelUsage(used) => {
                tokens += used.usage.input_tokens;
                cached += used.usage.cached_tokens;
                calls += 1;
            }
            TurnEvent::Ended { message, error, .. } => {
                assert_eq!(error, None, "{}", asked.question);
                answer = message.map(|message| *message);
            }
            _ => {}
        }
    }
    let answer = answer.expect("a turn ends with an answer");
    let fields = answer.additional_fields();
    let list = |name: &str| fields.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let texts = list("warnings");
    let warnings = texts.iter().filter_map(|warning| warning["text"].as_str().map(str::to_owned));
    let cited = list("citations").iter().any(|citation| citation["found"] != "not_found");
    let refused = fields.get("unanswered").is_some_and(|unanswered| unanswered == true);
    Graded {
        set: asked.set.to_owned(),
        question: asked.question.clone(),
        right: asked.right.clone(),
        is_right: asked.is_right(&answer.text, refused),
        answer: answer.text,
        cited,
        refused,
        warnings: warnings.collect(),
        tokens,
        cached,
        calls,
        first_word: first_word.unwrap_or_else(|| began.elapsed()).as_secs_f64(),
        seconds: began.elapsed().as_secs_f64(),
    }
}

impl Asked {
    /// Whether an answer says what is right, and not something else first; or that it is not known, if that is right.
    fn is_right(&self, answer: &str, refused: bool) -> bool {
        if self.right.is_empty() {
            return refused;
        }
        let answer = plain(answer);
        let place = |text: &String| answer.find(&plain(text));
        let Some(right) = self.right.iter().filter_map(place).min() else { return false };
        self.wrong.iter().filter_map(place).all(|wrong| right <= wrong)
    }
}

/// A text by its words, with a space around each: 2% is not in 12%.
fn plain(text: &str) -> String {
    let folded: String = text
        .to_lowercase()
        .chars()
        .map(|letter| match letter {
            '\u{e1}' => 'a',
            '\u{e9}' => 'e',
            '\u{ed}' => 'i',
            '\u{f3}' => 'o',
            '\u{fa}' | '\u{fc}' => 'u',
            other => other,
        })
        .collect();
    let words = folded
        .split(|letter: char| !letter.is_alphanumeric() && !"%.,$/+\u{a2}".contains(letter))
        .map(|word| word.trim_matches(|letter| ".,".contains(letter)))
        .filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

/// The questions on the tariff schedule whose rate is known, by code; and by what the row says, if it says something.
fn on_tariffs(data: &Path) -> (Vec<Asked>, Vec<Asked>) {
    let gold = std::fs::read_to_string(data.join("trade_compliance/gold/hts_gold.jsonl")).unwrap();
    let gold = gold.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let asked = |line: &Value, set: &'static str, question: String| {
        let (right, column2) = (text(line, "answer"), text(line, "column2"));
        let wrong = [column2, "Free".to_owned()].into_iter().filter(|other| *other != right).collect();
        let (assistant, mode) = ("trade-compliance", "standard");
        let row = text(line, "hts");
        Asked { set, corpus: "trade", assistant, mode, question, row, wrong, right: vec![right] }
    };
    let gold: Vec<Value> = gold.filter(|line| line["page"].is_u64()).collect();
    let by_code = gold.iter().map(|line| asked(line, "trade", text(line, "question")));
    let by_description = gold.iter().filter_map(|line| {
        let described = text(line, "description");
        // What is said before the first semicolon, from the row up; nobody asks for "Other".
        let parts = described.split(" > ").map(|part| part.split(';').next().unwrap_or(part).trim());
        let mut parts = parts.collect::<Vec<_>>().into_iter().rev();
        let own = parts.next().filter(|own| !own.starts_with("Other"))?;
        let over: Vec<&str> = parts.filter(|part| *part != "Other").collect();
        let question = format!("What is the column 1 general rate of duty for {own}, {}?", over.join(", "));
        Some(asked(line, "trade-described", question))
    });
    (by_code.collect(), by_description.collect())
}

/// Questions of XQuAD, evenly over the whole.
fn on_prose(data: &Path, language: &'static str) -> Vec<Asked> {
    let mut all = Vec::new();
    for article in articles(data, language) {
        for paragraph in article["paragraphs"].as_array().unwrap() {
            for asked in paragraph["qas"].as_array().unwrap() {
                let right = asked["answers"].as_array().unwrap().iter();
                all.push(Asked {
                    set: if language == "es" { "prose-es" } else { "prose-en" },
                    corpus: if language == "es" { "prose-es" } else { "prose-en" },
                    assistant: "policy-desk",
                    mode: "rag",
                    question: asked["question"].as_str().unwrap().to_owned(),
                    row: String::new(),
                    right: right.filter_map(|one| Some(one["text"].as_str()?.to_owned())).collect(),
                    wrong: Vec::new(),
                });
            }
        }
    }
    let step = all.len() / ON_PROSE;
    all.into_iter().step_by(step).take(ON_PROSE).collect()
}

/// Questions of SQuAD 2.0 on the same articles that they do not answer, evenly over the whole. Of a question that is asked of two
/// articles, one may answer it.
fn unanswerable(data: &Path) -> Vec<Asked> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let titles: Vec<String> = articles(data, "en").iter().map(|article| text(article, "title")).collect();
    let squad = std::fs::read(data.join("squad2/dev-v2.0.json")).unwrap();
    let squad: Value = serde_json::from_slice(&squad).unwrap();
    let of_same = |article: &&Value| titles.contains(&text(article, "title"));
    let paragraphs = squad["data"].as_array().unwrap().iter().filter(of_same);
    let paragraphs = paragraphs.flat_map(|article| article["paragraphs"].as_array().unwrap());
    let questions = paragraphs.flat_map(|paragraph| paragraph["qas"].as_array().unwrap());
    let questions: Vec<&Value> =
        questions.filter(|asked| asked["answers"] == serde_json::json!([])).collect();
    let asked = |question: &&Value| Asked {
        set: "prose-unanswerable",
        corpus: "prose-en",
        assistant: "policy-desk",
        mode: "rag",
        question: text(question, "question"),
        row: String::new(),
        right: Vec::new(),
        wrong: Vec::new(),
    };
    questions.iter().step_by(questions.len() / ON_PROSE).take(ON_PROSE).map(asked).collect()
}

fn articles(data: &Path, language: &str) -> Vec<Value> {
    let file = data.join(format!("xquad/xquad.{language}.json"));
    let mut all: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    all["data"].take().as_array().cloned().unwrap()
}

/// Where the test sets are.
pub(crate) fn data() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    std::env::var_os("IBID_DATA").map_or_else(usual, PathBuf::from)
}

/// The documents of all questions, loaded once and kept.
async fn library(data: &Path) -> Search {
    let home = PathBuf::from(std::env::var("HOME").unwrap());
    let folder = home.join(".cache/ibid/eval/answers");
    let (embedder, complete) = (embedder(), folder.join("complete"));
    if !complete.exists() {
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        let store = open(&folder, embedder.as_ref()).await;
        let ingestion = Ingestion::new(store.clone(), embedder.clone(), reader());
        for chapter in CHAPTERS {
            let name = format!("Chapter_{chapter}.pdf");
            let bytes = std::fs::read(data.join("trade_compliance/hts/pdf/chapter").join(&name)).unwrap();
            load(&ingestion, "trade", &name, None, "hts_schedule", &bytes).await;
        }
        for language in ["en", "es"] {
            for (number, article) in articles(data, language).iter().enumerate() {
                let title = article["title"].as_str().unwrap().replace('_', " ");
                let paragraphs = article["paragraphs"].as_array().unwrap().iter();
                let text: Vec<&str> =
                    paragraphs.filter_map(|paragraph| paragraph["context"].as_str()).collect();
                let (corpus, name) = (format!("prose-{language}"), format!("article-{number}.md"));
                let text = text.join("\n\n");
                load(&ingestion, &corpus, &name, Some(&title), "general", text.as_bytes()).await;
            }
        }
        store.maintain().await.unwrap();
        std::fs::write(complete, "").unwrap();
    }
    Search::new(open(&folder, embedder.as_ref()).await, embedder)
}
