//! A small model on a machine that is busy: it answers, people see how far it is, nothing is asked twice, and nothing that is
//! right is doubted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ibid_core::evidence::{DocumentId, Index};
use ibid_core::{ThreadId, TurnEvent};
use ibid_knowledge::{Ingestion, Search};
use ibid_testkit::RealServer;
use serde_json::Value;

use crate::answers::data;
use crate::library::{embedder, load, open, reader};
use crate::stage::{Played, Stage, played, scope};

const CONTEXT: usize = 4096;
const ANSWER: usize = 250;
/// Whoever waits longer is to see why.
const LONG: u64 = 6;

/// Keeps a core busy as long as it is there.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn start() -> Self {
        let on = Arc::new(AtomicBool::new(true));
        let own = on.clone();
        std::thread::spawn(move || {
            while own.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self(on)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the test sets beside the project; `.ci/run` runs it by name"]
#[allow(clippy::print_stdout, reason = "the answers are for whoever looks")]
async fn a_small_model_on_a_busy_machine_answers_on_test_sets() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = embedder();
    let store = open(folder.path(), embedder.as_ref()).await;
    let ingestion = Ingestion::new(store.clone(), embedder.clone(), reader());
    let chapter = data().join("trade_compliance/hts/pdf/chapter/Chapter_85.pdf");
    let bytes = std::fs::read(chapter).unwrap();
    Box::pin(load(&ingestion, "trade", "Chapter_85.pdf", None, "hts_schedule", &bytes)).await;
    let index: Arc<dyn Index> = Arc::new(Search::new(store, embedder));
    let server = tokio::task::spawn_blocking(RealServer::large).await.unwrap();
    let _busy = Busy::start();
    let ask = async |assistant: &str, question: &str| {
        let mut stage = Stage::of(assistant, index.clone(), server.url());
        (stage.context, stage.is_near) = (CONTEXT, true);
        stage.assistant.definition.limits.answer_tokens = Some(ANSWER);
        let folder = tempfile::tempdir().unwrap();
        let engine = stage.engine(&folder.path().join("engine.db")).await;
        let began = Instant::now();
        let run = stage.submit(&engine, ThreadId::new(), question, &[]).await;
        let came = played(&engine, run).await;
        engine.close().await;
        let seconds = began.elapsed().as_secs();
        println!("{seconds} s, {}", summary(&came));
        check(index.as_ref(), &came, seconds).await;
        came
    };

    for (question, right) in [
        ("What is the general rate of duty for LED lamps?", "2%"),
        ("What is the general rate of duty for nickel-cadmium storage batteries of 8507.30.80?", "2.5%"),
    ] {
        let came = ask("trade-compliance", question).await;
        let message = came.message.as_ref().unwrap();
        if message.text.contains(right) && !message.text.contains("[0]") {
            let fields = message.additional_fields();
            assert!(list(&fields, "citations").iter().any(|citation| citation["found"] != "not_found"));
            assert!(list(&fields, "warnings").is_empty(), "{fields:?}");
        }
    }
    let came = ask("trade-compliance", "@Chapter_85.pdf what does note 2 say?").await;
    let fields = came.message.as_ref().unwrap().additional_fields();
    assert!(list(&fields, "sources").iter().all(|source| source["title"] == "Chapter_85.pdf"), "{fields:?}");

    let came = ask("fintech", "hola").await;
    assert_eq!(came.path(), ["route", "generate", "verify"]);
    assert_eq!(came.message.unwrap().additional_fields()["model_calls"], 1);
}

/// What holds for every turn.
async fn check(index: &dyn Index, came: &Played, seconds: u64) {
    assert_eq!(came.error, None);
    let message = came.message.as_ref().unwrap();
    assert!(!message.text.trim().is_empty());
    let again = came.events.iter().any(|event| match &event.event {
        TurnEvent::StepRetrying { .. } => true,
        TurnEvent::Status { text } => text.starts_with("asking the model again"),
        _ => false,
    });
    assert!(!again, "nothing is asked twice: {:?}", came.events);
    assert!(seconds < LONG || !came.told("reading").is_empty(), "it is told how far the model is");
    let fields = message.additional_fields();
    let mut read = String::new();
    for source in list(&fields, "sources") {
        let document = DocumentId(source["document_id"].as_str().unwrap().to_owned());
        let page = u32::try_from(source["page"].as_u64().unwrap()).unwrap();
        let chunks = index.page(&scope(), &document, page).await.unwrap();
        read.extend(chunks.into_iter().map(|chunk| chunk.text));
    }
    for warning in list(&fields, "warnings") {
        let about = warning["about"].as_str().unwrap_or("\0");
        assert!(!read.contains(about), "{warning} is about what stands in a source");
    }
}

fn summary(came: &Played) -> String {
    let message = came.message.as_ref().unwrap();
    let fields = message.additional_fields();
    format!(
        "{} calls, {} tokens read, {} citations, warnings {:?}: {}",
        fields["model_calls"],
        fields["usage"]["input_tokens"],
        list(&fields, "citations").len(),
        list(&fields, "warnings").iter().map(|warning| &warning["text"]).collect::<Vec<_>>(),
        message.text.replace('\n', " ")
    )
}

fn list(fields: &serde_json::Map<String, Value>, name: &str) -> Vec<Value> {
    fields.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
}
