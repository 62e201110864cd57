//! Embeddings, reranking and grounding over HTTP: what is sent, and what is made of what comes back.

use ibid_core::model::{Embedder, Grounding, ModelError, Purpose, Reranker};
use ibid_models::{
    EmbeddingSettings, Provider, ProviderSettings, RemoteEmbedder, RemoteGrounding, RemoteReranker,
    RerankForm,
};
use ibid_testkit::{Reply, Script, ScriptedServer};
use serde_json::{Value, json};

use crate::stage::{caller, provider};

async fn embedder(server: &ScriptedServer, settings: EmbeddingSettings) -> RemoteEmbedder {
    RemoteEmbedder::new(Provider::new(provider(&server.url()), None).unwrap(), "m", 2, settings)
}

async fn reranker(server: &ScriptedServer, form: RerankForm) -> RemoteReranker {
    RemoteReranker::new(Provider::new(provider(&server.url()), None).unwrap(), "m", form)
}

/// Gives each text a vector by its length, in reverse order.
fn embeds() -> Script {
    Script::new().by(|seen| {
        let inputs = seen.body["input"].as_array().unwrap();
        let item = |(index, text): (usize, &Value)| {
            json!({ "index": index, "embedding": [text.as_str().unwrap().len() as f32, 0.0] })
        };
        let data: Vec<Value> = inputs.iter().enumerate().map(item).rev().collect();
        Reply::json(json!({ "data": data, "usage": { "prompt_tokens": 3 } }))
    })
}

#[tokio::test]
async fn texts_go_in_batches_with_their_prefix_and_come_back_in_order() {
    let server = ScriptedServer::start(embeds()).await;
    let settings = EmbeddingSettings {
        query_prefix: "query: ".to_owned(),
        passage_prefix: "passage: ".to_owned(),
        batch: 2,
        send_dimensions: true,
    };
    let embedder = embedder(&server, settings).await;
    let vectors = embedder.embed(&caller(), Purpose::Passage, &["a", "bb", "ccc"]).await.unwrap();
    assert_eq!(vectors.iter().collect::<Vec<_>>(), [[1.0, 0.0]; 3], "of length 1");
    embedder.embed(&caller(), Purpose::Query, &["a"]).await.unwrap();
    let inputs: Vec<Value> = server.seen().iter().map(|seen| seen.body["input"].clone()).collect();
    assert_eq!(inputs, [json!(["passage: a", "passage: bb"]), json!(["passage: ccc"]), json!(["query: a"])]);
    assert_eq!(
        (server.seen()[0].path.as_str(), &server.seen()[0].body["dimensions"]),
        ("/v1/embeddings", &json!(2))
    );
}

#[tokio::test]
async fn vectors_of_another_length_or_number_are_refused_with_the_setting_that_helps() {
    for (answer, told) in [
        (json!({ "data": [{ "embedding": [1.0, 2.0, 3.0] }] }), "embedding.dimensions"),
        (json!({ "data": [] }), "fewer"),
        (json!({ "data": [{ "embedding": [1, 2] }, { "embedding": [1, 2] }] }), "more"),
        (json!({ "data": [{ "embedding": [1, "x"] }] }), "something else"),
        (json!({ "error": "no" }), "no list"),
    ] {
        let server = ScriptedServer::start(Script::new().always(Reply::json(answer))).await;
        let embedder = embedder(&server, EmbeddingSettings::default()).await;
        let error = embedder.embed(&caller(), Purpose::Query, &["a"]).await.unwrap_err();
        assert!(matches!(&error, ModelError::Nonsense { reason, .. } if reason.contains(told)), "{error}");
    }
}

#[tokio::test]
async fn scores_that_are_not_from_0_to_1_are_brought_there_and_many_passages_go_in_batches() {
    let script = Script::new().by(|seen| {
        let count = seen.body["documents"].as_array().unwrap().len();
        let score = |index: usize| json!({ "index": index, "relevance_score": index as f32 * 20.0 - 40.0 });
        Reply::json(json!({ "results": (0..count).map(score).collect::<Vec<_>>() }))
    });
    let server = ScriptedServer::start(script).await;
    let passages = ["a"; 70];
    let scores = reranker(&server, RerankForm::Cohere).await.rerank(&caller(), "q", &passages).await.unwrap();
    assert_eq!((scores.len(), server.seen().len()), (70, 3));
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)) && scores[2] == 0.5 && scores[3] > 0.9);
}

#[tokio::test]
async fn passages_are_scored_in_both_forms() {
    let cohere = json!({ "results": [{ "index": 1, "relevance_score": 0.9 }, { "index": 0, "relevance_score": 0.1 }] });
    let tei = json!([{ "index": 1, "score": 0.9 }, { "index": 0, "score": 0.1 }]);
    for (form, answer, field) in [(RerankForm::Cohere, cohere, "documents"), (RerankForm::Tei, tei, "texts")]
    {
        let server = ScriptedServer::start(Script::new().always(Reply::json(answer))).await;
        let scores = reranker(&server, form).await.rerank(&caller(), "q", &["a", "b"]).await.unwrap();
        assert_eq!(scores, [0.1, 0.9]);
        let seen = &server.seen()[0];
        assert_eq!((seen.path.as_str(), &seen.body[field]), ("/v1/rerank", &json!(["a", "b"])));
        let error = reranker(&server, form).await.rerank(&caller(), "q", &["a", "b", "c"]).await.unwrap_err();
        assert!(matches!(error, ModelError::Nonsense { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_text_and_a_statement_go_to_a_classifier_in_pairs() {
    let row = |score: f64| json!([{ "label": "neutral", "score": 1.0 - score }, { "label": "Entailment", "score": score }]);
    let server = ScriptedServer::start(Script::new().always(Reply::json(json!([row(0.9), row(0.2)])))).await;
    let provider = Provider::new(ProviderSettings::new("classifier", &server.url()), None).unwrap();
    let grounding = RemoteGrounding::new(provider.clone(), "entailment");
    let pairs = [("the text", "one"), ("the text", "two")];
    let scores = grounding.support(&caller(), &pairs).await.unwrap();
    assert_eq!(scores, [0.9, 0.2]);
    let seen = &server.seen()[0];
    assert_eq!(seen.path, "/v1/predict");
    assert_eq!(seen.body["inputs"], json!([["the text", "one"], ["the text", "two"]]));
    let error = RemoteGrounding::new(provider, "supported").support(&caller(), &pairs).await.unwrap_err();
    assert!(error.to_string().contains("no class `supported`"), "{error}");
    let error = grounding.support(&caller(), &pairs[..1]).await.unwrap_err();
    assert!(matches!(error, ModelError::Nonsense { .. }), "{error}");
}
