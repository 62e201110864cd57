//! A stop reaches the model's socket at once, whatever the call is doing.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use ibid_core::model::ChatModel;
use ibid_testkit::{Ending, Pulse, Reply, Script, ScriptedServer};

use crate::stage::{model, ms, question};

/// How long after the stop the server saw the connection close.
async fn seen_after(server: &ScriptedServer, stopped: Instant, pulse: &Pulse) -> Duration {
    let seen =
        server.until("the connection is closed", |seen| seen.iter().all(|seen| seen.ending.is_some())).await;
    let Some(Ending::Closed(at)) = seen[0].ending else { panic!("{:?}", seen[0].ending) };
    pulse.between(stopped, at)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_is_a_closed_connection_within_50_ms() {
    let pulse = Pulse::start();
    for round in 0..20 {
        let endless = "word ".repeat(10_000);
        let server = ScriptedServer::start(Script::new().always(Reply::text(&endless).every(ms(5)))).await;
        let model = model(&server);
        let mut parts = model.chat(question("talk")).await.unwrap();
        for _ in 0..round {
            parts.next().await.unwrap().unwrap();
        }
        let stopped = Instant::now();
        drop(parts);
        let took = seen_after(&server, stopped, &pulse).await;
        assert!(took < ms(50), "{took:?}");
        let stats = model_stats(&model);
        assert_eq!((stats.stopped, stats.in_flight), (1, 0));
        assert!(stats.output_tokens > 0, "what was written until the stop is counted");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_before_the_first_token_closes_the_connection_too() {
    let pulse = Pulse::start();
    for reply in [Reply::stalled(), Reply::text("one").stall_after(0)] {
        let server = ScriptedServer::start(Script::new().always(reply)).await;
        let model = model(&server);
        let asking = tokio::spawn(async move { model.chat(question("talk")).await.map(drop) });
        server.until("the request is there", |seen| !seen.is_empty()).await;
        tokio::time::sleep(ms(20)).await;
        let stopped = Instant::now();
        asking.abort();
        let took = seen_after(&server, stopped, &pulse).await;
        assert!(took < ms(50), "{took:?}");
    }
}

fn model_stats(model: &ibid_models::Chat) -> ibid_models::Stats {
    model.first().provider().governor().stats()
}
