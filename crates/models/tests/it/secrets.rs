//! No key appears in a log, an error or a debug print.

use std::io;
use std::sync::{Arc, Mutex};

use ibid_core::Secret;
use ibid_core::model::{Embedder, Purpose, Reranker};
use ibid_models::{Provider, ProviderSettings};
use ibid_testkit::{Reply, Script, ScriptedServer};

use crate::stage::{caller, model_of, ms, provider, reply};

const KEY: &str = "sk-test-4f1d8c2b9a7e6053";

/// Collects everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn with_key(url: &str) -> ProviderSettings {
    let mut settings = provider(url);
    settings.key = Some(Secret::new(KEY));
    settings.governor.attempts = 2;
    settings.governor.backoff = ms(1);
    settings.limits.first_token = ms(200);
    settings
}

#[test]
fn no_key_is_ever_told() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // One thread, so that everything that happens is logged here.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let told =
        tracing::subscriber::with_default(subscriber, || runtime.block_on(everything_that_can_go_wrong()));
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("hyper"), "the log of the transport is in it");
    for (what, text) in [("the log", &logged), ("errors and prints", &told)] {
        assert!(!text.contains(KEY), "{what} tells the key: {}", around(text));
    }
    assert!(told.contains(Secret::HIDDEN), "what a provider repeats is hidden, not left out");
}

async fn everything_that_can_go_wrong() -> String {
    let mut told = String::new();
    let mut tell = |what: &dyn std::fmt::Debug, shown: String| told.push_str(&format!("{what:?}\n{shown}\n"));
    let repeats = format!("the key Bearer {KEY} is wrong");
    let in_stream = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}]}}\n\ndata: {{\"error\":{{\"message\":\"{repeats}\"}}}}\n\n"
    );
    let replies = [400, 401, 403, 404, 429, 500, 503].map(|status| Reply::status(status, &repeats));
    let others =
        [Reply::raw(&repeats), Reply::raw(&in_stream), Reply::stalled(), Reply::text("fine").cut_after(0)];
    for answer in replies.into_iter().chain(others) {
        let limited = format!("{answer:?}").contains("429");
        let script = if limited {
            Script::new().once(answer).always(Reply::text("ok"))
        } else {
            Script::new().always(answer)
        };
        let server = ScriptedServer::start(script).await;
        let settings = with_key(&server.url());
        tell(&settings, String::new());
        let outcome = reply(&model_of(settings.clone()), "?").await;
        let seen = &server.seen()[0].headers["authorization"];
        assert_eq!(seen, &format!("Bearer {KEY}"), "the provider itself is told");
        if let Err(error) = &outcome {
            tell(error, error.to_string());
        }
        let provider = Provider::new(settings, None).unwrap();
        if let Err(error) = provider.models().await {
            tell(&error, error.to_string());
        }
        let embedder = ibid_models::RemoteEmbedder::new(provider.clone(), "m", 3, Default::default());
        if let Err(error) = embedder.embed(&caller(), Purpose::Query, &["a"]).await {
            tell(&error, error.to_string());
        }
        let reranker = ibid_models::RemoteReranker::new(provider, "m", Default::default());
        if let Err(error) = reranker.rerank(&caller(), "q", &["a"]).await {
            tell(&error, error.to_string());
        }
    }
    // Nobody listens there, and nothing may go there.
    for url in ["http://127.0.0.1:1/v1", &format!("http://127.0.0.1:1/{KEY}/v1"), "not a url"] {
        match Provider::new(with_key(url), None) {
            Ok(_) => {
                let error = reply(&model_of(with_key(url)), "?").await.unwrap_err();
                tell(&error, error.to_string());
            }
            Err(error) => tell(&error, error.to_string()),
        }
    }
    told
}

fn around(text: &str) -> &str {
    let at = text.find(KEY).unwrap_or(0);
    let from = text[..at].char_indices().rev().nth(200).map_or(0, |(from, _)| from);
    &text[from..at]
}
