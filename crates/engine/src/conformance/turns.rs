//! One turn: it runs, it tells, it is stopped, it asks, it fails.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use ibid_graph::{EventKind, StepEvent};
use serde_json::json;

use super::{Play, Subject};
use crate::{Error, RunStatus, Stop};

pub async fn a_turn_is_answered_and_tells_every_step(subject: &dyn Subject) {
    let play = Play::begin(subject, "answered").await;
    let run = play.say("hello").await;
    assert_eq!(play.ended(run).await, RunStatus::Done);
    assert_eq!(play.conversation().await, ["hello", "heard hello after 0"]);
    let known = play.engine.run(&play.scope, run).await.expect("the run is known");
    assert!(known.trace_id.is_some(), "every run has a trace");
    assert_eq!(
        (known.input, known.output),
        (0..1, 1..2),
        "a run says which messages it began with and answered with"
    );
    let told = |step, attempt, kind| StepEvent { step, attempt, kind };
    let started = |node: &str| EventKind::StepStarted { node: node.into() };
    let mut events: Vec<StepEvent> = play.events(run, 0).await.into_iter().map(|event| event.what).collect();
    let first = events.remove(0);
    assert_eq!((first.step, first.attempt), (0, 0));
    assert_eq!(first.kind, EventKind::RunStarted { trace_id: known.trace_id }, "a run begins with its trace");
    // How long a step took is nobody's promise.
    for event in &mut events {
        if let EventKind::StepFinished { milliseconds } = &mut event.kind {
            *milliseconds = 0;
        }
    }
    let finished = || EventKind::StepFinished { milliseconds: 0 };
    let expected = [
        told(1, 1, started("hear")),
        told(1, 1, finished()),
        told(2, 1, started("think")),
        told(2, 1, EventKind::Token { text: "hello".into() }),
        told(2, 1, finished()),
        told(3, 1, started("close")),
        told(3, 1, finished()),
        told(0, 0, EventKind::RunEnded { status: "done".into(), error: None }),
    ];
    assert_eq!(events, expected);
}

pub async fn events_can_be_read_from_any_number_on(subject: &dyn Subject) {
    let play = Play::begin(subject, "any-number").await;
    let run = play.say("wait").await;
    play.speaking(run).await;
    let during = play.engine.events(&play.scope, run, 2).await.expect("a running turn can be followed");
    play.stage.let_one_go_on();
    let all = play.events(run, 0).await;
    for after in 0..=all.len() {
        assert_eq!(play.events(run, after as u64).await, all[after..], "after {after}");
    }
    let during: Vec<_> = during.map(|event| event.expect("it can be read")).collect().await;
    assert_eq!(during, all[2..], "a listener that came during the run");
}

pub async fn no_token_is_lost_and_the_order_is_kept(subject: &dyn Subject) {
    let play = Play::begin(subject, "tokens").await;
    let run = play.say("many").await;
    assert_eq!(play.ended(run).await, RunStatus::Done);
    let mut text = String::new();
    for event in play.events(run, 0).await {
        if let EventKind::Token { text: piece } = event.what.kind {
            text.push_str(&piece);
        }
    }
    let expected: String = (0..2000).map(|number| format!("{number} ")).collect();
    assert_eq!(text, expected);
}

pub async fn a_duplicate_request_is_the_same_run(subject: &dyn Subject) {
    let play = Play::begin(subject, "duplicate").await;
    let mut turn = play.turn("once");
    turn.idempotency_key = Some("key-1".to_owned());
    let submit = || play.engine.submit(&play.scope, turn.clone());
    let (left, right) = tokio::join!(submit(), submit());
    let (left, right) = (left.expect("it is taken"), right.expect("it is taken"));
    assert_eq!(left.run, right.run);
    assert!(left.duplicate != right.duplicate, "exactly one of them is the duplicate");
    play.ended(left.run).await;
    let again = submit().await.expect("it is taken");
    assert!(again.duplicate && again.run == left.run, "also after the run has ended");
    assert_eq!(play.conversation().await, ["once", "heard once after 0"]);
    assert_eq!(play.stage.performed(left.run), ["hear", "think", "close"]);
}

