//! What a research costs beside its answer: grading passages in parallel, one after the other, and in one call.

use std::sync::Arc;
use std::time::Duration;

use ibid_core::{ThreadId, TurnEvent};
use ibid_testkit::{Reply, Script, ScriptedServer, Seen};
use serde_json::json;

use crate::library::search;
use crate::stage::{Played, Stage, played};

/// So long a model takes to answer.
const MODEL: Duration = Duration::from_millis(300);
/// So many passages are graded.
const PASSAGES: usize = 8;

fn model(seen: &Seen) -> Reply {
    let shown = seen.body["messages"].to_string();
    let reply = if shown.contains("whether it helps to answer") {
        Reply::text(&json!({ "passages": [] }).to_string())
    } else if shown.contains("whether the sources say it") {
        Reply::text(&json!({ "sentences": [{ "number": 1, "supported": true }] }).to_string())
    } else if shown.contains("whether the answer answers") {
        Reply::text(&json!({ "answers": true, "missing": "" }).to_string())
    } else {
        Reply::text("Records are kept for five years [1].")
    };
    reply.after(MODEL)
}

/// How long a node took, in milliseconds.
fn took(came: &Played, wanted: &str) -> u64 {
    let step = came.events.iter().find_map(|event| match &event.event {
        TurnEvent::StepStarted { node } if node == wanted => Some(event.step),
        _ => None,
    });
    let finished = came.events.iter().filter(|event| Some(event.step) == step);
    let milliseconds = finished.filter_map(|event| match &event.event {
        TurnEvent::StepFinished { milliseconds } => Some(*milliseconds),
        _ => None,
    });
    milliseconds.max().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement: `just bench-research`"]
#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn grading_in_parallel_and_one_after_the_other() {
    let index = Arc::new(search().await);
    println!(
        "\n| calls at once | passages in a call | calls | grading | the turn |\n|---:|---:|---:|---:|---:|"
    );
    for (at_once, in_a_call) in [(1, 1), (4, 1), (8, 1), (1, PASSAGES)] {
        let models = ScriptedServer::start(Script::new().by(model)).await;
        let mut stage = Stage::of("research", index.clone(), models.url());
        stage.assistant.definition.retrieval.top = PASSAGES;
        stage.assistant.definition.retrieval.neighbours = 0;
        stage.assistant.definition.corrective.parallel_calls = at_once;
        stage.assistant.definition.corrective.passages_per_call = in_a_call;
        let folder = tempfile::tempdir().unwrap();
        let engine = stage.engine(&folder.path().join("engine.db")).await;
        let began = std::time::Instant::now();
        let run = stage.submit(&engine, ThreadId::new(), "How long are records kept?", &[]).await;
        let came = played(&engine, run).await;
        let whole = began.elapsed().as_millis();
        let calls = models
            .seen()
            .iter()
            .filter(|seen| seen.body["messages"].to_string().contains("whether it helps"))
            .count();
        println!("| {at_once} | {in_a_call} | {calls} | {} ms | {whole} ms |", took(&came, "grade"));
        engine.close().await;
    }
}
