//! The binary as a person uses it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod assistants;
mod backup;
mod beside_a_server;
mod cells;
mod compatibility;
mod deploy;
mod documents;
mod erasing;
mod eval_self;
mod evals;
mod folders;
mod models;
mod quick_start;
mod serve;
mod several;
mod site;
mod sync;
mod telemetry;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The folder of a program that was installed from a package, which is tried instead of the one that was built.
fn installed() -> Option<PathBuf> {
    std::env::var_os("IBID_INSTALLED").map(PathBuf::from)
}

/// The program that is tried.
fn program() -> PathBuf {
    installed().map_or_else(|| env!("CARGO_BIN_EXE_ibid").into(), |folder| folder.join("ibid"))
}

fn ibid(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("IBID_")) {
        command.env_remove(name);
    }
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    ibid(folder, arguments).output().unwrap()
}

fn printed(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn refused(output: &Output, code: i32, expected: &str) {
    assert_eq!(output.status.code(), Some(code));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains(expected), "{error}");
}

const THREAD: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

#[test]
fn help_says_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    for (name, arguments) in [
        ("help", &["--help"][..]),
        ("help_of_ask", &["ask", "--help"]),
        ("help_of_threads_list", &["threads", "list", "--help"]),
        ("help_of_models", &["models", "--help"]),
    ] {
        insta::assert_snapshot!(name, printed(&run(folder.path(), arguments)));
    }
}

#[test]
fn a_graph_is_drawn_and_a_wrong_name_is_met_with_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let all = "car-sales\ndefault\nfintech\npolicy-desk\nresearch\ntrade-compliance\nrehearsal\n";
    assert_eq!(printed(&run(folder.path(), &["graph"])), all);
    insta::assert_snapshot!(printed(&run(folder.path(), &["graph", "rehearsal"])));
    insta::assert_snapshot!(
        "graph_of_trade_compliance",
        printed(&run(folder.path(), &["graph", "trade-compliance"]))
    );
    insta::assert_snapshot!("graph_of_policy_desk", printed(&run(folder.path(), &["graph", "policy-desk"])));
    refused(&run(folder.path(), &["graph", "rehersal"]), 1, "did you mean `rehearsal`?");
}

#[test]
fn a_conversation_is_asked_listed_shown_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert!(printed(&run(folder, &["threads", "list"])).contains("No conversations yet"));
    refused(&run(folder, &["threads", "show", THREAD]), 1, "there is no thread");

    let asked =
        printed(&run(folder, &["ask", "--thread", THREAD, "rehearsal", "What is the rate for lamps?"]));
    assert_eq!(asked, "What is the rate for lamps?\n");
    let listed = printed(&run(folder, &["threads", "list", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed["id"], &listed["messages"]), (&THREAD.into(), &2.into()));
    assert!(printed(&run(folder, &["threads", "list"])).contains("What is the rate for lamps?"));
    let shown = printed(&run(folder, &["threads", "show", THREAD]));
    assert!(shown.contains("you:\nWhat is the rate for lamps?\n\nassistant:\nWhat is"), "{shown}");

    refused(&run(folder, &["threads", "delete", THREAD]), 1, "with --yes");
    printed(&run(folder, &["threads", "delete", THREAD, "--yes"]));
    refused(&run(folder, &["threads", "show", THREAD]), 1, "there is no thread");
}

#[test]
fn a_killed_answer_is_finished_by_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let long = "one two three four five six seven eight nine ten eleven";
    let mut asking =
        ibid(folder, &["ask", "--thread", THREAD, "rehearsal", long]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(asking.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("answering")));
    asking.kill().unwrap();
    asking.wait().unwrap();
    let doctor = printed(&run(folder, &["doctor"]));
    assert!(doctor.contains("1 conversations, 1 unfinished turns"), "{doctor}");

    printed(&run(folder, &["ask", "--thread", THREAD, "and then?"]));
    let shown = printed(&run(folder, &["threads", "show", THREAD, "--json"]));
    let texts: Vec<String> = shown
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["text"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(texts, [long, long, "and then?", "and then?"]);
}

#[test]
fn the_configuration_is_checked_and_shown_with_its_sources() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("ibid.toml"), "[engine]\nretention = '2h'\n").unwrap();
    let mut command = ibid(folder, &["config", "check", "--set", "engine.stop_grace=5s"]);
    insta::assert_snapshot!(printed(&command.env("IBID_DATA", "elsewhere").output().unwrap()));

    std::fs::write(folder.join("ibid.toml"), "[engine]\nretension = '2h'\n").unwrap();
    refused(&run(folder, &["config", "check"]), 1, "did you mean `engine.retention`?");
    let doctor = run(folder, &["doctor"]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("WRONG  configuration"));
    refused(&run(folder, &["--config", "missing.toml", "threads", "list"]), 1, "cannot read missing.toml");
    refused(&run(folder, &["threads", "show", "nonsense"]), 64, "is not an id");
}

#[test]
fn doctor_finds_what_is_wrong_and_says_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::create_dir(folder.join("ibid-data")).unwrap();
    std::fs::write(folder.join("ibid-data/engine.db"), "this is not a database, it is a poem").unwrap();
    let doctor = run(folder, &["doctor"]);
    assert_eq!(doctor.status.code(), Some(1));
    let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(told.contains("WRONG  engine file") && told.contains("help: "), "{told}");
    refused(&run(folder, &["ask", "rehearsal", "hello"]), 1, "so nothing was asked");
}
