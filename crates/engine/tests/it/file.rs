//! The file: who may open it, what is dropped from it, and what stays.

use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt;
use ibid_core::model::{Day, Spending};
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId, TurnInput};
use ibid_engine::{
    Engine, EngineFile, Error, Event, GraphEntry, Graphs, Lifetime, LocalEngine, MessageWindow, RunSettings,
    ThreadFilter, ThreadPage, Turn,
};
use ibid_graph::{END, Graph, START, State};

#[derive(Clone, serde::Serialize)]
struct Bulk(String);

impl State for Bulk {
    type Update = String;
    fn apply(&mut self, change: String) {
        self.0 = change;
    }
}

/// One node whose change is 100 KB.
fn bulky() -> Graphs {
    let graph = Graph::<Bulk>::builder("bulky")
        .node("fetch", async |_, _| Ok("x".repeat(100_000)))
        .edge(START, "fetch")
        .edge("fetch", END)
        .build()
        .unwrap();
    let program =
        graph.compile(|_: TurnInput| Ok(Bulk(String::new())), |_: &Bulk| vec![Message::assistant("done")]);
    [("bulky".to_owned(), GraphEntry::turn(program))].into_iter().collect()
}

async fn open(path: &Path) -> Result<LocalEngine, Error> {
    LocalEngine::open(path, bulky(), RunSettings::default()).await
}

fn scope() -> Scope {
    Scope::of(Tenant::local())
}

async fn events_of(engine: &LocalEngine, run: RunId) -> Vec<Event> {
    engine.events(&scope(), run, 0).await.unwrap().map(Result::unwrap).collect().await
}

async fn run_turns(engine: &LocalEngine, thread: ThreadId, count: usize) -> RunId {
    let mut last = None;
    for _ in 0..count {
        let turn = Turn::new(thread, "bulky", Message::user("go"));
        let run = engine.submit(&scope(), turn).await.unwrap().run;
        engine.events(&scope(), run, 0).await.unwrap().for_each(|_| std::future::ready(())).await;
        last = Some(run);
    }
    last.unwrap()
}

#[tokio::test]
async fn a_second_engine_on_the_same_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.db");
    let first = open(&path).await.unwrap();
    assert!(EngineFile::at(&path).inspect().unwrap().in_use);
    let deleted = EngineFile::at(&path).delete_thread(&scope(), ThreadId::new()).err();
    assert!(matches!(deleted, Some(Error::InUse { .. })), "got {deleted:?}");
    let second = open(&path).await.err();
    assert!(matches!(second, Some(Error::InUse { .. })), "got {second:?}");
    first.close().await;
    open(&path).await.unwrap().close().await;
}

#[tokio::test]
async fn files_of_others_and_of_the_future_are_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let (foreign, newer) = (folder.path().join("foreign.db"), folder.path().join("newer.db"));
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let refused = open(&foreign).await.err();
    assert!(refused.is_some_and(|error| error.to_string().contains("a database of another program")));

    open(&newer).await.unwrap().close().await;
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let refused = open(&newer).await.err();
    assert!(refused.is_some_and(|error| error.to_string().contains("has schema version 99")));
}

