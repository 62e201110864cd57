//! The process is killed with SIGKILL at random moments while twenty threads run six-step turns, and
//! started again. What happened is counted outside the process, in a file that each node appends to.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId, TurnInput};
use ibid_engine::{
    Engine, EngineFile, GraphEntry, Graphs, LocalEngine, MessageWindow, RunSettings, RunStatus, Turn,
};
use ibid_graph::{Context, END, EventKind, Graph, NodeError, START, State};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng as _};
use serde::{Deserialize, Serialize};

use super::faulty_disk;

const THREADS: u8 = 20;
const NODES: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
const FOLDER: &str = "IBID_CRASH_FOLDER";
const DRAIN: &str = "IBID_CRASH_DRAIN";
const FULL: &str = "IBID_CRASH_FULL";
const SEED: &str = "IBID_CRASH_SEED";

#[derive(Clone, Serialize)]
struct Six {
    run: RunId,
    heard: String,
    done: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Done(String);

impl State for Six {
    type Update = Done;
    fn apply(&mut self, change: Done) {
        self.done.push(change.0);
    }
}

/// Six nodes in a row, each noting in `performed` that it began.
fn graphs(performed: &Arc<File>) -> Graphs {
    let mut builder = Graph::<Six>::builder("six");
    for (position, name) in NODES.into_iter().enumerate() {
        let performed = performed.clone();
        let work = move |state: Arc<Six>, context: Context| {
            let performed = performed.clone();
            async move { work(&performed, &state, &context).await }
        };
        let before = if position == 0 { START } else { NODES[position - 1] };
        builder = builder.node(name, work).edge(before, name);
    }
    let program = builder.edge("six", END).build().unwrap().compile(
        |input: TurnInput| {
            Ok(Six { run: input.run, heard: input.messages[0].text.clone(), done: Vec::new() })
        },
        |six: &Six| vec![Message::assistant(format!("{}: {}", six.heard, six.done.join(" ")))],
    );
    [("six".to_owned(), GraphEntry::turn(program).with_history(4))].into_iter().collect()
}

async fn work(performed: &File, state: &Six, context: &Context) -> Result<Done, NodeError> {
    note(performed, &format!("{} {}", state.run, context.step()));
    context.token(format!("{}:{} ", context.node(), context.attempt()));
    let pause = pause(state, context.step());
    tokio::time::sleep(Duration::from_micros(pause)).await;
    Ok(Done(context.node().to_owned()))
}

/// How long a step takes, in microseconds: as the seed says, if there is one.
fn pause(state: &Six, step: u32) -> u64 {
    let Some(seed) = seed() else { return rand::rng().random_range(0..4000) };
    let own = state.heard.bytes().fold(u64::from(step), |hash, byte| hash.wrapping_mul(31) + u64::from(byte));
    StdRng::seed_from_u64(seed ^ own).random_range(0..4000)
}

/// The seed of a process whose schedule is chosen.
fn seed() -> Option<u64> {
    std::env::var(SEED).ok()?.parse().ok()
}

/// How many threads are talked in: few where each schedule is short.
fn threads() -> u8 {
    if seed().is_some() { 4 } else { THREADS }
}

/// Appends a line that outlives the process. A kill can tear it where it crosses a page of the file, so it
/// stands between two line ends and has a full stop behind it: what lacks that is no line.
fn note(mut file: &File, text: &str) {
    file.write_all(format!("\n{text}.\n").as_bytes()).unwrap();
}

fn noted(folder: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_suffix('.')).map(str::to_owned).collect()
}

fn append(folder: &Path, name: &str) -> Arc<File> {
    Arc::new(OpenOptions::new().create(true).append(true).open(folder.join(name)).unwrap())
}

fn thread(number: u8) -> ThreadId {
    ThreadId::from_bytes([number + 1; 16])
}

fn scope() -> Scope {
    Scope::of(Tenant::local())
}

