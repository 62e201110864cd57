//! Measures the graph core, the local engine, the models, knowledge and the server beside their references, in the same run. Each part
//! runs in a process of its own, so that CPU time and memory are its own; the figures come out as one
//! JSON object for each line.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the figures are the output")]

mod assistants;
mod bare;
mod crowd;
mod figure;
mod knowledge;
mod models;
mod overhead;
mod server;
mod texts;
mod traces;
mod turns;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

use figure::{Figure, Goal};

/// The seed of the catalogue that is written for people to try.
const SEED: u64 = 7;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["graph", python, script] => graph(Path::new(python), Path::new(script)),
        ["models"] => models::measure(),
        ["quality", xquad] => models::quality(Path::new(xquad)),
        ["retrieval", data, most] => knowledge::evaluate(Path::new(data), most.parse()?, None),
        ["weights", data, most, model] => knowledge::evaluate(Path::new(data), most.parse()?, Some(model)),
        ["cache", data] => assistants::cache(Path::new(data)),
        ["cars", rows] => {
            print!("{}", ibid_testkit::cars::cars(rows.parse()?, SEED));
            Ok(())
        }
        ["catalogue", most] => assistants::catalogue(most.parse()?),
        ["cells", data] => assistants::cells(Path::new(data)),
        ["tables", data] => assistants::tables(Path::new(data)),
        ["telemetry", texts] => overhead::measure(Path::new(texts)),
        ["traces", turns, texts] => traces::measure(turns.parse()?, Path::new(texts)),
        ["quotes", data] => assistants::quotes(Path::new(data)),
        ["knowledge", data, most, python] => {
            knowledge::scale(Path::new(data), most.parse()?, Path::new(python))
        }
        ["server", ibid, documents, python, graph] => {
            server::measure(Path::new(ibid), Path::new(documents), Path::new(python), Path::new(graph))
        }
        [knowledge::READ, request] => {
            ibid_reading::read_in_this_process(request);
            Ok(())
        }
        ["part", "plain"] => show(&texts::plain()?),
        ["part", "journal"] => show(&texts::journal()?),
        ["part", "turns"] => show(&turns::measure()?),
        ["part", "overhead", endpoint, texts] => show(&overhead::turns(endpoint, Path::new(texts))?),
        ["part", "crowd"] => show(&crowd::measure()?),
        ["part", "models-here"] => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            show(&runtime.block_on(models::here::ours())?)
        }
        ["part", "models-bare"] => show(&models::here::bare()?),
        _ => bail!(
            "usage: ibid-bench graph PYTHON SCRIPT | models | quality XQUAD | retrieval DATA MOST | weights DATA MOST MODEL | knowledge DATA MOST PYTHON | quotes DATA | cache DATA | cars ROWS | catalogue ROWS | cells DATA | tables DATA | server IBID DOCUMENTS PYTHON GRAPH"
        ),
    }
}

fn show(part: &Value) -> anyhow::Result<()> {
    println!("{part}");
    Ok(())
}

/// How often each side is measured; the median counts.
const REPEATS: usize = 5;

/// Everything about the graph core and the local engine.
fn graph(python: &Path, script: &Path) -> anyhow::Result<()> {
    let reference = |kind: &str| {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(python);
        command.arg(script).arg(kind).arg(folder.path());
        output_of(command)
    };
    // One after the other, several times, so that a noisy moment does not decide.
    let both = |ours: &str, theirs: &str| {
        let mut all = (Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            all.0.push(part(ours)?);
            all.1.push(reference(theirs)?);
        }
        anyhow::Ok(all)
    };
    let less = |figure, ours: f64, theirs: f64, times| {
        Figure::compare(figure, ours, theirs, Goal::TimesLess(times)).print()
    };
    let (ours, theirs) = both("plain", "plain")?;
    let cpu = "cpu_s_per_node";
    less("CPU seconds per node, no journal", middle(&ours, cpu)?, middle(&theirs, cpu)?, 30.0)?;
    let (ours, theirs) = both("journal", "sqlite")?;
    less("CPU seconds per node, SQLite journal", middle(&ours, cpu)?, middle(&theirs, cpu)?, 20.0)?;
    let stored = middle(&theirs, "stored_bytes")?;
    less("bytes after 100 turns, steps kept", middle(&ours, "stored_bytes")?, stored, 20.0)?;
    less("bytes after 100 turns, steps dropped", middle(&ours, "dropped_bytes")?, stored, 200.0)?;
    let resident = "resident_bytes";
    less("resident bytes after 100 turns", middle(&ours, resident)?, middle(&theirs, resident)?, 10.0)?;
    let turns = part("turns")?;
    let of = |field: &str| number(&turns, field);
    let (ours, bare) = (of("latency_s")?, of("bare_latency_s")?);
    Figure::compare("seconds for a durable six-step turn, one at a time", ours, bare, Goal::AtMostTimes(2.0))
        .print()?;
    let (ours, bare) = (of("cpu_s")?, of("bare_cpu_s")?);
    Figure::compare("CPU seconds for a durable six-step turn", ours, bare, Goal::AtMostTimes(2.0)).print()?;
    let (ours, bare) = (of("turns_per_s")?, of("bare_turns_per_s")?);
    Figure::compare("durable six-step turns per second, 64 at once", ours, bare, Goal::AtLeastTimes(1.0))
        .print()?;
    let crowd = part("crowd")?;
    let seconds = number(&crowd, "seconds")?;
    Figure::compare("seconds for 1,000 turns at once that wait 1 s", seconds, 3.0, Goal::AtMostTimes(1.0))
        .print()?;
    let resident = number(&crowd, "resident_bytes")?;
    Figure::compare("resident bytes with 1,000 turns at once", resident, 200e6, Goal::AtMostTimes(1.0))
        .print()
}

/// Runs one part of this program in a process of its own.
fn part(name: &str) -> anyhow::Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["part", name]);
    output_of(command)
}

fn output_of(mut command: Command) -> anyhow::Result<Value> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn number(part: &Value, field: &str) -> anyhow::Result<f64> {
    part[field].as_f64().with_context(|| format!("no `{field}` in {part}"))
}

/// The median of a field over several parts.
fn middle(parts: &[Value], field: &str) -> anyhow::Result<f64> {
    let mut values = parts.iter().map(|part| number(part, field)).collect::<anyhow::Result<Vec<_>>>()?;
    values.sort_by(f64::total_cmp);
    Ok(values[values.len() / 2])
}

/// How much memory this process holds now, or held at most.
fn memory_bytes(field: &str) -> anyhow::Result<u64> {
    memory_bytes_of("self", field)
}

/// The same of another process.
fn memory_bytes_of(process: &str, field: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(Path::new("/proc").join(process).join("status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).context("no such field")?;
    let kilobytes: u64 = line.trim_matches([':', ' ', '\t', 'k', 'B']).parse()?;
    Ok(kilobytes * 1024)
}