#[tokio::test]
async fn dropped_steps_leave_a_trace_give_their_room_back_and_messages_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.db");
    let engine = open(&path).await.unwrap();
    let thread = ThreadId::new();
    let run = run_turns(&engine, thread, 30).await;
    engine.drop_steps_older_than(Duration::from_secs(3600)).await.unwrap();
    assert_eq!(engine.steps(&scope(), run).await.unwrap().len(), 1, "young steps stay");
    let told = events_of(&engine, run).await;
    let (steps, state) =
        (engine.steps(&scope(), run).await.unwrap(), engine.state(&scope(), run, 1).await.unwrap());

    tokio::time::sleep(Duration::from_millis(5)).await;
    engine.drop_steps_older_than(Duration::ZERO).await.unwrap();
    assert_eq!(events_of(&engine, run).await, told, "what was told can still be read");
    assert_eq!(engine.steps(&scope(), run).await.unwrap(), steps, "and what each step changed");
    assert_eq!(engine.state(&scope(), run, 1).await.unwrap(), state);
    let rest: Vec<Event> = engine.events(&scope(), run, 2).await.unwrap().map(Result::unwrap).collect().await;
    assert_eq!(rest, told[2..], "from any number on");
    let (forked, of) = engine.fork(&scope(), run, 1).await.unwrap();
    assert_eq!(
        engine.steps(&scope(), of).await.unwrap().first(),
        steps.first(),
        "a fork takes its steps over"
    );
    events_of(&engine, of).await;
    engine.delete_thread(&scope(), forked).await.unwrap();

    engine.drop_traces_older_than(Duration::from_secs(3600)).await.unwrap();
    assert_eq!(events_of(&engine, run).await, told, "young traces stay");
    engine.drop_traces_older_than(Duration::ZERO).await.unwrap();
    assert!(engine.steps(&scope(), run).await.unwrap().is_empty());
    let events = engine.events(&scope(), run, 0).await.err();
    assert!(matches!(events, Some(Error::EventsDropped(_))), "got {events:?}");
    let window = MessageWindow { before: None, limit: 100 };
    assert_eq!(engine.messages(&scope(), thread, window).await.unwrap().len(), 60);
    engine.close().await;

    let report = EngineFile::at(&path).inspect().unwrap();
    assert!(report.bytes < 200_000, "3 MB of steps were dropped, {} bytes are left", report.bytes);
    assert_eq!((report.threads, report.unfinished, report.damage), (1, 0, Vec::new()));
}

