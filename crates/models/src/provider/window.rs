//! How many tokens a model takes at once, as the server behind a provider tells it. What is sent beyond that is cut there
//! without a word, so it has to be known here.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::Provider;

/// So long a server may take to tell it.
const PATIENCE: Duration = Duration::from_secs(2);
/// What Ollama gives a model whose settings say nothing else.
const OLLAMA_DEFAULT: usize = 4096;

impl Provider {
    /// The window of a model, if the server tells: llama.cpp, vLLM, LM Studio and Ollama each in their way.
    pub async fn window(&self, model: &str) -> Option<usize> {
        let asking = async {
            // First what says how the model is run here, and last what it could take.
            if let Some(props) = self.told(http::Method::GET, "../props", None).await {
                let found = number(&props["default_generation_settings"]["n_ctx"]);
                if found.is_some() {
                    self.tells_progress.store(true, Ordering::Relaxed);
                    return found;
                }
            }
            if let Some(window) = self.of_ollama(model).await {
                return Some(window);
            }
            if let Some(listed) = self.told(http::Method::GET, "../api/v0/models", None).await {
                let found = entry(&listed["data"], "id", model);
                let found = found.and_then(|entry| {
                    number(&entry["loaded_context_length"]).or_else(|| number(&entry["max_context_length"]))
                });
                if found.is_some() {
                    return found;
                }
            }
            let listed = self.told(http::Method::GET, "models", None).await?;
            let entry = entry(&listed["data"], "id", model)?;
            ["max_model_len", "context_window", "context_length"]
                .into_iter()
                .find_map(|name| number(&entry[name]))
        };
        tokio::time::timeout(PATIENCE, asking).await.ok().flatten()
    }

    async fn of_ollama(&self, model: &str) -> Option<usize> {
        let running = self.told(http::Method::GET, "../api/ps", None).await?;
        let models = &running["models"];
        models.as_array()?;
        let found = entry(models, "name", model).or_else(|| entry(models, "model", model));
        if let Some(window) = found.and_then(|entry| number(&entry["context_length"])) {
            return Some(window);
        }
        let shown = self.told(http::Method::POST, "../api/show", Some(json!({ "model": model }))).await?;
        let parameters = shown["parameters"].as_str().unwrap_or_default();
        let set = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx"));
        Some(set.and_then(|tokens| tokens.trim().parse().ok()).unwrap_or(OLLAMA_DEFAULT))
    }

    /// What a server answers, if it is JSON.
    async fn told(&self, method: http::Method, path: &str, body: Option<Value>) -> Option<Value> {
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let answer = self.send(method, path, body).await.ok()?;
        serde_json::from_slice(&answer.bytes().await.ok()?).ok()
    }
}

/// The entry of a list that has a name; of a list with one entry, that one, since some servers call it by its file.
fn entry<'a>(list: &'a Value, field: &str, name: &str) -> Option<&'a Value> {
    let list = list.as_array()?;
    let named = list.iter().find(|entry| entry[field] == name);
    named.or(match list.as_slice() {
        [only] => Some(only),
        _ => None,
    })
}

fn number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok()).filter(|number| *number > 0)
}