async fn open(folder: &Path) -> LocalEngine {
    let graphs = graphs(&append(folder, "performed"));
    // A turn may be unlucky many times and is not to be set aside for it.
    let settings = RunSettings { crashes: i64::MAX, ..RunSettings::default() };
    loop {
        match LocalEngine::open(&folder.join("engine.db"), graphs.clone(), settings.clone()).await {
            Ok(engine) => return engine,
            Err(_) if std::env::var(FULL).is_ok() => tokio::time::sleep(Duration::from_millis(1)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// The process that is killed: it takes up what was left, and submits turn after turn to each thread.
#[test]
#[ignore = "started by the test below as a process of its own"]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = PathBuf::from(folder);
    let runtime = match seed() {
        // One thread, whose time passes as soon as all wait for it.
        Some(_) => tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build(),
        None => tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build(),
    };
    runtime.unwrap().block_on(async {
        let engine = open(&folder).await;
        let talks = (0..threads()).map(|number| talk(engine.clone(), folder.clone(), number));
        if std::env::var(DRAIN).is_err() {
            futures_util::future::join_all(talks).await;
        }
        for number in 0..threads() {
            for run in engine.runs(&scope(), thread(number)).await.unwrap_or_default() {
                let events = engine.events(&scope(), run.id, 0).await.unwrap();
                events.for_each(|_| std::future::ready(())).await;
            }
        }
        engine.close().await;
    });
}

/// Submits turn after turn, two at a time, and notes each that was taken.
async fn talk(engine: LocalEngine, folder: PathBuf, number: u8) {
    let taken = append(&folder, "taken");
    let own = format!("{number} ");
    let mut next = noted(&folder, "taken").iter().filter(|line| line.starts_with(&own)).count();
    loop {
        let mut turn = Turn::new(thread(number), "six", Message::user(format!("turn {next}")));
        turn.idempotency_key = Some(format!("turn {next}"));
        let run = match engine.submit(&scope(), turn).await {
            Ok(submitted) => submitted.run,
            // The disk is full: whoever asks tries again.
            Err(_) if std::env::var(FULL).is_ok() => {
                tokio::time::sleep(Duration::from_millis(1)).await;
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        note(&taken, &format!("{number} {next}"));
        if next % 2 == 1 {
            let events = engine.events(&scope(), run, 0).await.unwrap();
            events.for_each(|_| std::future::ready(())).await;
        }
        next += 1;
    }
}

fn child_command(folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["crash::child", "--exact", "--ignored", "--nocapture"]).env(FOLDER, folder);
    command.stdout(Stdio::null());
    command
}

/// Lets what is left end, and holds it against what was counted; returns how many turns there were.
fn settle(folder: &Path, seed: Option<u64>) -> u64 {
    let mut command = child_command(folder);
    command.env(DRAIN, "1").envs(seed.map(|seed| (SEED, seed.to_string())));
    assert!(command.status().unwrap().success(), "every turn left must end");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(verify(folder))
}

#[test]
fn nothing_is_lost_or_done_twice_when_the_process_is_killed() {
    let kills: u32 = std::env::var("IBID_KILLS").map_or(50, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..kills {
        let mut child = child_command(folder.path()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(rand::rng().random_range(5..250)));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert!(status.code().is_none(), "it must have been killed, but it ended with {status}");
    }
    let turns = settle(folder.path(), None);
    assert!(turns > u64::from(kills), "only {turns} turns ran, the test shows nothing");
    println!("{kills} kills, {turns} turns, each ended once");
}

#[test]
fn nothing_that_was_said_is_lost_when_the_power_fails() {
    let failures: u64 = std::env::var("IBID_KILLS").map_or(30, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let library = faulty_disk::library(folder.path());
    let log = folder.path().join("changes");
    let mut random = rand::rng();
    for seed in 0..failures {
        let _ = std::fs::remove_file(&log);
        let mut command = child_command(folder.path());
        command.env("LD_PRELOAD", &library).env("FAULTY_DISK_LOG", &log);
        command.env("FAULTY_DISK_KILL_AT", random.random_range(20..2000).to_string());
        let status = command.status().unwrap();
        assert!(status.code().is_none(), "it must have been killed, but it ended with {status}");
        faulty_disk::lose_power(folder.path(), &log, seed);
        let found = EngineFile::at(&folder.path().join("engine.db")).inspect();
        assert!(found.is_ok_and(|report| report.damage.is_empty()), "the file is damaged, seed {seed}");
    }
    let turns = settle(folder.path(), None);
    assert!(turns > failures, "only {turns} turns ran, the test shows nothing");
    println!("{failures} losses of power, {turns} turns, each ended once");
}

/// Seeds that failed once, each with what it showed.
const FAILED_SEEDS: &[u64] = &[];

#[test]
fn whatever_the_schedule_nothing_is_lost_or_done_twice() {
    let count: u64 = std::env::var("IBID_SEEDS").map_or(40, |text| text.parse().unwrap());
    let first: u64 = std::env::var("IBID_FIRST_SEED").map_or(0, |text| text.parse().unwrap());
    // In memory, where there is such a place: what a disk would lose is chosen here.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let library = faulty_disk::library(folder.path());
    // A file without anything in it takes longer to make than a schedule.
    let template = folder.path().join("template");
    std::fs::create_dir(&template).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { open(&template).await.close().await });
    let mut turns = 0;
    for seed in FAILED_SEEDS.iter().copied().chain(first..first + count) {
        let here = folder.path().join(seed.to_string());
        std::fs::create_dir(&here).unwrap();
        std::fs::copy(template.join("engine.db"), here.join("engine.db")).unwrap();
        let checked = std::panic::catch_unwind(|| one_schedule(&here, &library, seed));
        turns += checked.unwrap_or_else(|_| panic!("seed {seed} failed"));
        std::fs::remove_dir_all(&here).unwrap();
    }
    assert!(turns > count, "only {turns} turns ran, the test shows nothing");
    println!("{count} seeds from {first}, {turns} turns");
}

/// Loses power three times under one schedule, lets the rest end, and counts.
fn one_schedule(folder: &Path, library: &Path, seed: u64) -> u64 {
    let mut random = StdRng::seed_from_u64(seed);
    let log = folder.join("changes");
    for round in 0..3 {
        let _ = std::fs::remove_file(&log);
        let mut command = child_command(folder);
        command.env("LD_PRELOAD", library).env("FAULTY_DISK_LOG", &log).env(SEED, seed.to_string());
        command.env("FAULTY_DISK_KILL_AT", random.random_range(1..150).to_string());
        let status = command.status().unwrap();
        assert!(status.code().is_none(), "it must have been killed, but it ended with {status}");
        faulty_disk::lose_power(folder, &log, seed ^ round);
    }
    settle(folder, Some(seed))
}

#[test]
fn turns_go_on_after_the_disk_was_full_or_failed_for_a_while() {
    let rounds: u64 = std::env::var("IBID_KILLS").map_or(6, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let library = faulty_disk::library(folder.path());
    let mut random = rand::rng();
    for round in 0..rounds {
        let log = folder.path().join("changes");
        let _ = std::fs::remove_file(&log);
        let mut command = child_command(folder.path());
        command.env("LD_PRELOAD", &library).env("FAULTY_DISK_LOG", &log).env(FULL, "1");
        let fault = if round % 2 == 0 { "FAULTY_DISK_FULL_AT" } else { "FAULTY_DISK_SYNC_FAILS_AT" };
        command.env(fault, random.random_range(100..500).to_string());
        command.env("FAULTY_DISK_FAILS_FOR", random.random_range(1..200).to_string());
        let mut child = command.spawn().unwrap();
        let before = noted(folder.path(), "taken").len();
        let began = std::time::Instant::now();
        while noted(folder.path(), "taken").len() < before + 100 {
            assert!(began.elapsed() < Duration::from_secs(30), "nothing is taken any more, round {round}");
            assert!(child.try_wait().unwrap().is_none(), "it must not end because the disk is full");
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(settle(folder.path(), None) > rounds * 100);
}

/// Holds what is stored against what was counted outside; returns how many turns there were.
async fn verify(folder: &Path) -> u64 {
    let performed = performed(folder);
    let taken = noted(folder, "taken");
    let engine = open(folder).await;
    let mut turns = 0;
    for number in 0..THREADS {
        let runs = engine.runs(&scope(), thread(number)).await.unwrap_or_default();
        let promised = taken.iter().filter(|line| line.starts_with(&format!("{number} "))).count();
        assert!(runs.len() >= promised, "thread {number} took {promised} turns and knows {}", runs.len());
        let mut expected = Vec::new();
        for (position, run) in runs.iter().enumerate() {
            assert_eq!(run.status, RunStatus::Done, "turn {position} of thread {number}: {:?}", run.error);
            expected.push(format!("turn {position}"));
            expected.push(format!("turn {position}: {}", NODES.join(" ")));
            check_steps(&performed[&run.id]);
            check_events(&engine, run.id).await;
        }
        let window = MessageWindow { before: None, limit: 100_000 };
        let messages = engine.messages(&scope(), thread(number), window).await.unwrap_or_default();
        let messages: Vec<_> = messages.into_iter().map(|said| said.message.text).collect();
        assert_eq!(messages, expected, "no message may be lost or doubled");
        turns += runs.len() as u64;
    }
    engine.close().await;
    turns
}

/// Which steps each run began, in the order in which they began.
fn performed(folder: &Path) -> HashMap<RunId, Vec<u32>> {
    let mut found: HashMap<RunId, Vec<u32>> = HashMap::new();
    for line in noted(folder, "performed") {
        let (run, step) = line.split_once(' ').unwrap();
        found.entry(run.parse().unwrap()).or_default().push(step.parse().unwrap());
    }
    found
}

/// A step that was followed by the next one had finished, so it must never begin again.
fn check_steps(began: &[u32]) {
    assert!(began.is_sorted(), "a finished step ran again: {began:?}");
    let mut distinct = began.to_vec();
    distinct.dedup();
    assert_eq!(distinct, [1, 2, 3, 4, 5, 6], "a step was left out");
}

async fn check_events(engine: &LocalEngine, run: RunId) {
    let events: Vec<_> = engine.events(&scope(), run, 0).await.unwrap().map(Result::unwrap).collect().await;
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>(), "the stream has a gap");
    let ended = events.iter().filter(|event| matches!(event.what.kind, EventKind::RunEnded { .. })).count();
    assert_eq!(ended, 1, "a turn must end exactly once");
    let finished: Vec<(u32, u32)> = events
        .iter()
        .filter(|event| matches!(event.what.kind, EventKind::StepFinished { .. }))
        .map(|event| (event.what.step, event.what.attempt))
        .collect();
    assert_eq!(finished.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    let mut last: HashMap<u32, u32> = HashMap::new();
    for event in &events {
        if let EventKind::StepStarted { .. } = event.what.kind {
            let attempt = last.insert(event.what.step, event.what.attempt);
            assert!(attempt.is_none_or(|before| before < event.what.attempt), "an attempt was told twice");
        }
    }
    assert!(finished.iter().all(|(step, attempt)| last[step] == *attempt), "the last attempt finishes");
}
