//! A scenario: a conversation, what the model answers to each request, and what must come of it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ibid_core::catalogue::Catalogues;
use ibid_core::evidence::Index;
use ibid_core::{RunId, ThreadId};
use ibid_engine::{Engine, LocalEngine, RunStatus};
use ibid_testkit::{Reply, Script, ScriptedServer, Seen};
use serde::Deserialize;
use serde_json::Value;

use crate::stage::{Played, Stage, played, scope};

/// What a field is that is not there, since TOML has no word for it.
const NOTHING: &str = "(nothing)";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    assistant: String,
    mode: Option<String>,
    format: Option<String>,
    /// What the assistant does about what the guard finds.
    guard: Option<String>,
    /// What it may answer from.
    knowledge: Option<String>,
    /// The corpus that it searches instead of its own.
    corpus: Option<String>,
    /// How many passages it searches for.
    top: Option<usize>,
    turns: Vec<TurnOf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnOf {
    say: String,
    /// What the person answers each time that the turn asks.
    #[serde(default)]
    replies: Vec<Value>,
    /// The requests to models, in their order.
    #[serde(default)]
    model: Vec<Exchange>,
    /// The nodes that work.
    path: Vec<String>,
    /// What the answer has in it.
    #[serde(default)]
    answer: Vec<String>,
    /// The citations: how each was found, its page (0 if it has none), and what its snippet has in it.
    #[serde(default)]
    citations: Vec<(String, u64, String)>,
    /// The kinds of warnings, in their order.
    #[serde(default)]
    warnings: Vec<String>,
    /// What the warnings have in them.
    #[serde(default)]
    warned: Vec<String>,
    /// Fields of the message by their path, and what they are.
    #[serde(default)]
    fields: Vec<(String, Value)>,
    /// The tools that were called.
    #[serde(default)]
    tools: Vec<String>,
    /// Names of data that were told.
    #[serde(default)]
    told: Vec<String>,
    /// Why the turn failed.
    error: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    /// `strong` or `small`.
    of: String,
    /// What the request has in it.
    #[serde(default)]
    sees: Vec<String>,
    /// What it has not in it.
    #[serde(default)]
    misses: Vec<String>,
    /// What the model says. `{source: TEXT}` stands for the number of the source that has the text in it.
    says: Option<String>,
    /// The tools that it calls.
    #[serde(default)]
    calls: Vec<(String, Value)>,
    /// The status that the provider answers with.
    status: Option<u16>,
}

/// Plays every scenario of a graph.
pub(crate) async fn play_all(graph: &str, index: Arc<dyn Index>, catalogues: Option<Arc<dyn Catalogues>>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(graph);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "there are scenarios for {graph}");
    let mut failures = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let scenario: Scenario = toml::from_str(&std::fs::read_to_string(&file).unwrap())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let wrong = play(scenario, index.clone(), catalogues.clone()).await;
        failures.extend(wrong.into_iter().map(|wrong| format!("{graph}/{name}: {wrong}")));
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

async fn play(
    scenario: Scenario,
    index: Arc<dyn Index>,
    catalogues: Option<Arc<dyn Catalogues>>,
) -> Vec<String> {
    let script: Arc<Mutex<VecDeque<Exchange>>> = Arc::default();
    let faults: Arc<Mutex<Vec<String>>> = Arc::default();
    let server = {
        let (script, faults) = (script.clone(), faults.clone());
        ScriptedServer::start(Script::new().by(move |seen| answer(seen, &script, &faults))).await
    };
    let mut stage = Stage::of(&scenario.assistant, index, server.url());
    stage.catalogues = catalogues;
    if let Some(guard) = &scenario.guard {
        stage.assistant.definition.guard = serde_json::from_value(guard.as_str().into()).unwrap();
    }
    if let Some(knowledge) = &scenario.knowledge {
        stage.assistant.definition.knowledge = serde_json::from_value(knowledge.as_str().into()).unwrap();
    }
    if let Some(corpus) = &scenario.corpus {
        stage.assistant.definition.corpora = vec![corpus.parse().unwrap()];
    }
    let retrieval = &mut stage.assistant.definition.retrieval;
    retrieval.top = scenario.top.unwrap_or(retrieval.top);
    // One after the other, so that each gets the answer that is meant for it.
    stage.assistant.definition.corrective.parallel_calls = 1;
    let folder = tempfile::tempdir().unwrap();
    let engine = stage.engine(&folder.path().join("engine.db")).await;
    let thread = ThreadId::new();
    let mut options = Vec::new();
    options.extend(scenario.mode.as_deref().map(|mode| ("mode", mode)));
    options.extend(scenario.format.as_deref().map(|format| ("format", format)));
    let mut wrong = Vec::new();
    for (number, turn) in (1..).zip(scenario.turns) {
        script.lock().unwrap().extend(turn.model.iter().cloned());
        let run = stage.submit(&engine, thread, &turn.say, &options).await;
        for reply in &turn.replies {
            if asks(&engine, run).await {
                engine.resume(&scope(), run, reply.clone()).await.unwrap();
            }
        }
        if asks(&engine, run).await {
            wrong.push(format!("turn {number}: it asks once more"));
            break;
        }
        let came = played(&engine, run).await;
        let mut found = std::mem::take(&mut *faults.lock().unwrap());
        let left = std::mem::take(&mut *script.lock().unwrap());
        if !left.is_empty() {
            found.push(format!("{} requests to the model were not made", left.len()));
        }
        found.extend(compare(&turn, &came));
        wrong.extend(found.into_iter().map(|fault| format!("turn {number}: {fault}")));
    }
    engine.close().await;
    wrong
}

