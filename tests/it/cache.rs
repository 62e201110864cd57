//! Verified answers that are given again: only to the same question, to whoever may see the same, while nothing behind them has
//! changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ibid_assistants::definition::{GraphKind, Mode};
use ibid_core::cache::AnswerCache;
use ibid_core::model::Embedder;
use ibid_core::{Message, ThreadId};
use ibid_engine::LocalEngine;
use ibid_knowledge::{ActiveLoads, CachedAnswers, Ingestion, Search, Store};
use ibid_testkit::{Reply, Script, ScriptedServer, Seen};
use serde_json::json;

use crate::library::{embedder, load, open, reader};
use crate::stage::{Played, Stage, played, scope};

const QUESTION: &str = "How long must invoices be kept?";
const RULES: &str =
    "# Records\n\nInvoices must be kept for five years. Nobody may destroy an invoice before that.";

/// What the models say: everything holds, and the answer is a sentence of the source.
fn model(seen: &Seen) -> Reply {
    let shown = seen.body["messages"].to_string();
    if shown.contains("whether it helps to answer") {
        Reply::text(&json!({ "passages": [] }).to_string())
    } else if shown.contains("whether the sources say it") {
        Reply::text(&json!({ "sentences": [{ "number": 1, "supported": true }] }).to_string())
    } else if shown.contains("whether the answer answers") {
        Reply::text(&json!({ "answers": true, "missing": "" }).to_string())
    } else if shown.contains("can be understood without the conversation") {
        Reply::text(QUESTION)
    } else if shown.contains("for five years") {
        Reply::text("Invoices must be kept for five years [1].")
    } else {
        Reply::text("Invoices must be kept for ten years [1].")
    }
}

struct Scene {
    stage: Stage,
    engine: LocalEngine,
    store: Arc<Store>,
    ingestion: Ingestion,
    cache: Arc<CachedAnswers>,
    models: ScriptedServer,
    is_down: Arc<AtomicBool>,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn of(graph: GraphKind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let embedder: Arc<dyn Embedder> = embedder();
        let store = open(&folder.path().join("store"), embedder.as_ref()).await;
        let ingestion = Ingestion::new(store.clone(), embedder.clone(), reader());
        let is_down: Arc<AtomicBool> = Arc::default();
        let down = is_down.clone();
        let models = ScriptedServer::start(Script::new().by(move |seen| {
            if down.load(Ordering::Relaxed) { Reply::status(503, "down") } else { model(seen) }
        }))
        .await;
        let cache = Arc::new(CachedAnswers::new(store.clone(), embedder.clone()));
        let index = Arc::new(Search::new(store.clone(), embedder));
        let mut stage = Stage::of("research", index, models.url());
        stage.assistant.definition.modes = vec![Mode { name: "only".to_owned(), graph, intent: None }];
        stage.assistant.definition.corpora = vec!["rules".parse().unwrap()];
        stage.caching(cache.clone());
        stage.is_impatient = true;
        let engine = stage.engine(&folder.path().join("engine.db")).await;
        let scene = Self { stage, engine, store, ingestion, cache, models, is_down, _folder: folder };
        scene.load("records.md", RULES).await;
        scene
    }

    async fn load(&self, name: &str, text: &str) {
        load(&self.ingestion, "rules", name, None, "general", text.as_bytes()).await;
    }

    async fn ask_in(&self, thread: ThreadId, question: &str, options: &[(&str, &str)]) -> Played {
        let run = self.stage.submit(&self.engine, thread, question, options).await;
        played(&self.engine, run).await
    }

    /// Asks in a conversation of its own. Returns the answer, and whether it was given before.
    async fn ask(&self, question: &str, options: &[(&str, &str)]) -> (Message, bool) {
        let calls = self.models.seen().len();
        let came = self.ask_in(ThreadId::new(), question, options).await;
        let message = came.message.clone().unwrap_or_else(|| panic!("{question}: {:?}", came.error));
        let cached = message.metadata.as_ref().unwrap().cached.is_some();
        assert_eq!(cached, self.models.seen().len() == calls, "{question}: a hit asks no model, a miss does");
        assert_eq!(cached, !came.told("cached").is_empty());
        (message, cached)
    }

