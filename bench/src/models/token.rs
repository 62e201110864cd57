//! How long a first token takes through ibid and directly, from the same server.

use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::StreamExt;
use ibid_core::model::{ChatModel, ChatPart};
use ibid_models::ProviderSettings;
use ibid_testkit::{RealServer, Reply, Script, ScriptedServer};
use serde_json::json;

use super::{asking, chat, percentile, person};
use crate::figure::{Figure, Goal};

const QUESTION: &str = "What is the duty rate for LED lamps?";

pub(super) async fn measure() -> anyhow::Result<()> {
    let reply =
        Reply::text("The rate is 2 %.").after(Duration::from_millis(5)).every(Duration::from_millis(1));
    let server = ScriptedServer::start(Script::new().always(reply)).await;
    let (ours, direct) = both(&server.url(), 400).await?;
    let name = "milliseconds to the first token, scripted server, median of 400";
    Figure::compare(name, ours, direct, Goal::AtMostMore(2.0)).print()?;
    let url = tokio::task::spawn_blocking(|| RealServer::chat().url()).await?;
    let (ours, direct) = both(&url, 25).await?;
    let name = "milliseconds to the first token, llama.cpp with a real model, median of 25";
    Figure::compare(name, ours, direct, Goal::AtMostMore(2.0)).print()
}

/// Both ways in turn, so that a noisy moment meets both.
async fn both(url: &str, rounds: usize) -> anyhow::Result<(f64, f64)> {
    let model = chat(ProviderSettings::new("bench", url))?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let (mut ours, mut direct) = (Vec::new(), Vec::new());
    for round in 0..rounds + 5 {
        let began = Instant::now();
        let mut parts = model.chat(asking(person(), QUESTION)).await?;
        while !matches!(parts.next().await.context("no token")??, ChatPart::Text(_)) {}
        let through = began.elapsed().as_secs_f64() * 1e3;
        while parts.next().await.is_some() {}
        let began = Instant::now();
        let mut body = ask_directly(&client, url).await?;
        let mut text = Vec::new();
        while !String::from_utf8_lossy(&text).contains("\"content\":\"") {
            text.extend_from_slice(&body.chunk().await?.context("no token")?);
        }
        let bare = began.elapsed().as_secs_f64() * 1e3;
        while body.chunk().await?.is_some() {}
        // The first rounds warm both up.
        if round >= 5 {
            ours.push(through);
            direct.push(bare);
        }
    }
    Ok((percentile(&mut ours, 0.5), percentile(&mut direct, 0.5)))
}

async fn ask_directly(client: &reqwest::Client, url: &str) -> anyhow::Result<reqwest::Response> {
    let message = json!({ "role": "user", "content": QUESTION });
    let body = json!({
        "model": "tiny", "stream": true, "stream_options": { "include_usage": true }, "max_tokens": 16,
        "messages": [message],
    });
    let request = client.post(format!("{url}/chat/completions")).header("content-type", "application/json");
    Ok(request.body(body.to_string()).send().await?.error_for_status()?)
}
