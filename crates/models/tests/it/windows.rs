//! Every kind of server is asked for its window in its own way.

use ibid_models::{Provider, ProviderSettings};
use ibid_testkit::{Reply, Script, ScriptedServer};

async fn window(script: Script) -> Option<usize> {
    let server = ScriptedServer::start(script).await;
    Provider::new(ProviderSettings::new("test", &server.url()), None).unwrap().window("qwen").await
}

fn at(script: Script, path: &'static str, body: &'static str) -> Script {
    script.when(move |seen| seen.path == path, Reply::raw(body))
}

#[tokio::test]
async fn a_server_is_asked_for_its_window_in_its_own_way() {
    let llama = at(Script::new(), "/props", r#"{"default_generation_settings": {"n_ctx": 4096}}"#);
    assert_eq!(window(llama).await, Some(4096));
    let vllm = r#"{"data": [{"id": "other"}, {"id": "qwen", "max_model_len": 32768}]}"#;
    assert_eq!(window(at(Script::new(), "/v1/models", vllm)).await, Some(32_768));
    let studio = r#"{"data": [{"id": "qwen", "max_context_length": 131072, "loaded_context_length": 8000}]}"#;
    assert_eq!(window(at(Script::new(), "/api/v0/models", studio)).await, Some(8000));
    let ollama = |running| at(Script::new(), "/api/ps", running);
    let running = r#"{"models": [{"name": "qwen", "context_length": 16384}, {"name": "b"}]}"#;
    assert_eq!(window(ollama(running)).await, Some(16_384));
    let shown = r#"{"parameters": "stop \"x\"\nnum_ctx                        2048"}"#;
    assert_eq!(window(at(ollama(r#"{"models": []}"#), "/api/show", shown)).await, Some(2048));
    assert_eq!(window(at(ollama(r#"{"models": []}"#), "/api/show", "{}")).await, Some(4096));
    assert_eq!(window(Script::new()).await, None);
}