#[tokio::test]
async fn the_retention_time_is_kept_without_being_asked() {
    let folder = tempfile::tempdir().unwrap();
    let settings = RunSettings {
        retention: Duration::from_millis(200),
        trace_retention: Duration::from_millis(400),
        ..RunSettings::default()
    };
    let engine = LocalEngine::open(&folder.path().join("engine.db"), bulky(), settings).await.unwrap();
    let run = run_turns(&engine, ThreadId::new(), 1).await;
    for _ in 0..100 {
        if engine.steps(&scope(), run).await.unwrap().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the steps were never dropped");
}

/// Whether a text stands in any file of a folder.
fn stands_in(folder: &Path, text: &str) -> bool {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.into_iter().any(|file| {
        let bytes = std::fs::read(file).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thread_that_was_deleted_no_byte_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let settings = RunSettings { retention: Duration::from_secs(24), ..RunSettings::default() };
    let engine = LocalEngine::open(&folder.path().join("engine.db"), bulky(), settings).await.unwrap();
    let (kept, deleted) = (ThreadId::new(), ThreadId::new());
    for (thread, says) in [(kept, "quince"), (deleted, "damson")] {
        run_turns(&engine, thread, 3).await;
        // Short ones lie within pages, long ones fill pages of their own.
        for length in [1, 20, 5000] {
            let said = vec![Message::user(says.repeat(length))];
            engine.add_messages(&scope(), thread, said).await.unwrap();
        }
    }
    assert!(stands_in(folder.path(), "damson"));
    engine.delete_thread(&scope(), deleted).await.unwrap();
    let began = std::time::Instant::now();
    while stands_in(folder.path(), "damson") {
        assert!(began.elapsed() < Duration::from_secs(20), "it is never erased");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(stands_in(folder.path(), "quince"));
    engine.close().await;
}

/// Begins a thread with something that was said.
async fn begin(engine: &LocalEngine, scope: &Scope, said: String) {
    let thread = ThreadId::new();
    engine.create_thread(scope, thread, serde_json::Map::new(), Lifetime::Kept).await.unwrap();
    engine.add_messages(scope, thread, vec![Message::user(said)]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_are_kept_as_long_as_their_tenants_say() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| Scope::of(name.parse().unwrap());
    let settings = RunSettings {
        thread_retention: Some(Duration::from_secs(3600)),
        tenant_retention: [("brief".parse().unwrap(), Duration::ZERO)].into(),
        ..RunSettings::default()
    };
    let engine = LocalEngine::open(&folder.path().join("engine.db"), bulky(), settings).await.unwrap();
    for name in ["brief", "other"] {
        begin(&engine, &of(name), format!("of {name}")).await;
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    engine.drop_old_threads().await.unwrap();
    let count = async |name: &str| engine.count_threads(&of(name), ThreadFilter::default()).await.unwrap();
    assert_eq!((count("brief").await, count("other").await), (0, 1));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_tenant_that_was_purged_no_byte_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.db");
    let engine = LocalEngine::open(&path, bulky(), RunSettings::default()).await.unwrap();
    let of = |name: &str| Scope::of(name.parse().unwrap());
    for (name, says) in [("stays", "quince"), ("medlar", "damson")] {
        for length in [1, 20, 5000] {
            begin(&engine, &of(name), says.repeat(length)).await;
        }
        engine.add(&name.parse().unwrap(), Day::of(std::time::SystemTime::now()), 5).await.unwrap();
    }
    assert!(EngineFile::at(&path).purge_tenant(&"medlar".parse().unwrap()).is_err(), "an engine uses it");
    engine.close().await;
    assert!(stands_in(folder.path(), "damson") && stands_in(folder.path(), "medlar"));
    assert_eq!(EngineFile::at(&path).purge_tenant(&"medlar".parse().unwrap()).unwrap(), 3);
    assert!(!stands_in(folder.path(), "damson") && !stands_in(folder.path(), "medlar"));
    assert!(stands_in(folder.path(), "quince"));
    let page = ThreadPage { limit: 10, ..ThreadPage::default() };
    assert_eq!(EngineFile::at(&path).threads(&of("stays"), page).unwrap().len(), 3);
}

#[tokio::test]
async fn a_turn_whose_assistant_is_gone_fails_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.db");
    let slow = Graph::<Bulk>::builder("slow")
        .node("wait", async |_, _| std::future::pending().await)
        .edge(START, "wait")
        .edge("wait", END)
        .build()
        .unwrap();
    let program = slow.compile(|_: TurnInput| Ok(Bulk(String::new())), |_: &Bulk| Vec::new());
    let assistants = [("slow".to_owned(), GraphEntry::turn(program))].into_iter().collect();
    let engine = LocalEngine::open(&path, assistants, RunSettings::default()).await.unwrap();
    let turn = Turn::new(ThreadId::new(), "slow", Message::user("go"));
    let run = engine.submit(&scope(), turn).await.unwrap().run;
    engine.close().await;

    let engine = open(&path).await.unwrap();
    engine.events(&scope(), run, 0).await.unwrap().for_each(|_| std::future::ready(())).await;
    let error = engine.run(&scope(), run).await.unwrap().error;
    assert_eq!(error.as_deref(), Some("there is no assistant `slow`"));
}

#[tokio::test]
async fn what_tenants_have_used_outlives_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.db");
    let (acme, other): (Tenant, Tenant) = ("acme".parse().unwrap(), "other".parse().unwrap());
    let today = Day::of(std::time::SystemTime::now());
    let yesterday = Day::of(std::time::SystemTime::now() - Duration::from_secs(24 * 60 * 60));
    for round in 1..=2 {
        let engine = open(&path).await.unwrap();
        let adding = (0..50).map(|_| engine.add(&acme, today, 10));
        for added in futures_util::future::join_all(adding).await {
            added.unwrap();
        }
        assert_eq!(engine.spent(&acme, today).await.unwrap(), 500 * round);
        assert_eq!(engine.spent(&other, today).await.unwrap(), 0);
        assert_eq!(engine.spent(&acme, yesterday).await.unwrap(), 0);
        engine.close().await;
        assert!(engine.add(&acme, today, 10).await.is_err(), "it is closed");
    }
}

#[tokio::test]
async fn a_temporary_thread_does_not_outlive_its_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.db");
    let engine = LocalEngine::open(&path, Graphs::default(), RunSettings::default()).await.unwrap();
    let [kept, dropped] = [ThreadId::new(), ThreadId::new()];
    engine.create_thread(&scope(), kept, serde_json::Map::new(), Lifetime::Kept).await.unwrap();
    engine.create_thread(&scope(), dropped, serde_json::Map::new(), Lifetime::Temporary).await.unwrap();
    let listed = engine.threads(&scope(), ThreadPage::first(9)).await.unwrap();
    assert_eq!(listed.iter().map(|thread| thread.id).collect::<Vec<_>>(), [kept]);
    engine.drop_temporary_older_than(Duration::from_secs(60)).await.unwrap();
    assert!(engine.thread(&scope(), dropped).await.is_ok(), "it was used a moment ago");
    tokio::time::sleep(Duration::from_millis(5)).await;
    engine.drop_temporary_older_than(Duration::ZERO).await.unwrap();
    assert!(matches!(engine.thread(&scope(), dropped).await, Err(Error::UnknownThread(_))));
    assert!(engine.thread(&scope(), kept).await.is_ok());
    engine.close().await;
}
