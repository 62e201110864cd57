//! Runs measurements: builds them optimised, prepares the references, and keeps the figures in
//! `docs/measurements`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

const REFERENCES: [&str; 3] = ["langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2", "psutil==7.2.2"];

#[derive(Deserialize)]
struct Figure {
    figure: String,
    ours: f64,
    reference: f64,
    ratio: f64,
    goal: String,
    holds: bool,
}

/// `just bench-graph`
pub(crate) fn graph() -> anyhow::Result<()> {
    let python = references()?;
    run(Command::new("cargo").args(["build", "--release", "--package", "ibid-bench"]))?;
    let mut bench = Command::new("cargo");
    bench.args(["run", "--quiet", "--release", "--package", "ibid-bench", "--", "graph"]);
    bench.arg(python).arg("bench/langgraph_reference.py");
    let output = bench.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{bench:?} failed");
    let lines = String::from_utf8(output.stdout)?;
    print!("{lines}");
    let figures = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Figure>, _>>()?;
    let page = Path::new("docs/measurements/graph.md");
    std::fs::write(page, written(&figures)?).with_context(|| page.display().to_string())?;
    Ok(())
}

/// A Python with the references in it, kept for the next time.
fn references() -> anyhow::Result<PathBuf> {
    let home = std::env::var("HOME").context("HOME is not set")?;
    let venv = Path::new(&home).join(".cache/ibid/bench-references");
    let python = venv.join("bin/python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    let mut install = Command::new(&python);
    run(install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(REFERENCES))?;
    Ok(python)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

fn written(figures: &[Figure]) -> anyhow::Result<String> {
    let mut text = String::from("# The graph core and the local engine\n\n");
    writeln!(text, "{}", machine()?)?;
    writeln!(
        text,
        "Command: `just bench-graph`. References in the same run: {}; bare SQLite",
        REFERENCES.join(", ")
    )?;
    writeln!(text, "with the engine's schema, settings and commits; for the last two, the goal itself.\n")?;
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
    text.push_str(METHOD);
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

const METHOD: &str = "
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
