//! Runs measurements: builds them optimised, prepares the references, and keeps the figures in
//! `docs/measurements`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

/// What the user may have set for Cargo; the rest is set by Cargo for this program.
const KEPT: [&str; 5] =
    ["CARGO_TARGET_DIR", "CARGO_HOME", "CARGO_INCREMENTAL", "CARGO_BUILD_JOBS", "CARGO_NET_OFFLINE"];

const KNOWLEDGE_REFERENCES: [&str; 2] = ["chromadb==1.5.9", "psutil==7.2.2"];
const SERVER_REFERENCES: [&str; 4] =
    ["langgraph-api==0.16.7", "langgraph-cli[inmem]==0.4.40", "langgraph==1.2.20", "langchain-openai==1.7.3"];
const GRAPH_REFERENCES: [&str; 3] =
    ["langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2", "psutil==7.2.2"];

#[derive(Deserialize)]
struct Figure {
    figure: String,
    ours: f64,
    reference: f64,
    ratio: f64,
    goal: String,
    holds: bool,
}

/// One page of measurements.
struct Page {
    title: &'static str,
    command: &'static str,
    references: String,
    method: &'static str,
}

/// `just bench-graph`
pub(crate) fn graph() -> anyhow::Result<()> {
    let python = references("bench-references", &GRAPH_REFERENCES)?;
    let mut bench = bench();
    bench.arg("graph").arg(python).arg("bench/langgraph_reference.py");
    let references = format!(
        "{}; bare SQLite\nwith the engine's schema, settings and commits; for the last two, the goal itself.",
        GRAPH_REFERENCES.join(", ")
    );
    let title = "The graph core and the local engine";
    let page = Page { title, command: "just bench-graph", references, method: GRAPH_METHOD };
    keep(&mut bench, &page, "docs/measurements/graph.md")
}

/// `just bench-models`
pub(crate) fn models() -> anyhow::Result<()> {
    let mut bench = bench();
    bench.arg("models");
    let references =
        "a bare HTTP client, a bare loop\naround ONNX Runtime, and where there is none, the goal itself.";
    let page = Page {
        title: "Models",
        command: "just bench-models",
        references: references.to_owned(),
        method: MODELS_METHOD,
    };
    keep(&mut bench, &page, "docs/measurements/models.md")
}

/// `just bench-knowledge`
pub(crate) fn knowledge(arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let python = references("bench-chroma", &KNOWLEDGE_REFERENCES)?;
    let mut bench = bench();
    bench.arg("knowledge").args(arguments).arg(python);
    let references = format!(
        "the bare embedder on the\nsame chunks, the same calls made to Lance directly, {}, and where there is none, the goal itself.",
        KNOWLEDGE_REFERENCES[0]
    );
    let page = Page {
        title: "Reading, loading and searching",
        command: "just bench-knowledge",
        references,
        method: KNOWLEDGE_METHOD,
    };
    keep(&mut bench, &page, "docs/measurements/scale.md")
}

/// `just bench-server`
pub(crate) fn server(arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let python = references("bench-langgraph-server", &SERVER_REFERENCES)?;
    // What is measured is what is shipped.
    run(cargo().args(["build", "--release", "--package", "ibid", "--package", "ibid-bench"]))?;
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let built = metadata.target_directory.join("release");
    let mut bench = Command::new(built.join("ibid-bench"));
    bench.arg("server").arg(built.join("ibid")).args(arguments).arg(python).arg("bench/langgraph_server");
    let references = format!(
        "the model itself without a\nserver between, {} with its in-memory store, and where there is none, the goal itself.",
        SERVER_REFERENCES[0]
    );
    let page = Page { title: "The server", command: "just bench-server", references, method: SERVER_METHOD };
    keep(&mut bench, &page, "docs/measurements/server.md")
}

