//! Ten trivial nodes over a state with 20 texts of 1.8 KB: without a journal, and on the local engine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cpu_time::ProcessTime;
use futures_util::StreamExt;
use ibid_core::{Message, Scope, Tenant, ThreadId, TurnInput};
use ibid_engine::{Engine, EngineFile, GraphEntry, LocalEngine, RunSettings, Turn};
use ibid_graph::{END, Graph, START, State};
use serde::Serialize;
use serde_json::{Value, json};

use crate::memory_bytes;

const NODES: [&str; 10] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"];
const TURNS: u32 = 100;
const WARM_UP: u32 = 20;

#[derive(Clone, Serialize)]
struct Texts {
    texts: Vec<String>,
    count: u64,
}

impl State for Texts {
    type Update = u64;

    fn apply(&mut self, change: u64) {
        self.count = change;
    }
}

fn texts() -> Vec<String> {
    (0..20).map(|number| format!("{number:02}{}", "x".repeat(1798))).collect()
}

fn graph() -> anyhow::Result<Graph<Texts>> {
    let mut builder = Graph::builder("ten");
    let mut before = START;
    for name in NODES {
        builder = builder.node(name, async |state: Arc<Texts>, _| Ok(state.count + 1)).edge(before, name);
        before = name;
    }
    Ok(builder.edge(before, END).build()?)
}

/// Without a journal. A turn is so short that many are needed to see it.
pub(crate) fn plain() -> anyhow::Result<Value> {
    const REPEATS: u32 = 50;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let graph = graph()?;
    runtime.block_on(async {
        let before = ProcessTime::try_now()?;
        for _ in 0..TURNS * REPEATS {
            let end = graph.run(Texts { texts: texts(), count: 0 }).await?;
            anyhow::ensure!(end.count == NODES.len() as u64);
        }
        let nodes = f64::from(TURNS * REPEATS) * NODES.len() as f64;
        Ok(json!({ "cpu_s_per_node": before.try_elapsed()?.as_secs_f64() / nodes }))
    })
}

/// On the local engine, 100 turns on one thread whose history holds the texts.
pub(crate) fn journal() -> anyhow::Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let folder = tempfile::tempdir()?;
    runtime.block_on(async {
        // Both sides warm up on a file of their own.
        let engine = open(&folder.path().join("warm/engine.db")).await?;
        turns(&engine, WARM_UP).await?;
        engine.close().await;

        let path = folder.path().join("measured/engine.db");
        let engine = open(&path).await?;
        let before = ProcessTime::try_now()?;
        turns(&engine, TURNS).await?;
        let cpu = before.try_elapsed()?.as_secs_f64() / (f64::from(TURNS) * NODES.len() as f64);
        let resident = memory_bytes("VmRSS")?;
        engine.close().await;
        let file = EngineFile::at(&path);
        let stored = file.inspect()?.bytes;

        let engine = open(&path).await?;
        tokio::time::sleep(Duration::from_millis(5)).await;
        engine.drop_steps_older_than(Duration::ZERO).await?;
        engine.close().await;
        Ok(json!({
            "cpu_s_per_node": cpu,
            "resident_bytes": resident,
            "stored_bytes": stored,
            "dropped_bytes": file.inspect()?.bytes,
        }))
    })
}

async fn open(path: &Path) -> anyhow::Result<LocalEngine> {
    let program = graph()?.compile(
        |input: TurnInput| {
            let all = input.history.into_iter().chain(input.messages);
            Ok(Texts { texts: all.map(|message| message.text).collect(), count: 0 })
        },
        |end: &Texts| vec![Message::assistant(end.count.to_string())],
    );
    let assistants =
        [("ten".to_owned(), GraphEntry::turn(program).with_history(10_000))].into_iter().collect();
    Ok(LocalEngine::open(path, assistants, RunSettings::default()).await?)
}

/// Some turns, one after the other, on a new thread; on a worker, as every turn of a server is.
async fn turns(engine: &LocalEngine, count: u32) -> anyhow::Result<()> {
    let engine = engine.clone();
    let running = tokio::spawn(async move {
        let (scope, thread) = (Scope::of(Tenant::local()), ThreadId::new());
        for number in 0..count {
            let mut turn = Turn::new(thread, "ten", Message::user("go on"));
            if number == 0 {
                turn.messages = texts().into_iter().map(Message::user).collect();
            }
            let run = engine.submit(&scope, turn).await?.run;
            engine.events(&scope, run, 0).await?.for_each(|_| std::future::ready(())).await;
        }
        anyhow::Ok(())
    });
    running.await?
}
