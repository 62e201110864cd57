//! How many turns go the right way with a real small model: greetings, general questions and questions on the documents,
//! under each setting of what an assistant may answer from. It takes long: `just eval-knowledge`.

use std::sync::Arc;
use std::time::Instant;

use ibid_assistants::definition::Knowledge;
use ibid_core::ThreadId;
use ibid_testkit::RealServer;
use serde_json::Value;

use crate::library::search;
use crate::stage::{Stage, played};

const QUESTIONS: [(&str, &str); 3] = [
    ("greetings", include_str!("../questions/greetings.txt")),
    ("general", include_str!("../questions/general.txt")),
    ("documents", include_str!("../questions/documents.txt")),
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes long: `just eval-knowledge`"]
#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn turns_go_the_right_way() {
    let most: usize = std::env::var("IBID_TURNS").ok().and_then(|most| most.parse().ok()).unwrap_or(40);
    let server = tokio::task::spawn_blocking(RealServer::large).await.unwrap();
    println!("| knowledge | turns | the right way | seconds each |\n|---|---|---|---|");
    for knowledge in [Knowledge::Documents, Knowledge::DocumentsFirst, Knowledge::Open] {
        let mut stage = Stage::of("policy-desk", Arc::new(search().await), server.url());
        (stage.context, stage.is_near) = (4096, true);
        stage.assistant.definition.knowledge = knowledge;
        // Enough to see which way a turn goes.
        stage.assistant.definition.limits.answer_tokens = Some(60);
        stage.assistant.definition.retrieval.top = 2;
        stage.assistant.definition.retrieval.neighbours = 0;
        let folder = tempfile::tempdir().unwrap();
        let engine = stage.engine(&folder.path().join("engine.db")).await;
        let wanted = std::env::var("IBID_KINDS").unwrap_or_default();
        for (kind, questions) in
            QUESTIONS.into_iter().filter(|(kind, _)| wanted.is_empty() || wanted.contains(kind))
        {
            let (began, mut right, mut wrong) = (Instant::now(), 0, Vec::new());
            let questions: Vec<&str> = questions.lines().take(most).collect();
            for question in &questions {
                let run = stage.submit(&engine, ThreadId::new(), question, &[]).await;
                let came = played(&engine, run).await;
                let path = came.path();
                let fields = came.message.map(|message| message.additional_fields()).unwrap_or_default();
                let searched = path.iter().any(|node| node == "retrieve");
                let list =
                    |name: &str| fields.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
                let cites = list("citations").iter().any(|citation| citation["found"] != "not_found");
                let marked = list("warnings").iter().any(|warning| warning["kind"] == "not_from_documents");
                let unanswered = fields.get("unanswered").is_some_and(|unanswered| unanswered == true);
                let is_right = match (kind, knowledge) {
                    ("greetings", _) => path == ["route", "generate", "verify"],
                    ("general", Knowledge::Documents) => {
                        !cites && (unanswered || marked || !list("warnings").is_empty())
                    }
                    ("general", Knowledge::DocumentsFirst) => !cites && (marked || unanswered),
                    ("general", _) => !cites,
                    _ => searched,
                };
                right += usize::from(is_right);
                if !is_right {
                    wrong.push(*question);
                }
            }
            let each = began.elapsed().as_secs_f64() / questions.len() as f64;
            println!("| {knowledge:?} | {} {kind} | {right} | {each:.1} |", questions.len());
            println!("  not so: {wrong:?}");
        }
        engine.close().await;
    }
}
