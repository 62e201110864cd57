//! Several processes on one database, as far as one process can play them: they follow, stop and answer each other's runs, hand
//! them over, take them over, and nobody who was taken for dead changes anything.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use ibid_core::model::AccountShare;
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId, TurnInput};
use ibid_engine::{
    Coordination as _, Engine, Event, GraphEntry, Graphs, MessageWindow, PostgresEngine, PostgresSettings,
    RunStatus, Stop, Turn,
};
use ibid_graph::{Context, END, EventKind, Graph, START, State};
use ibid_testkit::RealPostgres;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::postgres::settings;

#[derive(Clone, serde::Serialize)]
struct Talk {
    heard: String,
    said: Vec<String>,
}

impl State for Talk {
    type Update = String;
    fn apply(&mut self, said: String) {
        self.said.push(said);
    }
}

/// What was performed, over all engines, and what lets waiting nodes go on.
pub(super) struct Stage {
    performed: Mutex<Vec<(String, &'static str)>>,
    pub(super) gate: Semaphore,
}

impl Stage {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { performed: Mutex::default(), gate: Semaphore::new(0) })
    }

    pub(super) fn performed(&self, heard: &str) -> Vec<&'static str> {
        let performed = self.performed.lock().unwrap();
        performed.iter().filter(|(turn, _)| turn == heard).map(|(_, node)| *node).collect()
    }

    /// hear → work → (sure?) → close; `work` waits at the gate if it is told to.
    pub(super) fn graphs(self: &Arc<Self>) -> Graphs {
        let node = |name: &'static str, waits: bool| {
            let stage = self.clone();
            move |talk: Arc<Talk>, context: Context| {
                let stage = stage.clone();
                async move {
                    stage.performed.lock().unwrap().push((talk.heard.clone(), name));
                    if waits && talk.heard.starts_with("wait") {
                        context.token(format!("{name} begins "));
                        if let Some(Ok(permit)) =
                            context.cancel().run_until_cancelled(stage.gate.acquire()).await
                        {
                            permit.forget();
                        }
                    }
                    context.token(name);
                    Ok(name.to_owned())
                }
            }
        };
        let after = |talk: &Talk| if talk.heard == "ask" { "sure" } else { "close" };
        let graph = Graph::<Talk>::builder("play")
            .node("hear", node("hear", false))
            .node("work", node("work", true))
            .interrupt("sure", |talk: &Talk| json!(talk.heard), |_, yes: bool| format!("sure: {yes}"))
            .node("close", node("close", false))
            .edge(START, "hear")
            .edge("hear", "work")
            .branch("work", after, ["sure", "close"])
            .edge("sure", "close")
            .edge("close", END)
            .build()
            .unwrap();
        let program = graph.compile(
            |input: TurnInput| {
                let heard = input.messages[0].text.clone();
                Ok(Talk { heard, said: Vec::new() })
            },
            |talk: &Talk| vec![Message::assistant(talk.said.join(" "))],
        );
        [("play".to_owned(), GraphEntry::turn(program))].into_iter().collect()
    }
}

pub(super) fn scope() -> Scope {
    Scope::of(Tenant::local())
}

pub(super) async fn open(stage: &Arc<Stage>, settings: PostgresSettings) -> PostgresEngine {
    PostgresEngine::open(stage.graphs(), settings).await.unwrap()
}

/// A process that takes turns and follows them, and works on none.
async fn open_server(stage: &Arc<Stage>, url: &str) -> PostgresEngine {
    open(stage, PostgresSettings { works: false, ..settings(url.to_owned()) }).await
}

pub(super) async fn say(engine: &dyn Engine, thread: ThreadId, text: &str) -> RunId {
    engine.submit(&scope(), Turn::new(thread, "play", Message::user(text))).await.unwrap().run
}

pub(super) async fn events(engine: &dyn Engine, run: RunId, after: u64) -> Vec<Event> {
    let stream = engine.events(&scope(), run, after).await.unwrap();
    let all = stream.map(Result::unwrap).collect();
    tokio::time::timeout(Duration::from_secs(30), all).await.expect("the run must go on")
}

/// Waits for a token of a run.
pub(super) async fn until_said(engine: &dyn Engine, run: RunId, said: &str) {
    let mut stream = engine.events(&scope(), run, 0).await.unwrap();
    let seen = async {
        while let Some(event) = stream.next().await {
            if matches!(&event.unwrap().what.kind, EventKind::Token { text } if text.contains(said)) {
                return;
            }
        }
        panic!("the run ended without saying `{said}`");
    };
    tokio::time::timeout(Duration::from_secs(30), seen).await.expect("the run must go on");
}

pub(super) async fn until_ended(engine: &dyn Engine, run: RunId) -> RunStatus {
    let numbers: Vec<u64> = events(engine, run, 0).await.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "events have no gap");
    engine.run(&scope(), run).await.unwrap().status
}

