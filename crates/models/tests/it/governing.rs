//! One governor over all calls: limits that are learned, trouble that passes, people before documents.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ibid_core::Tenant;
use ibid_core::model::{Caller, ChatModel, ChatRequest, ModelError, Prompt, ask};
use ibid_models::{Budget, Chat, MemorySpending, Provider, ProviderSettings};
use ibid_testkit::{Pulse, Reply, Script, ScriptedServer, Seen};
use tokio::task::JoinHandle;

use crate::stage::{caller, model_of, ms, provider, question, remote, reply};

const SECOND: Duration = Duration::from_secs(1);

/// Makes calls at once; how each ended, and how long all took.
async fn at_once(model: &Chat, calls: usize) -> (Vec<Result<String, ModelError>>, Duration) {
    let began = Instant::now();
    let calls = (0..calls).map(|call| async move {
        let text = format!("call {call}");
        reply(model, &text).await.map(|reply| reply.text)
    });
    (join_all(calls).await, began.elapsed())
}

/// The share of requests that were refused for being too many, of those that came after the first two seconds.
fn refused_later(seen: &[Seen]) -> f64 {
    let began = seen[0].at;
    let later: Vec<&Seen> = seen.iter().filter(|seen| seen.at.duration_since(began) > SECOND * 2).collect();
    later.iter().filter(|seen| seen.status == 429).count() as f64 / later.len() as f64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_calls_at_once_get_through_a_limit_of_ten_a_second() {
    let script = Script::new().at_most(10, SECOND).always(Reply::text("yes it is").every(ms(20)));
    let server = ScriptedServer::start(script).await;
    let model = model_of(provider(&server.url()));
    let (outcomes, took) = at_once(&model, 200).await;
    let failed: Vec<_> = outcomes.iter().filter(|outcome| outcome.is_err()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let seen = server.seen();
    let refused = refused_later(&seen);
    assert!(refused <= 0.1, "{:.0} % were refused after the first two seconds", refused * 100.0);
    assert!(took < SECOND * 40, "200 calls at 10 a second took {took:?}");
    let stats = model.first().provider().governor().stats();
    assert_eq!(stats.sent, seen.len() as u64);
    assert_eq!(stats.refused, seen.iter().filter(|seen| seen.status == 429).count() as u64);
    assert_eq!((stats.answered, stats.in_flight, stats.waited[0].waiting), (200, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_stalls_and_cuts_on_top_are_tried_again_or_named_within_the_time_limit() {
    let script =
        Script::new().at_most(10, SECOND).trouble(0.05, 7).always(Reply::text("yes it is").every(ms(20)));
    let server = ScriptedServer::start(script).await;
    let mut settings = provider(&server.url());
    settings.limits.first_token = SECOND;
    settings.governor.backoff = ms(200);
    settings.governor.chat_wait = SECOND * 60;
    let model = model_of(settings);
    let (outcomes, took) = at_once(&model, 200).await;
    let failed: Vec<&ModelError> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert!(failed.iter().all(|error| error.may_pass()), "{failed:?}");
    assert!(failed.len() <= 4, "{} of 200 failed: {failed:?}", failed.len());
    assert!(took < SECOND * 60, "{took:?}");
    assert!(refused_later(&server.seen()) <= 0.1);
    assert!(model.first().provider().governor().stats().retried > 0, "there was trouble to get through");
}

/// Keeps a provider busy with documents while people ask, and gives how long each of them waited, sorted.
async fn waits_beside_ingestion(settings: ProviderSettings, server: &ScriptedServer) -> Vec<Duration> {
    let model = Arc::new(model_of(settings));
    let reading: Vec<_> = (0..24)
        .map(|_| {
            let model = model.clone();
            tokio::spawn(async move {
                loop {
                    let caller = Caller::ingestion(Tenant::local());
                    let prompts = vec![Prompt::User("a page".to_owned())];
                    ask(&*model, ChatRequest::new(caller, prompts)).await.unwrap();
                }
            })
        })
        .collect();
    tokio::time::sleep(SECOND).await;
    let pulse = Pulse::start();
    let mut asked = HashMap::new();
    let mut asking = Vec::new();
    for person in 0..200 {
        let text = format!("person {person} asks");
        asked.insert(text.clone(), Instant::now());
        let model = model.clone();
        asking.push(tokio::spawn(async move { reply(&*model, &text).await.unwrap() }));
        // Not in step with anything.
        tokio::time::sleep(ms(20 + (person * 37) % 41)).await;
    }
    for person in asking {
        person.await.unwrap();
    }
    reading.iter().for_each(JoinHandle::abort);
    let mut waits: Vec<Duration> = server
        .seen()
        .iter()
        .filter_map(|seen| {
            let text = seen.body["messages"][0]["content"].as_str()?;
            let asked = *asked.get(text)?;
            Some(pulse.between(asked, seen.at))
        })
        .collect();
    assert_eq!(waits.len(), 200);
    waits.sort();
    waits
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_wait_less_than_one_request_while_documents_keep_the_provider_busy() {
    const REQUEST: Duration = ms(200);
    let busy = |settings: &mut ProviderSettings| settings.governor.concurrent = 8;
    let paced = |settings: &mut ProviderSettings| settings.governor.requests_per_minute = Some(60 * 40);
    for (what, set) in [("all places are taken", &busy as &dyn Fn(&mut _)), ("the pace is used up", &paced)] {
        let server = ScriptedServer::start(Script::new().always(Reply::text("yes").after(REQUEST))).await;
        let mut settings = provider(&server.url());
        set(&mut settings);
        let waits = waits_beside_ingestion(settings, &server).await;
        let (median, p99) = (waits[100], waits[197]);
        assert!(p99 < REQUEST, "{what}: median {median:?}, 99th percentile {p99:?}");
    }
}

#[tokio::test]
async fn who_is_stopped_while_waiting_leaves_the_place_to_the_next() {
    let server = ScriptedServer::start(Script::new().always(Reply::text("yes").after(ms(100)))).await;
    let mut settings = provider(&server.url());
    settings.governor.concurrent = 1;
    let model = Arc::new(model_of(settings));
    let mut waiting: Vec<_> = (0..20)
        .map(|call| {
            let model = model.clone();
            tokio::spawn(async move { reply(&*model, &format!("call {call}")).await })
        })
        .collect();
    server.until("the first is there", |seen| !seen.is_empty()).await;
    let last = waiting.pop().unwrap();
    waiting.iter().for_each(JoinHandle::abort);
    assert_eq!(last.await.unwrap().unwrap().text, "yes");
    assert!(server.seen().len() <= 3, "those who went away are not sent");
    assert_eq!(model.first().provider().governor().stats().in_flight, 0);
}

#[tokio::test]
async fn a_provider_that_keeps_failing_is_left_alone_and_looked_at_again() {
    let script = (0..3).fold(Script::new(), |script, _| script.once(Reply::status(500, "out of memory")));
    let server = ScriptedServer::start(script.always(Reply::text("back"))).await;
    let mut settings = provider(&server.url());
    settings.governor.attempts = 1;
    settings.governor.breaker_failures = 3;
    settings.governor.breaker_pause = ms(300);
    settings.governor.chat_wait = ms(100);
    let model = model_of(settings);
    for _ in 0..3 {
        assert!(matches!(reply(&model, "?").await, Err(ModelError::Failed { status: 500, .. })));
    }
    let error = reply(&model, "?").await.unwrap_err();
    let told = error.to_string();
    assert!(matches!(error, ModelError::Unavailable { failures: 3, .. }), "{told}");
    assert!(told.contains("out of memory"), "{told}");
    assert_eq!(server.seen().len(), 3, "nothing was sent");
    tokio::time::sleep(ms(300)).await;
    assert_eq!(reply(&model, "?").await.unwrap().text, "back");
    assert_eq!(reply(&model, "?").await.unwrap().text, "back");
    assert_eq!(model.first().provider().governor().stats().opened, 1);
}

#[tokio::test]
async fn the_next_model_of_the_chain_answers_where_one_cannot() {
    let broken = ScriptedServer::start(Script::new().always(Reply::status(503, "overloaded"))).await;
    let full = ScriptedServer::start(
        Script::new().always(Reply::status(429, "slow down").header("retry-after", "30")),
    )
    .await;
    let good = ScriptedServer::start(Script::new().always(Reply::text("here"))).await;
    let models: Vec<_> = [(&broken, "first"), (&full, "second"), (&good, "third")]
        .map(|(server, name)| {
            let mut settings = provider(&server.url());
            settings.governor.attempts = 2;
            settings.governor.backoff = ms(1);
            remote(&Provider::new(settings, None).unwrap(), name)
        })
        .into();
    let model = Chat::new(models[0].clone(), models[1..].to_vec());
    let began = Instant::now();
    let answer = reply(&model, "?").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.model.as_str()), ("here", "third"));
    assert!(began.elapsed() < SECOND, "nobody waits 30 s where another model stands ready");
    assert_eq!((broken.seen().len(), full.seen().len(), model.fallen_back()), (2, 1, 2));
    // The one that asked to be left alone is.
    reply(&model, "again").await.unwrap();
    assert_eq!(full.seen().len(), 1);
}

#[tokio::test]
async fn a_key_that_is_wrong_or_a_request_that_is_refused_is_not_tried_again() {
    for status in [400, 401, 404] {
        let server = ScriptedServer::start(Script::new().always(Reply::status(status, "no"))).await;
        let error = reply(&model_of(provider(&server.url())), "?").await.unwrap_err();
        assert!(!error.may_pass(), "{error}");
        assert_eq!(server.seen().len(), 1);
    }
    let refusal = r#"{"error":{"message":"no credit","code":"insufficient_quota"}}"#;
    let server = ScriptedServer::start(Script::new().always(Reply::status(429, refusal))).await;
    let error = reply(&model_of(provider(&server.url())), "?").await.unwrap_err();
    assert!(matches!(error, ModelError::Refused { status: 429, .. }), "{error}");
}

#[tokio::test]
async fn a_tenant_that_has_used_its_tokens_waits_for_tomorrow() {
    let server = ScriptedServer::start(Script::new().always(Reply::text("yes"))).await;
    let spending = Arc::new(MemorySpending::default());
    let provider = Provider::new(provider(&server.url()), Some(Budget::new(2200, spending))).unwrap();
    let model = Chat::new(remote(&provider, "test"), Vec::new());
    let mut calls = 0;
    let error = loop {
        match reply(&model, "is it?").await {
            Ok(_) => calls += 1,
            Err(error) => break error,
        }
        tokio::time::sleep(ms(5)).await;
    };
    assert!(matches!(&error, ModelError::Budget { limit: 2200, .. }), "{error}");
    assert!(calls > 3, "a call takes what it used, not what was set aside for it: {calls}");
    let mut other = question("is it?");
    other.caller = Caller::chat("other".parse().unwrap());
    assert!(model.chat(other).await.is_ok(), "another tenant has its own");
    assert_eq!(provider.governor().stats().over_budget, 1);
    assert_eq!(caller().tenant, Tenant::local());
}