pub async fn a_stop_returns_at_once_and_keeps_the_partial_answer(subject: &dyn Subject) {
    let mut took = Vec::new();
    for name in ["stop", "stop-twice", "stop-thrice", "stop-again", "stop-at-last"] {
        took.push(stopped_while_speaking(&Play::begin(subject, name).await).await);
    }
    took.sort();
    assert!(took[2] < Duration::from_millis(50), "a stop must return within 50 ms, they took {took:?}");
    assert!(took[4] < Duration::from_secs(1), "no stop waits for what is stopped, they took {took:?}");
}

/// How long it took until the stop of a turn that has begun to speak returned.
async fn stopped_while_speaking(play: &Play<'_>) -> Duration {
    let run = play.say("wait").await;
    play.speaking(run).await;
    let began = Instant::now();
    play.engine.stop(&play.scope, run, Stop::Keep).await.expect("it can be stopped");
    let took = began.elapsed();
    assert_eq!(play.ended(run).await, RunStatus::Stopped);
    assert_eq!(play.conversation().await, ["wait", "first words"]);
    assert_eq!(play.stage.performed(run), ["hear", "think"], "no step may begin after a stop");
    play.engine.stop(&play.scope, run, Stop::Keep).await.expect("stopping twice does no harm");
    took
}

pub async fn a_turn_stopped_in_its_last_node_is_not_done(subject: &dyn Subject) {
    let play = Play::begin(subject, "stop-last").await;
    let run = play.say("linger").await;
    play.until(run, |kind| matches!(kind, EventKind::Token { text } if text == "last words")).await;
    play.engine.stop(&play.scope, run, Stop::Keep).await.expect("it can be stopped");
    assert_eq!(play.ended(run).await, RunStatus::Stopped);
    let steps = play.engine.steps(&play.scope, run).await.expect("the run is known");
    assert_eq!(steps.len(), 3, "what the node gave back is written down");
}

pub async fn a_question_waits_for_a_fitting_answer(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "question").await;
    let run = play.say("ask").await;
    play.until(run, |kind| matches!(kind, EventKind::Interrupted { .. })).await;
    let waiting = play.engine.run(&play.scope, run).await.expect("the run is known");
    assert_eq!((waiting.status, waiting.interrupt), (RunStatus::Waiting, Some(json!("ask"))));
    let refused = play.engine.resume(&play.scope, run, json!("perhaps")).await;
    assert!(matches!(refused, Err(Error::Resume(_))), "got {refused:?}");
    play.kill_and_reopen(1).await;
    play.engine.resume(&play.scope, run, json!(true)).await.expect("a fitting answer is taken");
    assert_eq!(play.ended(run).await, RunStatus::Done);
    assert_eq!(play.stage.performed(run), ["hear", "think", "close"], "nothing runs twice");
    let late = play.engine.resume(&play.scope, run, json!(true)).await;
    assert!(matches!(late, Err(Error::NotInterrupted(_))), "got {late:?}");
    let state = play.engine.state(&play.scope, run, 3).await.expect("the steps are kept");
    assert_eq!(state["said"][2], "sure: true");
}

pub async fn a_failure_and_an_oversized_result_end_the_turn_and_the_thread_goes_on(subject: &dyn Subject) {
    let play = Play::begin(subject, "failures").await;
    for text in ["fail", "big", "panic"] {
        let run = play.say(text).await;
        assert_eq!(play.ended(run).await, RunStatus::Failed);
        let error = play.engine.run(&play.scope, run).await.expect("the run is known").error;
        let (error, why) =
            (error.expect("it says why"), if text == "panic" { "panicked" } else { "`think`" });
        assert!(error.contains(why), "the error was `{error}`");
        assert_eq!(play.stage.performed(run), ["hear", "think"], "what cannot succeed is not repeated");
    }
    let run = play.say("hello").await;
    assert_eq!(play.ended(run).await, RunStatus::Done);
    assert_eq!(play.conversation().await, ["fail", "big", "panic", "hello", "heard hello after 2"]);
}

pub async fn what_cannot_be_taken_is_refused(subject: &dyn Subject) {
    let play = Play::begin(subject, "refused").await;
    let mut turn = play.turn("hello");
    turn.assistant = "nobody".to_owned();
    let refused = play.engine.submit(&play.scope, turn).await;
    assert!(matches!(refused, Err(Error::UnknownAssistant(_))), "got {refused:?}");
    let mut turn = play.turn("hello");
    turn.messages.clear();
    let refused = play.engine.submit(&play.scope, turn).await;
    assert!(matches!(refused, Err(Error::NoMessage)), "got {refused:?}");
}
