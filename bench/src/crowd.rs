//! A thousand turns at once, each waiting one second in a node.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use ibid_core::{Message, Scope, Tenant, ThreadId, TurnInput};
use ibid_engine::{Engine, GraphEntry, LocalEngine, RunSettings, RunStatus, Turn};
use ibid_graph::{END, Graph, START, State};
use serde_json::{Value, json};

use crate::memory_bytes;

const TURNS: usize = 1000;

#[derive(Clone, serde::Serialize)]
struct Nothing;

impl State for Nothing {
    type Update = ();
    fn apply(&mut self, (): ()) {}
}

/// Seconds until the last has ended, and the most memory held meanwhile.
pub(crate) fn measure() -> anyhow::Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let folder = tempfile::tempdir()?;
    let graph = Graph::<Nothing>::builder("waiting")
        .node("wait", async |_, _| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(())
        })
        .edge(START, "wait")
        .edge("wait", END)
        .build()?;
    let program = graph.compile(|_: TurnInput| Ok(Nothing), |_: &Nothing| vec![Message::assistant("done")]);
    let assistants = [("waiting".to_owned(), GraphEntry::turn(program))].into_iter().collect();
    runtime.block_on(async {
        let path = folder.path().join("engine.db");
        let engine = LocalEngine::open(&path, assistants, RunSettings::default()).await?;
        let began = Instant::now();
        let turns = (0..TURNS).map(|_| {
            let engine = engine.clone();
            tokio::spawn(async move {
                let scope = Scope::of(Tenant::local());
                let turn = Turn::new(ThreadId::new(), "waiting", Message::user("go"));
                let run = engine.submit(&scope, turn).await?.run;
                engine.events(&scope, run, 0).await?.for_each(|_| std::future::ready(())).await;
                anyhow::ensure!(engine.run(&scope, run).await?.status == RunStatus::Done);
                Ok(())
            })
        });
        for turn in turns.collect::<Vec<_>>() {
            turn.await??;
        }
        let seconds = began.elapsed().as_secs_f64();
        engine.close().await;
        Ok(json!({ "seconds": seconds, "resident_bytes": memory_bytes("VmHWM")? }))
    })
}
