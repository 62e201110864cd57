//! A server on this machine: it may read for long, is not asked twice for the same, and people see how far it is.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ibid_core::model::{CallProgress, ChatModel, ModelError, ProgressListener, ask};
use ibid_models::{Chat, ChatSettings, Provider, ProviderSettings, RemoteChat, WindowSource};
use ibid_testkit::{RealServer, Reply, Script, ScriptedServer};

use crate::stage::{model_of, provider, question};

fn listener() -> (ProgressListener, Arc<Mutex<Vec<CallProgress>>>) {
    let told: Arc<Mutex<Vec<CallProgress>>> = Arc::default();
    let own = told.clone();
    (ProgressListener::new(move |progress| own.lock().unwrap().push(progress)), told)
}

#[tokio::test]
async fn a_call_that_is_being_worked_on_is_not_sent_again() {
    for (is_near, requests) in [(true, 1), (false, 3)] {
        let server = ScriptedServer::start(Script::new().always(Reply::stalled())).await;
        let mut settings = provider(&server.url());
        settings.is_near = is_near;
        settings.governor.attempts = 3;
        settings.governor.backoff = Duration::from_millis(1);
        settings.limits.first_token = Duration::from_millis(100);
        let (progress, told) = listener();
        let mut request = question("?");
        request.progress = Some(progress);
        let error = ask(&model_of(settings), request).await.unwrap_err();
        assert!(matches!(error, ModelError::TimeLimit { .. }), "{error}");
        assert_eq!(server.seen().len(), requests);
        let retried =
            told.lock().unwrap().iter().filter(|told| matches!(told, CallProgress::Retrying { .. })).count();
        assert_eq!(retried, requests - 1, "each retry is told");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_of_its_reading_is_timed() {
    let server = ScriptedServer::start(
        Script::new().always(Reply::text("yes").without_usage().after(Duration::from_millis(2500))),
    )
    .await;
    let mut settings = provider(&server.url());
    settings.is_near = true;
    let model = model_of(settings);
    let (progress, told) = listener();
    for _ in 0..2 {
        let mut request = question(&"a long question ".repeat(80));
        request.progress = Some(progress.clone());
        ask(&model, request).await.unwrap();
    }
    let told = told.lock().unwrap();
    let [CallProgress::Reading(first), CallProgress::Reading(second)] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert!(first.tokens > 100 && first.seconds_left.is_none(), "the speed is not known yet: {first:?}");
    assert_eq!(second.seconds_left, Some(1), "{second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn llama_cpp_tells_how_far_it_has_read() {
    let server = tokio::task::spawn_blocking(RealServer::chat).await.unwrap();
    let mut settings = ProviderSettings::new("real", &server.url());
    settings.is_near = true;
    let provider = Provider::new(settings, None).unwrap();
    let mut settings = ChatSettings::new("small", "qwen2.5-coder-0.5b");
    (settings.window, settings.max_output_tokens) = (WindowSource::Server, Some(4));
    let model = Chat::new(RemoteChat::new(provider, settings), Vec::new());
    let (progress, told) = listener();
    let mut request =
        question(&format!("{} What was that?", "The quick brown fox jumps over the dog. ".repeat(60)));
    request.progress = Some(progress);
    ask(&model, request).await.unwrap();
    assert!(model.context_tokens() >= 2048, "its window was asked for");
    let told = told.lock().unwrap();
    let reading = told.iter().find_map(|told| match told {
        CallProgress::Reading(reading) => Some(reading),
        CallProgress::Retrying { .. } => None,
    });
    let reading = reading.unwrap_or_else(|| panic!("{told:?}"));
    assert!(reading.tokens > 400 && reading.read.is_some(), "{reading:?}");
}
