//! Requests that go to the router directly, without a network. Ids and times are replaced, so that answers can be compared.

use std::num::NonZeroU32;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use ibid_app::{App, Settings};
use ibid_core::{AccessRole, Scope, Tenant};
use ibid_server::{Access, Key, key_hash, router};
use regex::Regex;
use serde_json::{Value, json};
use tower::ServiceExt as _;

struct Server {
    router: axum::Router,
    _folder: tempfile::TempDir,
}

impl Server {
    async fn start() -> Self {
        Self::with(Access::open(Scope::of(Tenant::local()))).await
    }

    async fn with(access: Access) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { data: folder.path().to_owned(), ..Settings::default() };
        let app = App::builder(settings).without_documents().open().await.unwrap();
        let router = router(app, access, None).unwrap();
        Self { router, _folder: folder }
    }

    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> String {
        self.send_with(None, method, path, body).await
    }

    async fn send_with(&self, key: Option<&str>, method: &str, path: &str, body: Option<Value>) -> String {
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .header("host", "127.0.0.1");
        let request = match key {
            Some(key) => request.header("x-api-key", key),
            None => request,
        };
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        format!("{status}\n{}", String::from_utf8_lossy(&bytes))
    }

    async fn thread(&self) -> String {
        let created = self.send("POST", "/threads", Some(json!({}))).await;
        let created: Value = serde_json::from_str(created.split_once('\n').unwrap().1).unwrap();
        created["thread_id"].as_str().unwrap().to_owned()
    }
}

/// The same for every run: ids by the order in which they appear, and no times.
fn plain(text: &str) -> String {
    let id = Regex::new("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap();
    let mut names: Vec<String> = Vec::new();
    let text = id.replace_all(text, |found: &regex::Captures<'_>| {
        let position = names.iter().position(|name| *name == found[0]).unwrap_or_else(|| {
            names.push(found[0].to_owned());
            names.len() - 1
        });
        format!("<id-{}>", position + 1)
    });
    let trace = Regex::new(r#""trace_id":"[0-9a-f]{32}""#).unwrap();
    let text = trace.replace_all(&text, r#""trace_id":"<trace>""#);
    let time = Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").unwrap();
    let text = time.replace_all(&text, "<time>");
    let number = Regex::new(r#""(milliseconds|created|created_at|completed_at)":\d+"#).unwrap();
    number.replace_all(&text, r#""$1":"<time>""#).into_owned()
}

/// A stream that is compared is asked for one word: of several, those that wait for one commit are sent together.
fn asked(words: &str) -> Value {
    json!({ "messages": [{ "role": "user", "content": words }] })
}

#[tokio::test]
async fn every_stream_mode_is_as_clients_know_it() {
    let server = Server::start().await;
    for mode in [
        "values",
        "updates",
        "messages",
        "messages-tuple",
        "events",
        "custom",
        "tasks",
        "checkpoints",
        "debug",
    ] {
        let path = format!("/threads/{}/runs/stream", server.thread().await);
        let body = json!({ "assistant_id": "rehearsal", "input": asked("one"), "stream_mode": [mode] });
        insta::assert_snapshot!(
            format!("stream_{mode}"),
            plain(&server.send("POST", &path, Some(body)).await)
        );
    }
    let path = format!("/threads/{}/runs/stream?format=ibid", server.thread().await);
    let body = json!({ "assistant_id": "rehearsal", "input": asked("one") });
    insta::assert_snapshot!("stream_native", plain(&server.send("POST", &path, Some(body)).await));
}

#[tokio::test]
async fn every_api_answers_in_its_own_shape() {
    let server = Server::start().await;
    let thread = server.thread().await;
    let run = json!({ "assistant_id": "rehearsal", "input": asked("one two three") });
    let waited = server.send("POST", &format!("/threads/{thread}/runs/wait"), Some(run)).await;
    insta::assert_snapshot!("langgraph_wait", plain(&waited));
    let messages = json!([{ "role": "user", "content": "one two three" }]);
    let chat = json!({ "model": "rehearsal", "messages": messages });
    insta::assert_snapshot!(
        "openai_chat",
        plain(&server.send("POST", "/v1/chat/completions", Some(chat)).await)
    );
    let streamed = json!({ "model": "rehearsal", "messages": asked("one")["messages"], "stream": true });
    let streamed = server.send("POST", "/v1/chat/completions", Some(streamed)).await;
    insta::assert_snapshot!("openai_chat_stream", plain(&streamed));
    let response = json!({ "model": "rehearsal", "input": "one two three" });
    insta::assert_snapshot!(
        "openai_response",
        plain(&server.send("POST", "/v1/responses", Some(response)).await)
    );
}

#[tokio::test]
async fn what_is_not_there_is_refused_in_the_shape_of_the_path() {
    let server = Server::start().await;
    let nobody = json!({ "model": "nobody", "messages": [{ "role": "user", "content": "hi" }] });
    let refused = server.send("POST", "/v1/chat/completions", Some(nobody)).await;
    assert!(refused.starts_with("404") && refused.contains("\"error\":{\"message\":\"there is no assistant"));
    let tool = server.send("POST", "/assistants/rehearsal/tools/search_documents", Some(json!({}))).await;
    assert!(tool.starts_with("404") && tool.contains("has no tool `search_documents`"), "{tool}");
    let missing = server.send("GET", "/documents", None).await;
    assert!(missing.starts_with("503") && missing.contains("without documents"), "{missing}");
}

#[tokio::test]
async fn a_key_is_held_to_its_requests_in_a_minute() {
    let key = |name: &str, per_minute| Key {
        name: name.to_owned(),
        hash: key_hash(name),
        scope: Scope::of(Tenant::local()),
        role: AccessRole::Reader,
        per_minute: NonZeroU32::new(per_minute),
    };
    let server = Server::with(Access::keys([key("ibid_desk", 2), key("ibid_other", 0)])).await;
    let ask = async |key| server.send_with(Some(key), "POST", "/threads/search", Some(json!({}))).await;
    for _ in 0..2 {
        assert!(ask("ibid_desk").await.starts_with("200"));
    }
    let refused = ask("ibid_desk").await;
    assert!(refused.starts_with("429") && refused.contains("2 requests in a minute"), "{refused}");
    for _ in 0..3 {
        assert!(ask("ibid_other").await.starts_with("200"), "who has no limit is not limited");
    }
}
