//! Traces of many turns: how large a packed one is beside its journal, and how long it takes to open one.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures_util::StreamExt;
use ibid_core::metric;
use ibid_core::model::Usage;
use ibid_core::trace::{self, Evaluation};
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId, TurnInput};
use ibid_engine::{Engine, EngineFile, GraphEntry, LocalEngine, RunSettings, RunStatus, Turn};
use ibid_graph::{Context, END, Graph, NodeError, START, State};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::figure::{Figure, Goal};

/// So many turns end before their journals are packed.
const BATCH: usize = 500;
/// Passages of a turn, and how many bytes each has.
const PASSAGES: usize = 5;
const PASSAGE_BYTES: usize = 1500;
/// Pieces in which an answer comes.
const PIECES: usize = 60;
/// So many traces are opened.
const OPENED: usize = 300;

#[derive(Clone, serde::Serialize)]
struct Answering(Value);

impl State for Answering {
    type Update = Value;
    fn apply(&mut self, update: Value) {
        self.0 = update;
    }
}

/// Makes so many turns with texts from a folder, packs them, and opens some.
pub(crate) fn measure(turns: usize, texts: &Path) -> anyhow::Result<()> {
    let text: Arc<str> = texts_of(texts)?.into();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("engine.db");
    runtime.block_on(async {
        let settings = RunSettings { retention: Duration::from_secs(3600), ..RunSettings::default() };
        let engine = LocalEngine::open(&path, graph(&text)?, settings).await?;
        let mut runs = Vec::with_capacity(turns);
        let mut journal = 0;
        while runs.len() < turns {
            let batch = (0..BATCH.min(turns - runs.len())).map(|_| tokio::spawn(one(engine.clone())));
            for run in batch.collect::<Vec<_>>() {
                runs.push(run.await??);
            }
            if journal == 0 {
                let sql = "SELECT sum(length(events) + length(coalesce(state_update, ''))) FROM journal";
                journal =
                    Connection::open(&path)?.query_row(sql, [], |row| row.get::<_, usize>(0))? / runs.len();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            engine.drop_steps_older_than(Duration::ZERO).await?;
        }
        let sql = "SELECT sum(length(packed)) / count(*), count(*) FROM traces";
        let (packed, count): (usize, usize) =
            Connection::open(&path)?.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        ensure!(count == turns, "{count} of {turns} traces are there");
        let packed_ms = opened(&engine, &runs).await?;
        let mut young = Vec::new();
        for _ in 0..BATCH {
            young.push(one(engine.clone()).await?);
        }
        let journal_ms = opened(&engine, &young).await?;
        engine.close().await;
        let bytes = EngineFile::at(&path).inspect()?.bytes;
        let reported = Goal::Reported;
        Figure::compare("a packed trace beside its journal, bytes", packed as f64, journal as f64, reported)
            .print()?;
        let whole = bytes as f64 / turns as f64;
        Figure::compare("the whole file for each turn, bytes", whole, journal as f64, reported).print()?;
        let (ours, reference) = (packed_ms[OPENED / 2], journal_ms[OPENED / 2]);
        Figure::compare("opening a packed trace beside a journal, median, ms", ours, reference, reported)
            .print()?;
        let slow = packed_ms[OPENED * 99 / 100];
        Figure::compare("opening a packed trace, 99 %, of 50 ms", slow, 50.0, Goal::AtMostTimes(1.0)).print()
    })
}

/// How long it takes to open some of them, in milliseconds, sorted.
async fn opened(engine: &LocalEngine, runs: &[RunId]) -> anyhow::Result<Vec<f64>> {
    let (scope, mut random) = (Scope::of(Tenant::local()), StdRng::seed_from_u64(7));
    let mut times = Vec::with_capacity(OPENED);
    for _ in 0..OPENED {
        let run = runs[random.random_range(0..runs.len())];
        let began = Instant::now();
        let events = engine.events(&scope, run, 0).await?.count().await;
        let steps = engine.steps(&scope, run).await?.len();
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        ensure!(events > PIECES && steps == 3, "{events} events and {steps} steps");
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// One turn from beginning to end.
async fn one(engine: LocalEngine) -> anyhow::Result<RunId> {
    let scope = Scope::of(Tenant::local());
    let turn = Turn::new(ThreadId::new(), "answering", Message::user("What is the rate for LED lamps?"));
    let run = engine.submit(&scope, turn).await?.run;
    engine.events(&scope, run, 0).await?.for_each(|_| std::future::ready(())).await;
    ensure!(engine.run(&scope, run).await?.status == RunStatus::Done);
    Ok(run)
}

/// A turn as an assistant has it: passages in the state and in events, an answer in pieces, citations, and what is told of each.
pub(crate) fn graph(text: &Arc<str>) -> anyhow::Result<ibid_engine::Graphs> {
    let (found, cited) = (text.clone(), text.clone());
    let graph = Graph::<Answering>::builder("answering")
        .node("retrieve", move |_, context: Context| {
            let passages = passages(&found);
            async move {
                let _searching = trace::retrieval_span(&["What is the rate for LED lamps?".to_owned()], PASSAGES);
                metric::retrieval_ended(Duration::from_millis(5));
                context.status("searching the documents");
                let sources = passages.iter().enumerate();
                let sources = sources.map(|(at, text)| json!({ "number": at + 1, "title": &text[..text.floor_char_boundary(40)], "page": at }));
                context.custom("sources", sources.collect());
                Ok::<_, NodeError>(json!({ "passages": passages }))
            }
        })
        .node("generate", |_, context: Context| async move {
            let usage = Usage { input_tokens: 1200, output_tokens: 80, ..Usage::default() };
            trace::chat_used(&trace::chat_span("answer"), "answer", usage);
            for piece in 0..PIECES {
                context.custom("piece", json!({ "text": format!("word {piece} ") }));
            }
            context.custom("usage", json!({ "model": "answer", "usage": { "input_tokens": 1200, "output_tokens": 80 } }));
            Ok::<_, NodeError>(json!({ "draft": "word ".repeat(PIECES) }))
        })
        .node("verify", move |_, context: Context| {
            let passages = passages(&cited);
            async move {
                let checking = trace::guard_span();
                let verdict = Evaluation { name: "grounded", label: "pass", score: None, explanation: None };
                trace::evaluated(&checking, verdict);
                context.custom("citations", json!([{ "source": 1, "snippet": &passages[0][..passages[0].floor_char_boundary(200)] }]));
                Ok::<_, NodeError>(json!({ "answer": "word ".repeat(PIECES) }))
            }
        })
        .edge(START, "retrieve")
        .edge("retrieve", "generate")
        .edge("generate", "verify")
        .edge("verify", END)
        .build()?;
    let program = graph
        .compile(|_: TurnInput| Ok(Answering(Value::Null)), |_: &Answering| vec![Message::assistant("done")]);
    Ok([("answering".to_owned(), GraphEntry::turn(program))].into_iter().collect())
}

/// Pieces of a text, anywhere in it.
fn passages(text: &str) -> Vec<String> {
    let mut random = rand::rng();
    let last = text.len().saturating_sub(PASSAGE_BYTES).max(1);
    let piece = |from: usize| {
        let from = text.floor_char_boundary(from);
        text[from..text.floor_char_boundary(from + PASSAGE_BYTES)].to_owned()
    };
    (0..PASSAGES).map(|_| piece(random.random_range(0..last))).collect()
}

/// Every text of a folder, one after the other.
pub(crate) fn texts_of(folder: &Path) -> anyhow::Result<String> {
    let mut all = String::new();
    for file in std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            all.push_str(&std::fs::read_to_string(path)?);
        }
    }
    ensure!(all.len() > PASSAGE_BYTES * PASSAGES, "{} has too little text", folder.display());
    Ok(all)
}