pub(super) async fn conversation(engine: &dyn Engine, thread: ThreadId) -> Vec<String> {
    let window = MessageWindow { before: None, limit: 100 };
    let said = engine.messages(&scope(), thread, window).await.unwrap();
    said.into_iter().map(|said| said.message.text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_works_on_nothing_takes_follows_stops_and_answers() {
    let (stage, url) = (Stage::new(), RealPostgres::get().database());
    let server = open_server(&stage, &url).await;
    let thread = ThreadId::new();
    let run = say(&server, thread, "wait").await;
    let behind = say(&server, thread, "hello").await;
    let worker = open(&stage, settings(url)).await;
    until_said(&server, run, "begins").await;
    let began = Instant::now();
    server.stop(&scope(), run, Stop::Keep).await.unwrap();
    assert_eq!(until_ended(&server, run).await, RunStatus::Stopped);
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "a stop reaches another process at once, not after {:?}",
        began.elapsed()
    );
    assert_eq!(until_ended(&server, behind).await, RunStatus::Done);
    let asking = say(&server, ThreadId::new(), "ask").await;
    let mut stream = server.events(&scope(), asking, 0).await.unwrap();
    while let Some(event) = stream.next().await {
        if matches!(event.unwrap().what.kind, EventKind::Interrupted { .. }) {
            break;
        }
    }
    server.resume(&scope(), asking, json!(true)).await.unwrap();
    assert_eq!(until_ended(&server, asking).await, RunStatus::Done);
    assert_eq!(
        events(&server, asking, 0).await,
        events(&worker, asking, 0).await,
        "everybody hears the same"
    );
    assert_eq!(stage.performed("ask"), ["hear", "work", "close"]);
    assert_eq!(
        conversation(&server, thread).await,
        ["wait", "hear work", "hello", "hear work close"],
        "in the order in which it was said"
    );
    worker.shutdown(Duration::from_secs(1)).await;
    server.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_ends_in_order_hands_its_runs_over_at_the_next_step() {
    let (stage, url) = (Stage::new(), RealPostgres::get().database());
    let first = open(&stage, settings(url.clone())).await;
    let thread = ThreadId::new();
    let run = say(&first, thread, "wait").await;
    until_said(&first, run, "begins").await;
    let second = open(&stage, settings(url)).await;
    let ending = tokio::spawn({
        let first = first.clone();
        async move { first.shutdown(Duration::from_secs(20)).await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let began = Instant::now();
    stage.gate.add_permits(1);
    assert_eq!(until_ended(&second, run).await, RunStatus::Done);
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "nobody waits for a lease, it took {:?}",
        began.elapsed()
    );
    ending.await.unwrap();
    assert_eq!(stage.performed("wait"), ["hear", "work", "close"], "no step ran twice");
    assert_eq!(conversation(&second, thread).await, ["wait", "hear work close"]);
    second.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_was_taken_for_dead_changes_nothing() {
    let (stage, url) = (Stage::new(), RealPostgres::get().database());
    let sleeper = open(&stage, settings(url.clone())).await;
    let thread = ThreadId::new();
    let run = say(&sleeper, thread, "wait").await;
    until_said(&sleeper, run, "begins").await;
    // As if it had slept past its lease, and others had taken its runs over while it did.
    let taken = "UPDATE runs SET owner = NULL, left_behind = true WHERE ended_ms IS NULL RETURNING epoch";
    assert_eq!(RealPostgres::get().execute(&url, taken), "1");
    let other = open(&stage, settings(url.clone())).await;
    let epoch = || RealPostgres::get().execute(&url, "SELECT epoch FROM runs");
    let began = Instant::now();
    while epoch() != "2" {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody takes the run over");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Both are in the middle of the same step now, and the one whose run it is not any more may be the first to finish it.
    while stage.performed("wait").iter().filter(|node| **node == "work").count() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stage.gate.add_permits(2);
    assert_eq!(until_ended(&other, run).await, RunStatus::Done);
    let told = events(&other, run, 0).await;
    let finished: Vec<u32> = told
        .iter()
        .filter(|event| matches!(event.what.kind, EventKind::StepFinished { .. }))
        .map(|event| event.what.step)
        .collect();
    assert_eq!(finished, [1, 2, 3], "each step finished once: {told:?}");
    assert_eq!(conversation(&other, thread).await, ["wait", "hear work close"]);
    other.shutdown(Duration::from_secs(1)).await;
    sleeper.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_missed_its_lease_takes_its_own_run_up_once() {
    let (stage, url) = (Stage::new(), RealPostgres::get().database());
    let worker = open(&stage, settings(url.clone())).await;
    let thread = ThreadId::new();
    let run = say(&worker, thread, "wait").await;
    until_said(&worker, run, "begins").await;
    let silence = std::thread::spawn({
        let url = url.clone();
        move || {
            RealPostgres::get().execute(&url, "BEGIN; LOCK TABLE workers; SELECT pg_sleep(5); COMMIT");
        }
    });
    tokio::time::sleep(settings(url.clone()).lease * 3 / 2).await;
    // It may not begin the next step, and must not take up anew what others took away from it meanwhile.
    stage.gate.add_permits(1);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let taken = "UPDATE runs SET owner = NULL, left_behind = true WHERE ended_ms IS NULL RETURNING epoch";
    assert_eq!(RealPostgres::get().execute(&url, taken), "1");
    tokio::task::spawn_blocking(|| silence.join().unwrap()).await.unwrap();
    assert_eq!(until_ended(&worker, run).await, RunStatus::Done);
    assert_eq!(stage.performed("wait"), ["hear", "work", "close"]);
    assert_eq!(conversation(&worker, thread).await, ["wait", "hear work close"]);
    worker.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_takes_long_to_take_up_is_not_given_back() {
    let (stage, url) = (Stage::new(), RealPostgres::get().database());
    let (server, thread) = (open_server(&stage, &url).await, ThreadId::new());
    let run = say(&server, thread, "hello").await;
    // Whoever claims the run cannot read its journal before several heartbeats have compared what is stored.
    let (time, locked) = (settings(url.clone()).lease * 3 / 4, url.clone());
    let lock = std::thread::spawn(move || {
        let sql = format!("BEGIN; LOCK TABLE journal; SELECT pg_sleep({}); COMMIT", time.as_secs_f64());
        RealPostgres::get().execute(&locked, &sql);
    });
    let is_locked = "SELECT count(*) FROM pg_locks WHERE relation = 'journal'::regclass AND granted";
    while RealPostgres::get().execute(&url, is_locked) == "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let worker = open(&stage, settings(url.clone())).await;
    assert_eq!(until_ended(&server, run).await, RunStatus::Done);
    assert_eq!(stage.performed("hello"), ["hear", "work", "close"]);
    assert_eq!(RealPostgres::get().execute(&url, "SELECT epoch FROM runs"), "2", "it was claimed once");
    tokio::task::spawn_blocking(|| lock.join().unwrap()).await.unwrap();
    for engine in [server, worker] {
        engine.shutdown(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_turns_on_many_workers_that_come_and_go_end_each_once() {
    let (stage, url) = (Stage::new(), RealPostgres::get().database());
    stage.gate.add_permits(10_000);
    let server = open_server(&stage, &url).await;
    let mut workers =
        vec![open(&stage, settings(url.clone())).await, open(&stage, settings(url.clone())).await];
    let mut runs = Vec::new();
    for number in 0..120 {
        let thread = ThreadId::new();
        let text = format!("turn {number}");
        runs.push((thread, text.clone(), say(&server, thread, &text).await));
        if number % 30 == 15 {
            let leaving = workers.remove(0);
            // One in order, the next as by a kill.
            if number % 60 == 15 {
                leaving.shutdown(Duration::from_secs(5)).await;
            } else {
                leaving.close().await;
            }
            workers.push(open(&stage, settings(url.clone())).await);
        }
    }
    for (thread, text, run) in runs {
        assert_eq!(until_ended(&server, run).await, RunStatus::Done, "{text}");
        assert_eq!(conversation(&server, thread).await, [text.as_str(), "hear work close"]);
    }
    for worker in workers {
        worker.shutdown(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_and_allowances_are_those_of_all_processes() {
    let (stage, url) = (Stage::new(), RealPostgres::get().database());
    let (one, other) = (open_server(&stage, &url).await, open_server(&stage, &url).await);
    let lease = async |engine: &PostgresEngine, time: u64| {
        engine.take_lease("maintenance", Duration::from_millis(time)).await.unwrap()
    };
    assert!(lease(&one, 60_000).await && !lease(&other, 60_000).await, "one has it");
    assert!(lease(&one, 200).await, "and may keep it for longer or shorter");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(lease(&other, 60_000).await && !lease(&one, 60_000).await, "until its time is over");
    one.end_lease("maintenance").await.unwrap();
    assert!(!lease(&one, 60_000).await, "nobody gives back what another has");
    other.end_lease("maintenance").await.unwrap();
    assert!(lease(&one, 60_000).await);

    let two = NonZeroU32::new(2).unwrap();
    assert_eq!(one.admit_request("ana", two).await.unwrap(), None);
    assert_eq!(other.admit_request("ana", two).await.unwrap(), None);
    assert!(one.admit_request("ana", two).await.unwrap().is_some(), "both count");
    assert!(other.admit_request("ana", two).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_is_shared_by_the_processes_that_use_it() {
    let (stage, url) = (Stage::new(), RealPostgres::get().database());
    let (one, other) = (open_server(&stage, &url).await, open_server(&stage, &url).await);
    let minute = Duration::from_secs(60);
    let share = async |engine: &PostgresEngine| engine.take_share("openai", minute).await.unwrap();
    assert_eq!(share(&one).await, AccountShare::WHOLE);
    assert_eq!(share(&other).await.of, 2);
    // The numbers go round every few seconds, so it may take a second look to see both of one round.
    let both_differ = async || share(&one).await.index != share(&other).await.index;
    assert!(both_differ().await || both_differ().await);
    other.end_share("openai").await.unwrap();
    assert_eq!(share(&one).await, AccountShare::WHOLE);
    one.take_share("openai", Duration::from_millis(1)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(share(&other).await.of, 1, "who does not come again has gone");
}
