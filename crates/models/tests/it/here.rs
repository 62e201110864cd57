//! Models in this process, beside the reference implementation and beside each other.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use ibid_core::Tenant;
use ibid_core::model::{Caller, Embedder, ModelError, Purpose, Reranker};
use ibid_models::{CachedEmbedder, LocalEmbedder, LocalReranker, Runtime};
use ibid_testkit::RealModels;
use serde_json::{Value, json};

use crate::stage::caller;

/// A hundred texts, half English and half Spanish, from a few words to more than a model reads.
fn texts() -> Vec<String> {
    let goods = [
        ("LED lamps of heading 8539", "las lámparas LED de la partida 8539"),
        ("steel bolts for aircraft", "los pernos de acero para aeronaves"),
        ("frozen tuna fillets", "los filetes de atún congelados"),
        ("used passenger vehicles", "los vehículos de pasajeros usados"),
        ("pharmaceutical samples under 21 CFR 1040.10", "las muestras farmacéuticas según 21 CFR 1040.10"),
    ];
    let english = [
        "What is the duty rate for {}?",
        "{} need a certificate of origin.",
        "The importer of {} must keep every record for five years after the date of entry, in the form in which it \
         was kept in the ordinary course of business.",
        "No, {} are not exempt.",
        "Section 301 adds 25 % to {} from some countries; see the notes of the chapter.",
    ];
    let spanish = [
        "¿Cuál es el arancel que se aplica a {}?",
        "Para {} se exige un certificado de origen.",
        "Quien importe {} deberá conservar los documentos durante cinco años desde la fecha de despacho, en la \
         forma en que se llevan habitualmente.",
        "No, no hay exención para {}.",
        "La sección 301 añade un 25 % a {} de algunos países; véanse las notas del capítulo.",
    ];
    let mut texts = Vec::new();
    for (round, (english_goods, spanish_goods)) in goods.iter().enumerate() {
        for (english, spanish) in english.iter().zip(spanish) {
            let (english, spanish) =
                (english.replace("{}", english_goods), spanish.replace("{}", spanish_goods));
            texts.push(english.repeat(1 + round * round * 2));
            texts.push(spanish.repeat(1 + round * round * 2));
            texts.push(english);
            texts.push(spanish);
        }
    }
    texts
}

