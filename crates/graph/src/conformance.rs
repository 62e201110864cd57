//! The rules that every [`Journal`] keeps, as tests that any implementation runs.
//!
//! [`journal_conformance_tests!`](crate::journal_conformance_tests) makes a test of each. A case panics with the rule that was
//! broken.

#![expect(clippy::expect_used, clippy::panic, reason = "a test suite reports by panicking")]
#![expect(missing_docs, reason = "a case says in its name what it checks")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{Ready, ready};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    Context, END, Ending, EventKind, EventSink, Graph, Journal, NodeError, RECORD_LIMIT_BYTES, Retryable,
    RunError, RunHost, START, State, StepError, StepEvent, run,
};

/// A set of journals under test, one for each run.
#[async_trait]
pub trait Journals: Send + Sync {
    /// Opens the journal of a run, with everything that was written down for it, as a new process would,
    /// and the sink that takes the run's events. What becomes safe of these is told to `witness`.
    async fn open(&self, run: &str, witness: Arc<dyn EventSink>) -> (Box<dyn Journal>, Arc<dyn EventSink>);

    /// Answers the question that a step of a run asks.
    async fn answer(&self, run: &str, step: u32, answer: Value);
}

/// A test for every case. The expression makes a fresh set of journals.
#[macro_export]
macro_rules! journal_conformance_tests {
    ($journals:expr) => {
        $crate::journal_conformance_tests! { $journals;
            steps_run_one_after_the_other,
            a_finished_step_never_runs_again_after_a_kill,
            an_unfinished_step_runs_again_as_a_higher_attempt,
            a_finished_run_asked_for_again_performs_nothing,
            an_oversized_record_is_refused_for_good,
            a_record_of_the_largest_size_is_kept,
            a_stop_reaches_the_node_and_keeps_the_partial_answer,
            a_failed_step_is_not_written_down,
            two_runs_at_once_keep_apart,
            an_answer_is_written_down_once,
            routes_are_the_same_on_replay
        }
    };
    ($journals:expr; $($case:ident),*) => {
        $(
            #[tokio::test]
            async fn $case() {
                let journals = $journals;
                $crate::conformance::$case(&journals).await;
            }
        )*
    };
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Notes(Vec<String>);

#[derive(Serialize, Deserialize)]
struct Note(String);

impl State for Notes {
    type Update = Note;

    fn apply(&mut self, update: Note) {
        self.0.push(update.0);
    }
}

/// Collects events and counts, outside of any journal, which nodes were performed.
#[derive(Default)]
struct Witness {
    events: Mutex<Vec<StepEvent>>,
    performed: Mutex<Vec<String>>,
}

impl EventSink for Witness {
    fn emit(&self, event: StepEvent) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

impl Witness {
    fn saw(&self, node: &str) {
        self.performed.lock().unwrap_or_else(PoisonError::into_inner).push(node.to_owned());
    }

    fn performed(&self) -> Vec<String> {
        self.performed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was told, once it has come to `enough`.
    async fn told(&self, enough: impl Fn(&[StepEvent]) -> bool) -> Vec<StepEvent> {
        let told = || self.events.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for _ in 0..500 {
            if enough(&told()) {
                return told();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("events are missing; told were only {:?}", told())
    }
}

/// What the node `c` of the test graph does.
#[derive(Clone)]
enum Third {
    Note,
    Hang(CancellationToken),
    Bytes(usize),
    UntilStopped(CancellationToken),
    Fail,
}

/// A node that notes its name.
fn note(
    witness: &Arc<Witness>,
    name: &'static str,
) -> impl Fn(Arc<Notes>, Context) -> Ready<Result<Note, NodeError>> + use<> {
    let witness = witness.clone();
    move |_, _| {
        witness.saw(name);
        ready(Ok(Note(name.to_owned())))
    }
}

/// a → b → c → d, each noting its name; `c` as told.
fn line(witness: &Arc<Witness>, third: Third) -> Graph<Notes> {
    let own = witness.clone();
    let graph = Graph::builder("line")
        .node("a", note(witness, "a"))
        .node("b", note(witness, "b"))
        .node("c", move |_, context| third_node(own.clone(), third.clone(), context))
        .node("d", note(witness, "d"))
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", "c")
        .edge("c", "d")
        .edge("d", END)
        .build();
    graph.expect("the test graph is sound")
}

async fn third_node(witness: Arc<Witness>, third: Third, context: Context) -> Result<Note, NodeError> {
    witness.saw("c");
    match third {
        Third::Note => Ok(Note("c".to_owned())),
        Third::Bytes(bytes) => Ok(Note("x".repeat(bytes))),
        Third::Fail => Err(Retryable::new("not today").into()),
        Third::Hang(reached) => {
            context.token("lost");
            reached.cancel();
            std::future::pending().await
        }
        Third::UntilStopped(reached) => {
            context.token("part of the ans");
            reached.cancel();
            context.cancel().cancelled().await;
            Ok(Note("part of the ans".to_owned()))
        }
    }
}

/// Runs a graph on the journal of `name` until it rests or is stopped; returns how it ended and the
/// notes it had then.
async fn go(
    journals: &dyn Journals,
    name: &str,
    graph: &Graph<Notes>,
    witness: &Arc<Witness>,
    cancel: CancellationToken,
) -> (Result<Ending, RunError>, Vec<String>) {
    let program = graph.compile(|()| Ok(Notes::default()), |notes: &Notes| notes.0.clone());
    let mut cursor = program.start(()).expect("the test graph begins");
    let (mut journal, sink) = journals.open(name, witness.clone()).await;
    let host = RunHost { sink, cancel, grace: RunHost::GRACE };
    let ending = run(&mut *cursor, &mut *journal, &host).await;
    (ending, cursor.output())
}

/// Runs the line of notes on the journal of `name`, its third node as told.
async fn walk_line(
    journals: &dyn Journals,
    name: &str,
    witness: &Arc<Witness>,
    third: Third,
) -> (Result<Ending, RunError>, Vec<String>) {
    go(journals, name, &line(witness, third), witness, CancellationToken::new()).await
}

/// Runs until the third node hangs and has been heard, then drops everything, as a kill does.
async fn kill_in_the_third(journals: &dyn Journals, name: &str, witness: &Arc<Witness>) {
    let reached = CancellationToken::new();
    let lost = |events: &[StepEvent]| events.iter().filter(|event| is_lost(event)).count();
    let before = lost(&witness.told(|_| true).await);
    let heard = async {
        reached.cancelled().await;
        witness.told(|events| lost(events) > before).await
    };
    tokio::select! {
        _ = walk_line(journals, name, witness, Third::Hang(reached.clone())) => {
            panic!("{name}: the run ended instead of hanging")
        }
        _ = heard => {}
    }
}

fn is_lost(event: &StepEvent) -> bool {
    matches!(&event.kind, EventKind::Token { text } if text == "lost")
}

pub async fn steps_run_one_after_the_other(journals: &dyn Journals) {
    let witness = Arc::new(Witness::default());
    let (ending, notes) = walk_line(journals, "in-order", &witness, Third::Note).await;
    assert_eq!(ending.expect("it runs"), Ending::Finished);
    assert_eq!(notes, ["a", "b", "c", "d"]);
    let told = witness.told(|events| events.len() >= 8).await;
    let told: Vec<_> =
        told.iter().map(|event| (event.step, matches!(event.kind, EventKind::StepFinished { .. }))).collect();
    let expected: Vec<_> = (1..=4).flat_map(|step| [(step, false), (step, true)]).collect();
    assert_eq!(told, expected, "a step must have finished before the next begins");
}

pub async fn a_finished_step_never_runs_again_after_a_kill(journals: &dyn Journals) {
    let witness = Arc::new(Witness::default());
    kill_in_the_third(journals, "killed", &witness).await;
    let (ending, notes) = walk_line(journals, "killed", &witness, Third::Note).await;
    assert_eq!(ending.expect("it resumes"), Ending::Finished);
    assert_eq!(notes, ["a", "b", "c", "d"]);
    assert_eq!(witness.performed(), ["a", "b", "c", "c", "d"], "only the unfinished step may run again");
}

pub async fn an_unfinished_step_runs_again_as_a_higher_attempt(journals: &dyn Journals) {
    let witness = Arc::new(Witness::default());
    kill_in_the_third(journals, "attempts", &witness).await;
    kill_in_the_third(journals, "attempts", &witness).await;
    walk_line(journals, "attempts", &witness, Third::Note).await.0.expect("it resumes");
    let told = witness.told(|events| events.iter().any(|event| event.step == 4)).await;
    let attempts: Vec<_> = told
        .iter()
        .filter(|event| matches!(&event.kind, EventKind::StepStarted { node } if &**node == "c"))
        .map(|event| event.attempt)
        .collect();
    assert_eq!(attempts, [1, 2, 3], "no attempt number may appear twice");
}

pub async fn a_finished_run_asked_for_again_performs_nothing(journals: &dyn Journals) {
    let witness = Arc::new(Witness::default());
    let first = walk_line(journals, "twice", &witness, Third::Note).await.1;
    let before = witness.performed();
    let (ending, second) = walk_line(journals, "twice", &witness, Third::Note).await;
    assert_eq!(ending.expect("it replays"), Ending::Finished);
    assert_eq!(first, second);
    assert_eq!(witness.performed(), before, "a duplicate request must perform nothing");
}

pub async fn an_oversized_record_is_refused_for_good(journals: &dyn Journals) {
    let witness = Arc::new(Witness::default());
    let (ending, notes) = walk_line(journals, "oversized", &witness, Third::Bytes(RECORD_LIMIT_BYTES)).await;
    assert!(matches!(ending, Err(RunError::Step(StepError::Record { .. }))), "got {ending:?}");
    assert_eq!(notes, ["a", "b"]);
    assert_eq!(witness.performed(), ["a", "b", "c"], "an oversized step must not be tried again");
}

pub async fn a_record_of_the_largest_size_is_kept(journals: &dyn Journals) {
    let witness = Arc::new(Witness::default());
    let largest = Third::Bytes(RECORD_LIMIT_BYTES - 2);
    walk_line(journals, "largest", &witness, largest.clone()).await.0.expect("it runs");
    let (_, notes) = walk_line(journals, "largest", &witness, largest).await;
    assert_eq!(notes[2].len(), RECORD_LIMIT_BYTES - 2, "the two quotes fill the record up");
}

pub async fn a_stop_reaches_the_node_and_keeps_the_partial_answer(journals: &dyn Journals) {
    let witness = Arc::new(Witness::default());
    let reached = CancellationToken::new();
    let graph = line(&witness, Third::UntilStopped(reached.clone()));
    let cancel = CancellationToken::new();
    let stop = async {
        reached.cancelled().await;
        cancel.cancel();
    };
    let running = go(journals, "stopped", &graph, &witness, cancel.clone());
    let running = tokio::time::timeout(Duration::from_secs(5), running);
    let ((), outcome) = tokio::join!(stop, running);
    let (ending, notes) = outcome.expect("a stop must end the node at once");
    assert_eq!(ending.expect("a stop is no failure"), Ending::Stopped);
    assert_eq!(notes, ["a", "b", "part of the ans"], "what the node had must be kept");
    assert_eq!(witness.performed(), ["a", "b", "c"], "no step may begin after a stop");
}

pub async fn a_failed_step_is_not_written_down(journals: &dyn Journals) {
    let witness = Arc::new(Witness::default());
    let (ending, _) = walk_line(journals, "failed", &witness, Third::Fail).await;
    assert!(matches!(ending, Err(RunError::Step(StepError::Failed { .. }))), "got {ending:?}");
    let (ending, notes) = walk_line(journals, "failed", &witness, Third::Note).await;
    assert_eq!(ending.expect("it goes on where it failed"), Ending::Finished);
    assert_eq!(notes, ["a", "b", "c", "d"]);
    assert_eq!(witness.performed(), ["a", "b", "c", "c", "d"]);
}

pub async fn two_runs_at_once_keep_apart(journals: &dyn Journals) {
    let witness = Arc::new(Witness::default());
    let walk = |name| walk_line(journals, name, &witness, Third::Note);
    let (left, right) = tokio::join!(walk("left"), walk("right"));
    assert_eq!(left.1, ["a", "b", "c", "d"]);
    assert_eq!(right.1, ["a", "b", "c", "d"]);
    assert_eq!(witness.performed().len(), 8, "each run performs its own steps");
}

pub async fn an_answer_is_written_down_once(journals: &dyn Journals) {
    let witness = Arc::new(Witness::default());
    let graph = Graph::<Notes>::builder("asking")
        .node("before", note(&witness, "before"))
        .interrupt("sure", |notes: &Notes| json!({ "about": notes.0 }), |_, answer: String| Note(answer))
        .node("after", note(&witness, "after"))
        .edge(START, "before")
        .edge("before", "sure")
        .edge("sure", "after")
        .edge("after", END)
        .build()
        .expect("the test graph is sound");
    let (ending, _) = go(journals, "asking", &graph, &witness, CancellationToken::new()).await;
    let Ok(Ending::Interrupted { step, question }) = ending else { panic!("it must pause, got {ending:?}") };
    assert_eq!((step.number, &*step.node), (2, "sure"));
    assert_eq!(question, json!({ "about": ["before"] }));
    journals.answer("asking", step.number, json!("yes")).await;
    for _ in 0..2 {
        let (ending, notes) = go(journals, "asking", &graph, &witness, CancellationToken::new()).await;
        assert_eq!(ending.expect("it goes on"), Ending::Finished);
        assert_eq!(notes, ["before", "yes", "after"]);
    }
    assert_eq!(witness.performed(), ["before", "after"], "nothing may run twice around a question");
}

pub async fn routes_are_the_same_on_replay(journals: &dyn Journals) {
    let witness = Arc::new(Witness::default());
    let graph = Graph::<Notes>::builder("rounds")
        .node("try", note(&witness, "try"))
        .node("give up", note(&witness, "give up"))
        .edge(START, "try")
        .branch("try", |notes: &Notes| if notes.0.len() < 9 { "try" } else { END }, ["try", END])
        .at_most("try", 3, "give up")
        .edge("give up", END)
        .build()
        .expect("the test graph is sound");
    let (_, first) = go(journals, "rounds", &graph, &witness, CancellationToken::new()).await;
    let (_, replayed) = go(journals, "rounds", &graph, &witness, CancellationToken::new()).await;
    assert_eq!(first, ["try", "try", "try", "give up"], "the bound must hold");
    assert_eq!(replayed, first, "a replay must take the same way");
    assert_eq!(witness.performed().len(), 4);
}
