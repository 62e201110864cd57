//! The governor under load: a limit that must be learned, people beside documents, and a stop.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::StreamExt;
use futures_util::future::join_all;
use ibid_core::Tenant;
use ibid_core::model::{Caller, ChatModel, ask};
use ibid_models::ProviderSettings;
use ibid_testkit::{Ending, Reply, Script, ScriptedServer};

use super::{asking, chat, percentile, person};
use crate::figure::{Figure, Goal};

pub(super) async fn measure() -> anyhow::Result<()> {
    limit().await?;
    beside_documents().await?;
    stop().await
}

/// 200 calls at once, where ten a second are taken.
async fn limit() -> anyhow::Result<()> {
    let second = Duration::from_secs(1);
    let server =
        ScriptedServer::start(Script::new().at_most(10, second).always(Reply::text("yes it is"))).await;
    let model = chat(ProviderSettings::new("bench", &server.url()))?;
    let began = Instant::now();
    let outcomes =
        join_all((0..200).map(|call| ask(&model, asking(person(), &format!("call {call}"))))).await;
    let took = began.elapsed().as_secs_f64();
    let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count() as f64;
    let seen = server.seen();
    let later: Vec<_> = seen.iter().filter(|seen| seen.at.duration_since(began) > second * 2).collect();
    let refused = later.iter().filter(|seen| seen.status == 429).count() as f64 / later.len() as f64;
    Figure::compare(
        "calls of 200 that fail at a limit of 10 a second",
        failed,
        200.0,
        Goal::AtMostTimes(0.0),
    )
    .print()?;
    let name = "share of requests refused after two seconds, against 0.1";
    Figure::compare(name, refused, 0.1, Goal::AtMostTimes(1.0)).print()?;
    let name = "seconds for 200 calls at a limit of 10 a second";
    Figure::compare(name, took, 20.0, Goal::AtMostTimes(1.5)).print()
}

/// How long people wait while documents take every place.
async fn beside_documents() -> anyhow::Result<()> {
    let request = Duration::from_millis(200);
    let server = ScriptedServer::start(Script::new().always(Reply::text("yes").after(request))).await;
    let mut settings = ProviderSettings::new("bench", &server.url());
    settings.governor.concurrent = 8;
    let model = Arc::new(chat(settings)?);
    let reading: Vec<_> = (0..24)
        .map(|_| {
            let model = model.clone();
            tokio::spawn(async move {
                while ask(&*model, asking(Caller::ingestion(Tenant::local()), "a page")).await.is_ok() {}
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (mut asked, mut people) = (HashMap::new(), Vec::new());
    for person_number in 0..300_u64 {
        let text = format!("person {person_number} asks");
        asked.insert(text.clone(), Instant::now());
        let model = model.clone();
        people.push(tokio::spawn(async move { ask(&*model, asking(person(), &text)).await }));
        tokio::time::sleep(Duration::from_millis(20 + (person_number * 37) % 41)).await;
    }
    for person in people {
        person.await??;
    }
    reading.iter().for_each(tokio::task::JoinHandle::abort);
    let mut waits: Vec<f64> = server
        .seen()
        .iter()
        .filter_map(|seen| {
            let asked = asked.get(seen.body["messages"][0]["content"].as_str()?)?;
            Some(seen.at.duration_since(*asked).as_secs_f64() * 1e3)
        })
        .collect();
    let p99 = percentile(&mut waits, 0.99);
    let name = "milliseconds that a person waits beside documents, 99th percentile, against one request";
    Figure::compare(name, p99, request.as_secs_f64() * 1e3, Goal::AtMostTimes(1.0)).print()
}

/// How long after a stop the server sees the connection closed.
async fn stop() -> anyhow::Result<()> {
    let mut waits = Vec::new();
    for _ in 0..50 {
        let endless = Reply::text(&"word ".repeat(10_000)).every(Duration::from_millis(5));
        let server = ScriptedServer::start(Script::new().always(endless)).await;
        let model = chat(ProviderSettings::new("bench", &server.url()))?;
        let mut parts = model.chat(asking(person(), "talk")).await?;
        parts.next().await.context("no token")??;
        let stopped = Instant::now();
        drop(parts);
        let seen = server.until("closed", |seen| seen.iter().all(|seen| seen.ending.is_some())).await;
        let Some(Ending::Closed(at)) = seen.first().and_then(|seen| seen.ending) else { continue };
        waits.push(at.saturating_duration_since(stopped).as_secs_f64() * 1e3);
    }
    let worst = percentile(&mut waits, 1.0);
    let name = "milliseconds until a stop is a closed connection, worst of 50";
    Figure::compare(name, worst, 50.0, Goal::AtMostTimes(1.0)).print()
}