/// Cargo as it was called itself, so that it finds what was built before.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new("cargo");
    for (name, _) in
        std::env::vars().filter(|(name, _)| name.starts_with("CARGO_") && !KEPT.contains(&name.as_str()))
    {
        cargo.env_remove(name);
    }
    cargo
}

fn bench() -> Command {
    let mut bench = cargo();
    bench.args(["run", "--release", "--package", "ibid-bench", "--"]);
    bench
}

/// Measures, shows the figures, and keeps them.
fn keep(bench: &mut Command, page: &Page, path: &str) -> anyhow::Result<()> {
    let output = bench.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{bench:?} failed");
    let lines = String::from_utf8(output.stdout)?;
    print!("{lines}");
    let figures = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Figure>, _>>()?;
    std::fs::write(path, written(page, &figures)?).context(path.to_owned())
}

/// A Python with the references in it, kept for the next time.
fn references(name: &str, packages: &[&str]) -> anyhow::Result<PathBuf> {
    let home = std::env::var("HOME").context("HOME is not set")?;
    let venv = Path::new(&home).join(".cache/ibid").join(name);
    let python = venv.join("bin/python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    let mut install = Command::new(&python);
    run(install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages))?;
    Ok(python)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

fn written(page: &Page, figures: &[Figure]) -> anyhow::Result<String> {
    let mut text = format!("# {}\n\n{}\n", page.title, machine()?);
    writeln!(text, "Command: `{}`. References in the same run: {}\n", page.command, page.references)?;
    writeln!(text, "| figure | ours | reference | ratio | goal | holds |\n|---|---:|---:|---:|---|---|")?;
    for Figure { figure, ours, reference, ratio, goal, holds } in figures {
        let holds = if *holds { "yes" } else { "**no**" };
        writeln!(
            text,
            "| {figure} | {} | {} | {ratio} | {goal} | {holds} |",
            rounded(*ours),
            rounded(*reference)
        )?;
    }
    text.push_str(page.method);
    Ok(text)
}

/// Three digits that count, and no more.
fn rounded(value: f64) -> String {
    if value >= 1000.0 {
        return format!("{value:.0}");
    }
    let digits = if value <= 0.0 { 0.0 } else { (2.0 - value.log10().floor()).clamp(0.0, 9.0) };
    format!("{value:.*}", digits as usize)
}

fn machine() -> anyhow::Result<String> {
    let date = Command::new("date").arg("+%Y-%m-%d").output()?.stdout;
    let cpus = std::fs::read_to_string("/proc/cpuinfo")?;
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("an unknown CPU");
    let model = model.trim_matches([' ', '\t', ':']);
    let cores = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let memory = std::fs::read_to_string("/proc/meminfo")?;
    let memory = memory.lines().next().and_then(|line| line.split_whitespace().nth(1)).unwrap_or("0");
    let memory = memory.parse::<u64>()? / 1024 / 1024;
    Ok(format!("{}, {model}, {cores} cores, {memory} GiB.", String::from_utf8(date)?.trim()))
}

const GRAPH_METHOD: &str = "
## How it is measured
- *Per node*: ten nodes that count one up, over a state with 20 texts of 1.8 KB, 100 turns on one thread;
  the CPU time of the whole process, all threads, with the kernel's part. LangGraph runs without and with
  its SQLite checkpointer. Each side runs five times in turn, each time in a new process after 20 turns on
  another file to warm up; the median counts.
- *Bytes*: the database after the process has closed it.
- *Six-step turn*: from `submit` to the last event received, against one connection that writes the same
  rows to the same tables in the same number of commits (one to take the turn, one for each step, the last
  step with the end) with `synchronous = FULL`. Seven rounds, each side in turn; the median counts.
- *1,000 turns at once*: from the first `submit` to the last event, and the most memory that was resident.

## What limits it
About half of the CPU time of a journaled step is the commit, most of that the kernel's part of one flush to disk;
bare SQLite spends it too. On a shared host that part swings from run to run, so the figure per node with the
journal must be taken from several: see decision 0003 for those that were made.
";

const MODELS_METHOD: &str = "
## How it is measured
- *First token*: from the call to the first piece of text, through `Chat` and through a bare `reqwest` client that
  reads the same stream, in turn, after five rounds to warm up. The scripted server waits 5 ms before it answers and
  1 ms before each piece; llama.cpp serves a real model with 0.5 billion parameters, 16 tokens of answer.
- *Limit*: 200 calls at once against a server that takes 10 requests in any second and answers others with 429 and
  `Retry-After`; nothing is configured, the limit is learned.
- *Beside documents*: 24 readers keep all 8 places busy with requests of 200 ms while 300 people ask at uneven
  moments; from the call to the arrival of its request at the server.
- *Stop*: from dropping the stream to the moment at which the server sees the connection closed.
- *Embedding and reranking*: 96 passages of 50 to 250 tokens, all-MiniLM-L6-v2 (int8) and a small cross-encoder; the
  bare loop has the same network, tokenizer and threads, pads batches of 16 by hand, and leaves out pooling. Both run
  in processes of their own, in turn, four times; the median of the medians counts.

How well the models find is in [docs/models.md](../models.md).
";

const KNOWLEDGE_METHOD: &str = "
## How it is measured
- *Pages read*: the CPU time of this process and of the processes that read, for chapter 85 of the tariff schedule.
- *Chunks loaded*: from the files to the last commit, two documents at once, against the embedder alone on the same chunks. Both
  have all cores; a quick model leaves less time to hide reading in.
- *Hybrid search*: pieces of 400 characters of real texts, vectors of potion-base-8M, 200 questions three times in turn; the
  first round warms up. Bare Lance makes the same two scans at once with the same filter.
- *Recall*: the nearest 20 through the index against those of comparing every vector.
- *Chroma*: the same vectors in a persistent collection with one field, written 5,000 at a time; the same questions among
  a quarter of them. What ibid writes in that time holds texts, terms, places and all indexes as well.
";

const SERVER_METHOD: &str = "
## How it is measured
- The model and the client run in one process, each in one thread; the server in another, all on the same two cores. The
  model writes the time into every token; the client reads it from the bytes that come in. Turns go to `/threads/…/runs/stream`
  in mode `messages-tuple`, each in a thread of its own, on the default assistant in mode `chat`: route, answer, check.
- *1,000 answers at once*: 1,000 tokens each, one every 20 ms, begun within two seconds; beside them somebody asks for
  `/healthz` a hundred times in a second. The reference asks the model directly.
- *Turns per second*: 510 begun in every second, whatever became of those before; their model says ten tokens in one second.
- *LangGraph's server*: `langgraph dev` with 512 jobs and one node that calls the model with langchain-openai; its store is in
  memory, where ours is on disk, and flushed. It looks for new turns twice in a second, so a turn of one second takes up to two.
- *Start*: from the start of the process to an answer of `/readyz`, with a chapter of the tariff schedule in the store
  and an embedding model that runs here. What an idle server holds includes that model and the pages of the binary that were touched.

## What limits it
A thousand answers with fifty tokens in a second are 50,000 tokens in each second. The model and the client take more than half a core for
that, the server 1.2 to 1.4 of the other one and a half: the machine is nearly full, and what waits for a core is the delay of the slow ones.
How full it is depends on what its neighbours do: a build that differs only in how a model's silence is timed took 22 µs of CPU per token,
with 42 ms at the 99th percentile and 4.8 to 6.0 ms for `/healthz`, in a quiet hour, and 29 to 31 µs, 78 to 95 ms and 11 to 20 ms in the hour of
this table. Of the server's time 31 % is
running the turns (reading what the model says, checking it, telling it), 28 % receiving it from the kernel, 26 % framing and sending, 9 % commits.
With 50 at once the 99th percentile is that of waiting for a commit. A tokio task for each connection, run and listener is woken for each
token; fewer would need a client that reads several chunks of a model at once.
";