fn reference(job: &str, folder: &str, given: &Value) -> Value {
    let models = RealModels::find();
    let mut python = Command::new(models.python())
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/models/reference.py"))
        .arg(job)
        .arg(models.path(folder))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(given.to_string().as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn runtime() -> Runtime {
    Runtime::load(&RealModels::find().runtime()).unwrap()
}

fn embedder(folder: &str) -> LocalEmbedder {
    LocalEmbedder::load(&runtime(), &RealModels::find().path(folder), None).unwrap()
}

fn cosine(ours: &[f32], theirs: &[f32]) -> f32 {
    ours.iter().zip(theirs).map(|(a, b)| a * b).sum()
}

/// The lowest cosine between our vectors and the reference's, embedded in batches and a text at a time.
async fn lowest_cosines(folder: &str, published: &str) -> (f32, f32) {
    let texts = texts();
    assert_eq!(texts.len(), 100);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let theirs: Vec<Vec<f32>> = serde_json::from_value(reference("embed", published, &json!(texts))).unwrap();
    let embedder = embedder(folder);
    let together = embedder.embed(&caller(), Purpose::Passage, &texts).await.unwrap();
    assert_eq!((together.len(), together.dimensions()), (100, theirs[0].len()));
    let (mut in_batches, mut alone) = (1.0_f32, 1.0_f32);
    for ((text, theirs), together) in texts.iter().zip(&theirs).zip(together.iter()) {
        in_batches = in_batches.min(cosine(together, theirs));
        let one = embedder.embed(&caller(), Purpose::Passage, &[text]).await.unwrap();
        alone = alone.min(cosine(one.get(0).unwrap(), theirs));
    }
    (in_batches, alone)
}

#[tokio::test]
async fn vectors_equal_those_of_the_reference_implementation() {
    let (in_batches, alone) = lowest_cosines("minilm", "minilm").await;
    assert!(in_batches > 0.999 && alone > 0.999);
    // This one rounds its numbers by what else is in the batch, in any implementation.
    let (in_batches, alone) = lowest_cosines("use-multilingual", "use-published").await;
    assert!(in_batches > 0.99 && alone > 0.999);
}

#[tokio::test]
async fn scores_equal_those_of_the_reference_implementation() {
    let question = "What is the duty rate for LED lamps?";
    let texts = texts();
    let passages: Vec<&str> = texts.iter().map(String::as_str).collect();
    let given = json!({ "question": question, "passages": passages });
    let theirs: Vec<f32> = serde_json::from_value(reference("rerank", "reranker", &given)).unwrap();
    let reranker = LocalReranker::load(&runtime(), &RealModels::find().path("reranker"), None).unwrap();
    let together = reranker.rerank(&caller(), question, &passages).await.unwrap();
    for ((passage, theirs), together) in passages.iter().zip(&theirs).zip(&together) {
        let alone = reranker.rerank(&caller(), question, &[passage]).await.unwrap()[0];
        assert!((alone - theirs).abs() < 0.001, "{alone} and {theirs} for {passage}");
        // It, too, rounds by what else is in the batch, and coarsely.
        assert!((together - theirs).abs() < 0.25, "{together} and {theirs} for {passage}");
    }
}

#[tokio::test]
async fn questions_are_kept_and_passages_are_not() {
    let inner = Arc::new(embedder("minilm"));
    let cached = CachedEmbedder::new(inner.clone(), 100);
    let (one, two) = ("what is the rate?", "since when?");
    let first = cached.embed(&caller(), Purpose::Query, &[one]).await.unwrap();
    let both = cached.embed(&caller(), Purpose::Query, &[two, one]).await.unwrap();
    assert_eq!(first.get(0), both.get(1), "the kept one is the same");
    assert_ne!(both.get(0), both.get(1));
    let before = inner.stats().sent;
    assert_eq!(cached.embed(&caller(), Purpose::Query, &[two, one]).await.unwrap(), both);
    assert_eq!((inner.stats().sent, cached.hits()), (before, 3), "nothing was computed");
    cached.embed(&caller(), Purpose::Passage, &[one]).await.unwrap();
    assert_eq!(inner.stats().sent, before + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_does_not_wait_for_the_documents_in_front_of_it() {
    let embedder = Arc::new(embedder("minilm"));
    let reading = {
        let embedder = embedder.clone();
        tokio::spawn(async move {
            let passages = texts();
            let passages: Vec<&str> = passages.iter().map(String::as_str).cycle().take(400).collect();
            embedder.embed(&Caller::ingestion(Tenant::local()), Purpose::Passage, &passages).await.unwrap()
        })
    };
    while embedder.stats().sent < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let before = embedder.stats().sent;
    embedder.embed(&caller(), Purpose::Query, &["what is the rate?"]).await.unwrap();
    let passed = embedder.stats().sent - before;
    assert!(!reading.is_finished(), "the documents are still being read");
    assert!(passed <= 3, "{passed} batches went first");
    reading.abort();
}

#[tokio::test]
async fn what_cannot_be_run_says_what_helps() {
    let models = RealModels::find();
    let empty = tempfile::tempdir().unwrap();
    let missing = LocalEmbedder::load(&runtime(), empty.path(), None).err().unwrap();
    let wrong = LocalEmbedder::load(&runtime(), &models.path("reranker"), None).err().unwrap();
    for error in [missing, wrong] {
        let told = error.to_string();
        assert!(matches!(error, ModelError::Local { .. }) && told.contains("ibid models pull"), "{told}");
    }
    for (file, text) in
        [("model.toml", "name = 'x'\nkind = 'embedding'\ndimensions = 3"), ("tokenizer.json", "{}")]
    {
        std::fs::write(empty.path().join(file), text).unwrap();
        let error = LocalEmbedder::load(&runtime(), empty.path(), None).err().unwrap().to_string();
        assert!(error.contains("tokenizer.json"), "{error}");
    }
    // A card that promises other vectors than the network gives.
    let model = tempfile::tempdir().unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        std::fs::copy(models.path("minilm").join(file), model.path().join(file)).unwrap();
    }
    std::fs::write(model.path().join("model.toml"), "name = 'x'\nkind = 'embedding'\ndimensions = 3")
        .unwrap();
    let embedder = LocalEmbedder::load(&runtime(), model.path(), None).unwrap();
    let error = embedder.embed(&caller(), Purpose::Query, &["a"]).await.unwrap_err().to_string();
    assert!(error.contains("384") && error.contains("3 dimensions"), "{error}");
}
