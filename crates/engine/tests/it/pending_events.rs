//! What a long step tells: heard whole by whoever comes, at any time, also after the process was ended in the middle of it.

use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt;
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId, TurnInput};
use ibid_engine::{Engine, GraphEntry, Graphs, LocalEngine, RunSettings, Turn};
use ibid_graph::{END, EventKind, Graph, START, State};

/// More words than are kept at hand, so that some must be read from the file.
const WORDS: u32 = 400;
/// Events after which others come; words may be told together.
const MANY: u64 = 90;

#[derive(Clone, serde::Serialize)]
struct Nothing;

impl State for Nothing {
    type Update = ();
    fn apply(&mut self, (): ()) {}
}

/// One step that says its words.
fn talker() -> Graphs {
    let graph = Graph::<Nothing>::builder("talker")
        .node("talk", async |_, context| {
            for word in 0..WORDS {
                context.token(format!("{word} "));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok(())
        })
        .edge(START, "talk")
        .edge("talk", END)
        .build()
        .unwrap();
    let program = graph.compile(|_: TurnInput| Ok(Nothing), |_: &Nothing| vec![Message::assistant("done")]);
    [("talker".to_owned(), GraphEntry::turn(program))].into_iter().collect()
}

async fn open(path: &Path) -> LocalEngine {
    let settings = RunSettings { event_delay: Duration::from_millis(2), ..RunSettings::default() };
    LocalEngine::open(path, talker(), settings).await.unwrap()
}

fn scope() -> Scope {
    Scope::of(Tenant::local())
}

/// Hears a run from a number on, as far as a number: the words, and the number of the last event.
async fn hear(engine: &LocalEngine, run: RunId, after: u64, until: u64) -> (String, u64) {
    let mut events = engine.events(&scope(), run, after).await.unwrap();
    let (mut words, mut last) = (String::new(), after);
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        assert_eq!(event.seq, last + 1, "there is no gap");
        last = event.seq;
        if let EventKind::Token { text } = event.what.kind {
            words.push_str(&text);
        }
        if last == until {
            break;
        }
    }
    (words, last)
}

fn all() -> String {
    (0..WORDS).map(|word| format!("{word} ")).collect()
}

#[tokio::test]
async fn whoever_comes_late_hears_all_of_a_step_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder.path().join("engine.db")).await;
    let turn = Turn::new(ThreadId::new(), "talker", Message::user("go"));
    let run = engine.submit(&scope(), turn).await.unwrap().run;
    hear(&engine, run, 0, MANY).await;
    let (words, last) = hear(&engine, run, 0, u64::MAX).await;
    assert_eq!(words, all());
    for after in [0, 1, 70, last - 1] {
        let (_, end) = hear(&engine, run, after, u64::MAX).await;
        assert_eq!(end, last, "from {after} on");
    }
    engine.close().await;
}

#[tokio::test]
async fn what_was_told_before_an_end_stays_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.db");
    let engine = open(&path).await;
    let turn = Turn::new(ThreadId::new(), "talker", Message::user("go"));
    let run = engine.submit(&scope(), turn).await.unwrap().run;
    let (heard, place) = hear(&engine, run, 0, MANY).await;
    engine.close().await;
    let engine = open(&path).await;
    let (words, _) = hear(&engine, run, 0, u64::MAX).await;
    assert!(words.starts_with(&heard), "it was told, and is told again");
    assert!(words.ends_with(&all()), "the step was done anew");
    let (rest, _) = hear(&engine, run, place, u64::MAX).await;
    assert_eq!(rest, words[heard.len()..], "and who comes back hears the rest");
    engine.close().await;
}
