//! A turn that is killed at any step goes on without asking a model again what it has answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ibid_core::ThreadId;
use ibid_core::catalogue::Catalogues;
use ibid_core::evidence::Index;
use ibid_engine::{Engine, RunStatus};
use ibid_testkit::{Reply, Script, ScriptedServer, Seen};
use serde_json::json;

use crate::library::{cached_answers, search};
use crate::stage::{Stage, played, scope};

/// What the model says to each kind of request, by a text that only that request holds.
fn script(seen: &Seen) -> Reply {
    let shown = seen.body["messages"].to_string();
    let has_results = shown.contains("\"role\":\"tool\"");
    if shown.contains("You sort the messages") {
        let intent = if shown.contains("And for lamps") { "financing" } else { "buy" };
        Reply::text(&json!({ "intent": intent }).to_string())
    } else if shown.contains("looks for something in a catalogue") {
        let criteria = json!([{ "field": "body", "words": "SUV" }]);
        Reply::text(&json!({ "criteria": criteria, "start_over": false }).to_string())
    } else if shown.contains("The person asks for instalments") {
        let said = json!({ "option": "the first one", "price": "", "down_payment": "", "months": "" });
        Reply::text(&said.to_string())
    } else if shown.contains("follows below your words") {
        Reply::text("Here you are.")
    } else if shown.contains("Plan how to answer") {
        let inputs = json!([{ "name": "query", "value": "lamps" }]);
        let step = json!({
            "number": 1, "action": "search_documents", "reasoning": "", "description": "search", "inputs": inputs,
        });
        Reply::text(&json!({ "steps": [step] }).to_string())
    } else if shown.contains("Gather what is needed") && !has_results {
        Reply::calls(&[("search_documents", json!({ "query": "LED lamps 8539.52" }))])
    } else if shown.contains("Gather what is needed") {
        Reply::text("ready")
    } else if shown.contains("whether it helps to answer") {
        Reply::text(&json!({ "passages": [] }).to_string())
    } else if shown.contains("whether the sources say it") {
        Reply::text(&json!({ "sentences": [{ "number": 1, "supported": true }] }).to_string())
    } else if shown.contains("whether the answer answers") {
        // The first turn ends with its first answer, which is kept; the second goes round again.
        let answers = !shown.contains("LED lamps");
        Reply::text(&json!({ "answers": answers, "missing": "the rate of other lamps" }).to_string())
    } else if shown.contains("other searches that may find") {
        let round = shown.matches("other lamps").count();
        Reply::text(&json!({ "searches": [format!("other lamps, heading 85{round}")] }).to_string())
    } else if shown.contains("can be understood without the conversation") {
        Reply::text("What is the rate for LED lamps?")
    } else {
        Reply::text("The rate is 2% [1].")
    }
    .every(Duration::from_millis(3))
}

/// Runs a turn and drops the engine's whole runtime, as a kill would, after so many requests and so long. Returns how many
/// requests were made that were made before.
async fn killed_at(
    index: Arc<dyn Index>,
    catalogues: Option<Arc<dyn Catalogues>>,
    assistant: &str,
    mode: &str,
    requests: usize,
    wait: Duration,
) -> usize {
    let asked: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let own = asked.clone();
    let server = ScriptedServer::start(Script::new().by(move |seen| {
        let request = seen.body["messages"].to_string();
        *own.lock().unwrap().entry(request).or_default() += 1;
        script(seen)
    }))
    .await;
    let mut stage = Stage::of(assistant, index, server.url());
    if mode == "concierge" {
        stage.catalogues = catalogues;
    }
    if mode == "research" {
        // An answer is looked up and kept as well, but none of an earlier turn is found.
        stage.assistant.definition.description = ThreadId::new().to_string();
        stage.caching(Arc::new(cached_answers().await));
    }
    // One passage is one call, so that a step that was under way is one call.
    stage.assistant.definition.retrieval.top =
        if mode == "research" { 1 } else { stage.assistant.definition.retrieval.top };
    let stage = Arc::new(stage);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("engine.db");
    let thread = ThreadId::new();
    let (own, path, mode) = (stage.clone(), file.clone(), mode.to_owned());
    // A runtime of its own, which ends in the middle of whatever it does.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let begun = runtime.spawn(async move {
        let engine = own.engine(&path).await;
        // A concierge takes nothing for a wish that the person did not say.
        let first =
            if mode == "concierge" { "I am looking for an SUV" } else { "What is the rate for LED modules?" };
        for say in [first, "And for lamps?"] {
            let run = own.submit(&engine, thread, say, &[("mode", &mode)]).await;
            played(&engine, run).await;
        }
    });
    while server.seen().len() < requests && !begun.is_finished() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(wait).await;
    runtime.shutdown_background();
    tokio::time::sleep(Duration::from_millis(50)).await;

    // What was finished before the kill is not asked again; what was under way may be asked once more.
    let engine = stage.engine(&file).await;
    let runs = engine.runs(&scope(), thread).await.unwrap_or_default();
    for run in &runs {
        played(&engine, run.id).await;
        let ended = engine.run(&scope(), run.id).await.unwrap();
        assert_eq!(ended.status, RunStatus::Done, "{:?}", ended.error);
    }
    let again: usize = asked.lock().unwrap().values().map(|times| times - 1).sum();
    engine.close().await;
    again
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_turn_asks_no_model_twice_for_a_finished_step() {
    let index = search().await;
    let index: Arc<dyn Index> = Arc::new(index);
    let assistants = [
        ("trade-compliance", "standard", 3),
        ("trade-compliance", "agentic", 8),
        ("research", "research", 10),
        ("car-sales", "concierge", 6),
    ];
    let port: Option<Arc<dyn Catalogues>> = Some(crate::showroom::catalogues().await);
    for (assistant, mode, calls) in assistants {
        // Rounds may be alike: what is asked again without a kill is not asked because of one.
        let alike = killed_at(index.clone(), port.clone(), assistant, mode, usize::MAX, Duration::ZERO).await;
        for requests in 1..=calls {
            for wait in [0, 4, 12] {
                let wait = Duration::from_millis(wait);
                let again = killed_at(index.clone(), port.clone(), assistant, mode, requests, wait).await;
                let more = again.saturating_sub(alike);
                assert!(
                    more <= 1,
                    "{more} requests of {mode} were made again after a kill at request {requests}"
                );
            }
        }
    }
}