    async fn is_cached(&self, question: &str) -> bool {
        self.ask(question, &[]).await.1
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_question_is_answered_again_without_a_model() {
    let scene = Scene::of(GraphKind::Corrective).await;
    let (first, cached) = scene.ask(QUESTION, &[]).await;
    assert!(!cached && first.text.contains("five years"), "{}", first.text);
    let (again, cached) = scene.ask("how long must invoice be kept, please", &[]).await;
    assert!(cached);
    assert_eq!(again.text, first.text);
    let (first, again) = (first.metadata.unwrap(), again.metadata.unwrap());
    assert_eq!(again.citations, first.citations, "with its citations");
    assert_eq!((again.model_calls, again.usage.output_tokens), (0, 0));
    let from = again.cached.unwrap();
    assert_eq!((from.question.as_str(), from.similar), (QUESTION, false));
    assert!(from.answered_at.ends_with('Z') && from.answered_at.len() == 20, "{}", from.answered_at);

    for other in [
        "How long must invoices not be kept?",
        "How long must receipts be kept?",
        "How long must invoices be kept in 2024?",
        "How long may invoices be kept?",
    ] {
        assert!(!scene.is_cached(other).await, "{other}");
    }
    assert!(!scene.ask(QUESTION, &[("cache", "off")]).await.1, "unless it is to be asked anew");
    scene.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_is_looked_up_as_the_question_that_it_stands_for() {
    let scene = Scene::of(GraphKind::Conversational).await;
    assert!(!scene.is_cached(QUESTION).await);
    let thread = ThreadId::new();
    scene.ask_in(thread, "Who may destroy invoices?", &[]).await;
    let came = scene.ask_in(thread, "And how long are they kept?", &[]).await;
    assert_eq!(came.path(), ["condense", "look_up"]);
    let metadata = came.message.unwrap().metadata.unwrap();
    assert_eq!(metadata.model_calls, 1, "only the question was made to stand alone");
    assert_eq!(metadata.cached.unwrap().question, QUESTION);
    // What is said in a conversation stays in it: only answers that need none are kept.
    let before = scene.models.seen().len();
    let came = scene.ask_in(thread, "Anything else?", &[("cache", "off")]).await;
    assert!(!came.path().contains(&"remember".to_owned()), "{:?}", came.path());
    assert!(scene.models.seen().len() > before);
    scene.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_behind_an_answer_ends_it() {
    let scene = Scene::of(GraphKind::Corrective).await;
    assert!(!scene.is_cached(QUESTION).await);
    scene.load("cars.md", "# Cars\n\nThe vans are parked behind the house on weekends.").await;
    assert!(!scene.is_cached(QUESTION).await, "a search finds it too, and it was not behind the answer");
    assert!(scene.is_cached(QUESTION).await);
    scene.store.maintain().await.unwrap();
    assert!(scene.is_cached(QUESTION).await, "another generation, and the search finds the same");

    scene.load("records.md", &RULES.replace("five", "ten")).await;
    let report = scene.store.fsck(false, &ActiveLoads::default()).await.unwrap();
    assert_eq!((report.answers, report.is_clean()), (0, true), "{report:?}");
    let (message, cached) = scene.ask(QUESTION, &[]).await;
    assert!(!cached && message.text.contains("ten years"), "{}", message.text);
    assert!(scene.is_cached(QUESTION).await);

    let documents = scene.store.documents(&scope()).await.unwrap();
    let records = documents.iter().find(|document| document.source == "records.md").unwrap();
    scene.store.delete(&scope(), &records.id).await.unwrap();
    let came = scene.ask_in(ThreadId::new(), QUESTION, &[]).await;
    assert!(came.message.unwrap().metadata.unwrap().cached.is_none());
    scene.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_wrong_is_not_given_again() {
    let scene = Scene::of(GraphKind::Conversational).await;
    assert!(!scene.is_cached(QUESTION).await);
    let (message, cached) = scene.ask(QUESTION, &[]).await;
    assert!(cached);
    let run = message.metadata.unwrap().cached.unwrap().run_id.parse().unwrap();
    let other = ibid_core::Scope::of("other".parse().unwrap());
    assert!(!scene.cache.forget(&other, run).await.unwrap(), "another tenant has no say");
    assert!(scene.cache.forget(&scope(), run).await.unwrap());
    assert!(!scene.is_cached(QUESTION).await);
    scene.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_the_answer_to_a_like_question_is_offered() {
    for graph in [GraphKind::Corrective, GraphKind::Conversational, GraphKind::Adaptive] {
        let scene = Scene::of(graph).await;
        let thread = ThreadId::new();
        assert!(scene.ask_in(thread, QUESTION, &[]).await.error.is_none());
        scene.is_down.store(true, Ordering::Relaxed);
        // What follows up cannot be understood without a model, but the same words can.
        let came = scene.ask_in(thread, QUESTION, &[]).await;
        let message = came.message.unwrap_or_else(|| panic!("{graph:?}: {:?}", came.error));
        assert!(message.metadata.unwrap().cached.unwrap().similar);
        let came = scene.ask_in(thread, "And how long must invoices be kept there?", &[]).await;
        assert!(came.message.is_none() && came.error.is_some());
        let came = scene.ask_in(ThreadId::new(), "How long must all invoices be kept?", &[]).await;
        let message = came.message.unwrap_or_else(|| panic!("{graph:?}: {:?}", came.error));
        let from = message.metadata.unwrap().cached.unwrap();
        assert!(from.similar && from.question == QUESTION);
        assert!(message.text.starts_with("No model can be reached now."), "{}", message.text);
        assert!(message.text.contains(QUESTION) && message.text.contains("five years"), "{}", message.text);
        let came = scene.ask_in(ThreadId::new(), "How long must 12 invoices be kept?", &[]).await;
        assert!(came.message.is_none(), "a question with another value has no answer without a model");
        assert!(came.error.is_some());
        scene.engine.close().await;
    }
}