/// Waits until a turn asks a person. Says whether it did before it ended.
async fn asks(engine: &LocalEngine, run: RunId) -> bool {
    loop {
        match engine.run(&scope(), run).await.unwrap().status {
            RunStatus::Waiting => return true,
            status if status.is_final() => return false,
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

fn answer(seen: &Seen, script: &Mutex<VecDeque<Exchange>>, faults: &Mutex<Vec<String>>) -> Reply {
    let fault = |text: String| faults.lock().unwrap().push(text);
    let Some(exchange) = script.lock().unwrap().pop_front() else {
        fault(format!("a request to the model that nobody expected: {}", seen.body["messages"]));
        return Reply::status(400, "nobody expected this");
    };
    if seen.body["model"] != exchange.of.as_str() {
        fault(format!("the request went to {}, not {}", seen.body["model"], exchange.of));
    }
    for text in &exchange.sees {
        if !shown(seen).contains(text) {
            fault(format!("the request does not hold `{text}`: {}", shown(seen)));
        }
    }
    for text in &exchange.misses {
        if shown(seen).contains(text) {
            fault(format!("the request holds `{text}`"));
        }
    }
    if let Some(status) = exchange.status {
        return Reply::status(status, "as the scenario has it");
    }
    if !exchange.calls.is_empty() {
        let calls: Vec<(&str, Value)> =
            exchange.calls.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())).collect();
        return Reply::calls(&calls);
    }
    Reply::text(&numbered(&exchange.says.unwrap_or_default(), &shown(seen)))
}

/// Everything that the model is shown.
fn shown(seen: &Seen) -> String {
    let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
    let texts = messages.iter().filter_map(|message| message["content"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// Puts the numbers of sources in the place of what they have in them.
fn numbered(says: &str, shown: &str) -> String {
    let mut text = says.to_owned();
    while let Some(start) = text.find("{source: ") {
        let end = start + text[start..].find('}').expect("the brace is closed");
        let wanted = &text[start + "{source: ".len()..end];
        let sources = shown.split("<source number=\"").skip(1);
        let found =
            sources.filter(|source| source.split("</source>").next().unwrap_or_default().contains(wanted));
        let number = found.filter_map(|source| source.split('"').next()).next().unwrap_or("99").to_owned();
        text.replace_range(start..=end, &number);
    }
    text
}

fn compare(turn: &TurnOf, came: &Played) -> Vec<String> {
    let mut wrong = Vec::new();
    if came.path() != turn.path {
        wrong.push(format!("the path was {:?}", came.path()));
    }
    match (&came.error, &turn.error) {
        (None, None) => {}
        (Some(error), Some(expected)) if error.contains(expected) => return wrong,
        (error, _) => {
            wrong.push(format!("it ended with {error:?}"));
            return wrong;
        }
    }
    let Some(message) = &came.message else { return vec!["nothing was said".to_owned()] };
    for text in &turn.answer {
        if !message.text.contains(text) {
            wrong.push(format!("the answer has no `{text}`: {}", message.text));
        }
    }
    let list = |name: &str| {
        message.additional_fields().get(name).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let citations = list("citations");
    if citations.len() != turn.citations.len() {
        wrong.push(format!("there are {} citations: {citations:?}", citations.len()));
    }
    for (citation, (found, page, snippet)) in citations.iter().zip(&turn.citations) {
        let same_page = citation["page"].as_u64().unwrap_or_default() == *page;
        let says = citation["snippet"].as_str().is_some_and(|text| text.contains(snippet));
        if citation["found"] != found.as_str() || !same_page || !says {
            wrong.push(format!("a citation is not {found}, {page}, {snippet}: {citation}"));
        }
    }
    let warnings = list("warnings");
    let kinds: Vec<&str> = warnings.iter().filter_map(|warning| warning["kind"].as_str()).collect();
    if kinds != turn.warnings {
        wrong.push(format!("the warnings are {warnings:?}"));
    }
    for text in &turn.warned {
        if !warnings.iter().any(|warning| warning["text"].as_str().is_some_and(|told| told.contains(text))) {
            wrong.push(format!("no warning says `{text}`: {warnings:?}"));
        }
    }
    let extra = Value::Object(message.additional_fields());
    for (path, expected) in &turn.fields {
        let found = extra.pointer(path).cloned().unwrap_or_default();
        if found != *expected && !(expected == NOTHING && found.is_null()) {
            wrong.push(format!("{path} is {found}"));
        }
    }
    let called: Vec<String> = came
        .told("tool_call")
        .iter()
        .map(|call| call["name"].as_str().unwrap_or_default().to_owned())
        .collect();
    if called != turn.tools {
        wrong.push(format!("the tools called are {called:?}"));
    }
    for name in &turn.told {
        if came.told(name).is_empty() {
            wrong.push(format!("nothing was told of {name}"));
        }
    }
    wrong
}
