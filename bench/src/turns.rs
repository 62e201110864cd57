//! A durable six-step turn that does nothing, against bare SQLite doing the same commits.

use std::path::Path;
use std::time::Instant;

use cpu_time::ProcessTime;
use futures_util::StreamExt;
use ibid_core::{Message, Scope, Tenant, ThreadId, TurnInput};
use ibid_engine::{Engine, GraphEntry, Graphs, LocalEngine, RunSettings, Turn};
use ibid_graph::{END, Graph, START, State};
use serde_json::{Value, json};

use crate::bare::Bare;

const NODES: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
/// Rounds in which each side has its turn, so that a noisy moment hits both.
const ROUNDS: usize = 7;
const TURNS_ALONE: usize = 200;
const AT_ONCE: usize = 64;
const TURNS_EACH: usize = 40;

#[derive(Clone, serde::Serialize)]
struct Nothing;

impl State for Nothing {
    type Update = ();
    fn apply(&mut self, (): ()) {}
}

fn assistants() -> anyhow::Result<Graphs> {
    let mut builder = Graph::<Nothing>::builder("six");
    let mut before = START;
    for name in NODES {
        builder = builder.node(name, async |_, _| Ok(())).edge(before, name);
        before = name;
    }
    let graph = builder.edge(before, END).build()?;
    let program = graph.compile(|_: TurnInput| Ok(Nothing), |_: &Nothing| vec![Message::assistant("done")]);
    Ok([("six".to_owned(), GraphEntry::turn(program).with_history(0))].into_iter().collect())
}

/// Latency alone and throughput with many at once, each beside bare SQLite.
pub(crate) fn measure() -> anyhow::Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let folder = tempfile::tempdir()?;
    runtime.block_on(async {
        let (mut ours, mut bare, mut many, mut bare_many) = (vec![], vec![], vec![], vec![]);
        let (mut cpu, mut bare_cpu) = (vec![], vec![]);
        for round in 0..ROUNDS {
            let engine = open(&folder.path().join(format!("{round}.db"))).await?;
            let mut reference = Bare::open(&folder.path().join(format!("bare-{round}.db")))?;
            one_after_the_other(&engine, 20).await?;
            reference.turns(20)?;
            let before = ProcessTime::try_now()?;
            ours.push(one_after_the_other(&engine, TURNS_ALONE).await? / TURNS_ALONE as f64);
            cpu.push(before.try_elapsed()?.as_secs_f64() / TURNS_ALONE as f64);
            let before = ProcessTime::try_now()?;
            bare.push(timed(|| reference.turns(TURNS_ALONE))? / TURNS_ALONE as f64);
            bare_cpu.push(before.try_elapsed()?.as_secs_f64() / TURNS_ALONE as f64);
            many.push((AT_ONCE * TURNS_EACH) as f64 / at_once(&engine).await?);
            bare_many.push(1000.0 / timed(|| reference.turns(1000))?);
            engine.close().await;
        }
        Ok(json!({
            "latency_s": median(ours),
            "bare_latency_s": median(bare),
            "cpu_s": median(cpu),
            "bare_cpu_s": median(bare_cpu),
            "turns_per_s": median(many),
            "bare_turns_per_s": median(bare_many),
        }))
    })
}

async fn open(path: &Path) -> anyhow::Result<LocalEngine> {
    Ok(LocalEngine::open(path, assistants()?, RunSettings::default()).await?)
}

async fn turn(engine: &LocalEngine, thread: ThreadId) -> anyhow::Result<()> {
    let scope = Scope::of(Tenant::local());
    let run = engine.submit(&scope, Turn::new(thread, "six", Message::user("go"))).await?.run;
    engine.events(&scope, run, 0).await?.for_each(|_| std::future::ready(())).await;
    Ok(())
}

async fn one_after_the_other(engine: &LocalEngine, count: usize) -> anyhow::Result<f64> {
    let (engine, thread, began) = (engine.clone(), ThreadId::new(), Instant::now());
    // On a worker, as every turn of a server is.
    let running = tokio::spawn(async move {
        for _ in 0..count {
            turn(&engine, thread).await?;
        }
        anyhow::Ok(())
    });
    running.await??;
    Ok(began.elapsed().as_secs_f64())
}

async fn at_once(engine: &LocalEngine) -> anyhow::Result<f64> {
    let began = Instant::now();
    let talks = (0..AT_ONCE).map(|_| {
        let engine = engine.clone();
        tokio::spawn(async move {
            let thread = ThreadId::new();
            for _ in 0..TURNS_EACH {
                turn(&engine, thread).await?;
            }
            anyhow::Ok(())
        })
    });
    for talk in talks.collect::<Vec<_>>() {
        talk.await??;
    }
    Ok(began.elapsed().as_secs_f64())
}

fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
