//! Every example question of the reference assistants, with a real model. It takes long: `just eval-examples`.

use std::sync::Arc;
use std::time::Instant;

use ibid_assistants::TEXT;
use ibid_core::ThreadId;
use ibid_core::evidence::Index;
use ibid_testkit::RealServer;
use serde_json::Value;

use crate::library::search;
use crate::stage::{Stage, played};

/// What the model is given to read and to write: it reads 40 tokens a second here.
const CONTEXT: usize = 3072;
const ANSWER: usize = 400;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes half an hour: `just eval-examples`"]
#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn every_example_question_ends_with_a_valid_answer() {
    let index = search().await;
    let index: Arc<dyn Index> = Arc::new(index);
    let server = tokio::task::spawn_blocking(RealServer::large).await.unwrap();
    let only = std::env::var("IBID_ONLY").unwrap_or_default();
    println!(
        "| assistant | mode | format | seconds | tools | citations | found | warnings |\n|---|---|---|---:|---|---:|---:|---:|"
    );
    let mut worked = 0;
    for name in ["trade-compliance", "policy-desk", "fintech"] {
        if !only.is_empty() && only != name {
            continue;
        }
        let mut stage = Stage::of(name, index.clone(), server.url());
        (stage.context, stage.is_near) = (CONTEXT, true);
        stage.assistant.definition.limits.answer_tokens = Some(ANSWER);
        stage.assistant.definition.limits.rounds = 2;
        let definition = stage.assistant.definition.clone();
        let examples = definition.examples.iter().enumerate();
        for (number, question) in examples {
            let format = &definition.formats[number % definition.formats.len()];
            // The first mode, and for one question each of the others.
            let mode = &definition.modes[if number == 3 { definition.modes.len().min(2) - 1 } else { 0 }];
            worked += one(&stage, question, &mode.name, format).await;
        }
    }
    assert!(worked > 0 || !only.is_empty(), "no tool that the model called has worked");
}

#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn one(stage: &Stage, question: &str, mode: &str, format: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let engine = stage.engine(&folder.path().join("engine.db")).await;
    let (thread, began) = (ThreadId::new(), Instant::now());
    let run = stage.submit(&engine, thread, question, &[("mode", mode), ("format", format)]).await;
    let came = played(&engine, run).await;
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(came.error, None, "{question}");
    let message = came.message.as_ref().unwrap();
    assert!(!message.text.trim().is_empty(), "{question}");
    let fields = message.additional_fields();
    let list = |name: &str| fields[name].as_array().cloned().unwrap_or_default();
    let (citations, warnings) = (list("citations"), list("warnings"));
    // Every citation is resolved, or it is flagged.
    let sources: Vec<Value> = list("sources").iter().map(|source| source["number"].clone()).collect();
    for citation in &citations {
        assert!(sources.contains(&citation["source"]), "{citation}");
        let missed = citation["found"] == "not_found";
        assert!(
            !missed || warnings.iter().any(|warning| warning["kind"] == "quote_not_found"),
            "{warnings:?}"
        );
    }
    if format != TEXT {
        let structured = &fields["structured"];
        assert_eq!(structured["schema_version"], "1.0", "{structured}");
        assert!(structured["answer"].is_string() && structured["citations"].is_array(), "{structured}");
    }
    let results = came.told("tool_result");
    assert_eq!(came.told("tool_call").len(), results.len(), "{results:?}");
    let tools: Vec<String> = results
        .iter()
        .map(|result| {
            let name = result["name"].as_str().unwrap_or_default();
            result["error"].as_str().map_or_else(|| name.to_owned(), |error| format!("{name} ({error})"))
        })
        .collect();
    let found = citations
        .iter()
        .filter(|citation| citation["found"] == "exact" || citation["found"] == "fuzzy")
        .count();
    println!(
        "| {} | {mode} | {} | {seconds:.0} | {} | {} | {found} | {} |",
        stage.assistant.name,
        format,
        tools.join(", "),
        citations.len(),
        warnings.len()
    );
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    println!("<!-- {} -> {} -->", flat(question), flat(&message.text).chars().take(240).collect::<String>());
    engine.close().await;
    results.iter().filter(|result| result["error"].is_null()).count()
}
