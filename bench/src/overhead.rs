//! What traces and metrics cost: the same turns with and without them, at the same pace, each in a process of its own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use futures_util::StreamExt;
use ibid_core::{Message, Scope, ThreadId};
use ibid_engine::{Engine, LocalEngine, RunSettings, Turn};
use ibid_telemetry::{LogSettings, MetricsRegistry, Telemetry, TraceSettings};
use serde_json::{Value, json};

use crate::figure::{Figure, Goal};
use crate::{middle, output_of, traces};

/// Rounds in which each side has its turn.
const ROUNDS: usize = 5;
/// So many turns begin in each second, for so many seconds.
const PACE: usize = 500;
const SECONDS: usize = 5;
/// The share of turns that are traced.
const SAMPLE: f64 = 0.1;
const TENANTS: usize = 100;
/// So often metrics are told while it goes on.
const SCRAPES: usize = 20;

/// Measures both, beside each other.
pub(crate) fn measure(texts: &Path) -> anyhow::Result<()> {
    let sink = sink()?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(part(texts, "")?);
        with.push(part(texts, &sink)?);
    }
    let (ours, reference) = (middle(&with, "cpu_ms")?, middle(&without, "cpu_ms")?);
    Figure::compare("CPU of a turn with traces and metrics, ms", ours, reference, Goal::AtMostTimes(1.05))
        .print()?;
    let (ours, reference) = (middle(&with, "turns_per_s")?, middle(&without, "turns_per_s")?);
    Figure::compare("turns in a second", ours, reference, Goal::Reported).print()?;
    let slowest = middle(&with, "scrape_ms")?;
    Figure::compare("the slowest telling of metrics, of 20 ms", slowest, 20.0, Goal::AtMostTimes(1.0)).print()
}

fn part(texts: &Path, endpoint: &str) -> anyhow::Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["part", "overhead", endpoint]).arg(texts);
    output_of(command)
}

/// Turns at a pace, told to an endpoint if there is one.
pub(crate) fn turns(endpoint: &str, texts: &Path) -> anyhow::Result<Value> {
    let traced = TraceSettings {
        endpoint: Some(endpoint.to_owned()).filter(|endpoint| !endpoint.is_empty()),
        sample: SAMPLE,
        ..TraceSettings::default()
    };
    let telemetry = Telemetry::install(&LogSettings::default(), &traced)?;
    let metrics = if endpoint.is_empty() { None } else { Some(MetricsRegistry::install()?) };
    let graphs = traces::graph(&traces::texts_of(texts)?.into())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let scopes: Result<Vec<Scope>, _> =
        (0..TENANTS).map(|at| format!("tenant-{at}").parse().map(Scope::of)).collect();
    let scopes = scopes?;
    let measured = runtime.block_on(async {
        let path = folder.path().join("engine.db");
        let engine = LocalEngine::open(&path, graphs, RunSettings::default()).await?;
        let (began, cpu) = (Instant::now(), ProcessTime::try_now()?);
        let (mut running, mut slowest) = (Vec::new(), Duration::ZERO);
        let mut pace = tokio::time::interval(Duration::from_millis(1000) / u32::try_from(PACE)?);
        for turn in 0..PACE * SECONDS {
            pace.tick().await;
            running.push(tokio::spawn(one(engine.clone(), scopes[turn % TENANTS].clone())));
            if let Some(metrics) = metrics.as_ref().filter(|_| turn % (PACE * SECONDS / SCRAPES) == 0) {
                let began = Instant::now();
                std::hint::black_box(metrics.render());
                slowest = slowest.max(began.elapsed());
            }
        }
        let count = running.len() as f64;
        for turn in running {
            turn.await??;
        }
        let (took, cpu) = (began.elapsed(), cpu.try_elapsed()?);
        engine.close().await;
        anyhow::Ok(json!({
            "cpu_ms": cpu.as_secs_f64() * 1000.0 / count,
            "turns_per_s": count / took.as_secs_f64(),
            "scrape_ms": slowest.as_secs_f64() * 1000.0,
        }))
    });
    drop(telemetry);
    measured
}

async fn one(engine: LocalEngine, scope: Scope) -> anyhow::Result<()> {
    let turn = Turn::new(ThreadId::new(), "answering", Message::user("What is the rate for LED lamps?"));
    let run = engine.submit(&scope, turn).await?.run;
    engine.events(&scope, run, 0).await?.for_each(|_| std::future::ready(())).await;
    Ok(())
}

/// Takes whatever is sent to it over HTTP, and says that it is fine.
fn sink() -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            std::thread::spawn(move || swallow(connection));
        }
    });
    Ok(format!("http://{address}"))
}

fn swallow(mut connection: TcpStream) -> std::io::Result<()> {
    let (mut bytes, mut taken) = (vec![0; 1 << 16], Vec::new());
    loop {
        let count = connection.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        taken.extend_from_slice(&bytes[..count]);
        let Some(head) = taken.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&taken[..head]).to_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        if taken.len() >= head + 4 + length.unwrap_or(0) {
            taken.clear();
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
        }
    }
}
