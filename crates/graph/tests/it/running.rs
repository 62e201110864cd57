//! How nodes are run: limits, retries, stops, questions, inner graphs, forks.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ibid_graph::{
    Context, END, Ending, EventKind, EventSink, Graph, MemoryJournals, Next, NodeError, Record, RetryPolicy,
    Retryable, RunError, RunHost, START, State, StepEvent, Terminal, WalkError, run,
};
use serde_json::json;

#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
struct Log(Vec<String>);

impl State for Log {
    type Update = String;
    fn apply(&mut self, update: String) {
        self.0.push(update);
    }
}

#[derive(Default)]
struct Collected(Mutex<Vec<StepEvent>>);

impl EventSink for Collected {
    fn emit(&self, event: StepEvent) {
        self.0.lock().unwrap().push(event);
    }
}

/// A graph of one node that does `work`, tried as `policy` says.
fn single<R>(work: impl Fn(Arc<Log>, Context) -> R + Send + Sync + 'static, policy: RetryPolicy) -> Graph<Log>
where
    R: Future<Output = Result<String, NodeError>> + Send + 'static,
{
    let graph = Graph::builder("single").node("work", work).edge(START, "work").edge("work", END);
    graph.retry("work", policy).time_limit("work", Duration::from_secs(30)).build().unwrap()
}

fn message(result: Result<Log, RunError>) -> String {
    result.unwrap_err().to_string()
}

#[tokio::test(start_paused = true)]
async fn a_retryable_failure_is_tried_again_and_told() {
    let tries = Arc::new(AtomicU32::new(0));
    let counted = tries.clone();
    let graph = single(
        move |_, context| {
            let try_number = counted.fetch_add(1, Ordering::Relaxed) + 1;
            async move {
                assert_eq!(context.attempt(), try_number);
                if try_number < 3 { Err(Retryable::new("busy").into()) } else { Ok("done".to_owned()) }
            }
        },
        RetryPolicy::times(5),
    );
    let sink = Arc::new(Collected::default());
    let program = graph.compile(|()| Ok(Log::default()), Log::clone);
    let mut cursor = program.start(()).unwrap();
    let journals = MemoryJournals::default();
    let ending = run(&mut *cursor, &mut journals.open("r"), &RunHost::new(sink.clone())).await.unwrap();
    assert_eq!(ending, Ending::Finished);
    assert_eq!(tries.load(Ordering::Relaxed), 3);
    let retries: Vec<_> = sink.0.lock().unwrap().iter().filter_map(after).collect();
    assert_eq!(retries, [200, 400]);

    fn after(event: &StepEvent) -> Option<u64> {
        if let EventKind::StepRetrying { after_ms, .. } = event.kind { Some(after_ms) } else { None }
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_end_with_the_policy_and_a_terminal_failure_at_once() {
    let busy = single(async |_, _| Err(Retryable::new("busy").into()), RetryPolicy::times(3));
    assert_eq!(message(busy.run(Log::default()).await), "`work` failed after 3 attempt(s): busy");
    let broken = single(async |_, _| Err(Terminal::new("no such model").into()), RetryPolicy::times(3));
    assert_eq!(message(broken.run(Log::default()).await), "`work` failed after 1 attempt(s): no such model");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_takes_too_long_has_failed() {
    let slow = single(async |_, _| std::future::pending().await, RetryPolicy::NEVER);
    let error = message(slow.run(Log::default()).await);
    assert_eq!(error, "`work` failed after 1 attempt(s): it took longer than its time limit of 30 s");
}

#[tokio::test]
async fn a_node_that_panics_fails_its_run_only() {
    let broken = single(async |_, _| panic!("index out of bounds"), RetryPolicy::times(3));
    let error = message(broken.run(Log::default()).await);
    assert_eq!(error, "`work` failed after 1 attempt(s): it panicked: index out of bounds");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_ignores_the_stop_is_dropped_after_the_grace() {
    let deaf = single(async |_, _| std::future::pending().await, RetryPolicy::NEVER);
    let program = deaf.compile(|()| Ok(Log::default()), Log::clone);
    let mut cursor = program.start(()).unwrap();
    let host = RunHost::default();
    let began = tokio::time::Instant::now();
    let stop = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        host.cancel.cancel();
    };
    let mut journal = MemoryJournals::default().open("r");
    let ((), ending) = tokio::join!(stop, run(&mut *cursor, &mut journal, &host));
    assert_eq!(ending.unwrap(), Ending::Stopped);
    assert_eq!(began.elapsed(), Duration::from_secs(1) + RunHost::GRACE);
}

#[test]
fn a_route_that_leaves_the_graph_is_named() {
    let graph = Graph::<Log>::builder("lost")
        .node("a", async |_, _| Ok(String::new()))
        .edge(START, "a")
        .branch("a", |_| "nowhere", [END])
        .build()
        .unwrap();
    let mut walk = graph.walk(Log::default()).unwrap();
    let record = Record { step: 1, node: "a".into(), update: "\"x\"".into() };
    let error = walk.replay(&record).unwrap_err();
    assert_eq!(error.to_string(), "the route after `a` named `nowhere`, which is not one of its targets");
}

#[test]
fn records_that_do_not_fit_are_named() {
    let graph = single(async |_, _| Ok(String::new()), RetryPolicy::NEVER);
    let refused = |node: &str, update: &str| {
        let mut walk = graph.walk(Log::default()).unwrap();
        walk.replay(&Record { step: 1, node: node.into(), update: update.into() }).unwrap_err()
    };
    assert!(matches!(refused("other", "\"x\""), WalkError::OtherNode { .. }));
    assert!(matches!(refused("work", "{}"), WalkError::Update { .. }));
}

/// `outer` holds `inner` as a node, which takes two rounds and a question of its own.
fn nested() -> Graph<Log> {
    let inner = Graph::<Log>::builder("inner")
        .node("turn", async |state: Arc<Log>, _| Ok(format!("turn {}", state.0.len())))
        .interrupt(
            "enough",
            |state: &Log| json!(state.0.len()),
            |_, answer: bool| format!("enough: {answer}"),
        )
        .edge(START, "turn")
        .branch("turn", |state: &Log| if state.0.len() < 2 { "turn" } else { "enough" }, ["turn", "enough"])
        .at_most("turn", 5, END)
        .edge("enough", END)
        .build()
        .unwrap();
    Graph::builder("outer")
        .node("before", async |_, _| Ok("before".to_owned()))
        .graph("research", &inner, |_| Log::default(), |inner: &Log| inner.0.join(", "))
        .node("after", async |_, _| Ok("after".to_owned()))
        .edge(START, "before")
        .edge("before", "research")
        .edge("research", "after")
        .edge("after", END)
        .build()
        .unwrap()
}

#[tokio::test]
async fn the_steps_of_an_inner_graph_are_steps_of_the_run() {
    let (graph, journals) = (nested(), MemoryJournals::default());
    let program = graph.compile(|()| Ok(Log::default()), Log::clone);
    let mut cursor = program.start(()).unwrap();
    let ending = run(&mut *cursor, &mut journals.open("r"), &RunHost::default()).await.unwrap();
    let Ending::Interrupted { step, question } = ending else { panic!("it must ask") };
    assert_eq!((step.number, &*step.node, question), (4, "research/enough", json!(2)));

    let refused = cursor.resume(&json!("perhaps")).unwrap_err().to_string();
    assert!(refused.starts_with("the answer does not have the form that `enough` asked for"), "{refused}");
    journals.answer("r", 4, json!(true));
    let mut resumed = program.start(()).unwrap();
    let ending = run(&mut *resumed, &mut journals.open("r"), &RunHost::default()).await.unwrap();
    assert_eq!(ending, Ending::Finished);
    assert_eq!(resumed.output().0, ["before", "turn 0, turn 1, enough: true", "after"]);
    let path: Vec<_> = journals.records("r").iter().map(|record| record.node.to_string()).collect();
    assert_eq!(path, ["before", "research/turn", "research/turn", "research/enough", "after"]);
}

#[tokio::test]
async fn the_state_after_any_step_can_be_rebuilt_and_forked_from() {
    let graph = Graph::<Log>::builder("line")
        .node("a", async |_, _| Ok("a".to_owned()))
        .node("b", async |_, _| Ok("b".to_owned()))
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", END)
        .build()
        .unwrap();
    let journals = MemoryJournals::default();
    let program = graph.compile(|()| Ok(Log::default()), Log::clone);
    run(&mut *program.start(()).unwrap(), &mut journals.open("r"), &RunHost::default()).await.unwrap();

    let mut walk = graph.walk(Log::default()).unwrap();
    walk.replay(&journals.records("r")[0]).unwrap();
    assert_eq!(walk.state().0, ["a"]);
    assert!(matches!(walk.next(), Next::Work(step) if &*step.node == "b"));

    journals.fork("r", 1, "fork");
    let mut forked = program.start(()).unwrap();
    run(&mut *forked, &mut journals.open("fork"), &RunHost::default()).await.unwrap();
    assert_eq!(forked.output().0, ["a", "b"]);
    assert_eq!(journals.records("r").len(), 2);
}

#[test]
fn a_version_survives_being_written_down() {
    let version = nested().version();
    assert_eq!(version.to_string().parse::<ibid_graph::Version>().unwrap(), version);
    assert_eq!(version.declared, 2, "the graph inside counts too");
    assert!("yesterday".parse::<ibid_graph::Version>().is_err());
}

#[test]
fn records_under_a_former_name_are_continued() {
    let graph = Graph::builder("renamed")
        .node("chunk", async |_: Arc<Log>, _: Context| -> Result<String, NodeError> { Ok("now".into()) })
        .former_name("chunk", "cut")
        .edge(START, "chunk")
        .edge("chunk", END)
        .build()
        .unwrap();
    let mut walk = graph.walk(Log::default()).unwrap();
    walk.replay(&Record { step: 1, node: "cut".into(), update: r#""then""#.into() }).unwrap();
    assert_eq!((walk.state().0.as_slice(), walk.next()), (&["then".to_owned()][..], Next::End));
    let mut walk = graph.walk(Log::default()).unwrap();
    assert!(walk.replay(&Record { step: 1, node: "other".into(), update: r#""then""#.into() }).is_err());
}
