//! Ten trivial nodes over a state with 20 texts of 1.8 KB: without a journal, and on the local engine.

use std::sync::Arc;
use std::time::Duration;

use cpu_time::ProcessTime;
use futures_util::StreamExt;
use ibid_core::{Message, Scope, Tenant, ThreadId, TurnInput};
use ibid_engine::{Assistant, Engine, LocalEngine, LocalSettings, Turn};
use ibid_graph::{END, Graph, START, State};
use serde::Serialize;
use serde_json::{Value, json};

use crate::memory_bytes;

const NODES: [&str; 10] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"];
const TURNS: u32 = 100;

#[derive(Clone, Serialize)]
struct Texts {
    texts: Vec<String>,
    count: u64,
}

impl State for Texts {
    type Change = u64;

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
    let path = folder.path().join("engine.db");
    let program = graph()?.program(
        |input: TurnInput| {
            let all = input.history.into_iter().chain(input.messages);
            Ok(Texts { texts: all.map(|message| message.text).collect(), count: 0 })
        },
        |end: &Texts| vec![Message::assistant(end.count.to_string())],
    );
    let assistant = Assistant { program, history: 10_000 };
    runtime.block_on(async {
        let assistants = [("ten".to_owned(), assistant)].into_iter().collect();
        let engine = LocalEngine::open(&path, assistants, LocalSettings::default()).await?;
        let (scope, thread) = (Scope::of(Tenant::local()), ThreadId::new());
        let before = ProcessTime::try_now()?;
        let own = engine.clone();
        // On a worker, as every turn of a server is.
        let running = tokio::spawn(async move {
            for number in 0..TURNS {
                let mut turn = Turn::new(thread, "ten", Message::user("go on"));
                if number == 0 {
                    turn.messages = texts().into_iter().map(Message::user).collect();
                }
                let run = own.submit(&scope, turn).await?.run;
                own.events(&scope, run, 0).await?.for_each(|_| std::future::ready(())).await;
            }
            anyhow::Ok(())
        });
        running.await??;
        let cpu = before.try_elapsed()?.as_secs_f64() / (f64::from(TURNS) * NODES.len() as f64);
        let resident = memory_bytes("VmRSS")?;
        engine.close().await;
        let stored = ibid_engine::EngineFile::at(&path).inspect()?.bytes;

        let engine = LocalEngine::open(&path, std::iter::empty().collect(), LocalSettings::default()).await?;
        tokio::time::sleep(Duration::from_millis(5)).await;
        engine.drop_steps_older_than(Duration::ZERO).await?;
        engine.close().await;
        Ok(json!({
            "cpu_s_per_node": cpu,
            "resident_bytes": resident,
            "stored_bytes": stored,
            "dropped_bytes": ibid_engine::EngineFile::at(&path).inspect()?.bytes,
        }))
    })
}
