//! A kill in the middle: turns go on, finished steps do not run again, and changed code is noticed.

use futures_util::StreamExt;
use ibid_graph::EventKind;

use super::{Play, Subject};
use crate::{Event, RunStatus, WhenBusy};

fn attempts_at(events: &[Event], node: &str) -> Vec<u32> {
    let started =
        |event: &&Event| matches!(&event.what.kind, EventKind::StepStarted { node: at } if &**at == node);
    events.iter().filter(started).map(|event| event.what.attempt).collect()
}

pub async fn a_killed_turn_goes_on_where_it_was(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "kill").await;
    let run = play.say("wait").await;
    play.speaking(run).await;
    let before = play.engine.events(&play.scope, run, 0).await.expect("there are events");
    let before: Vec<_> = before.take(4).map(|event| event.expect("it can be read")).collect().await;
    play.kill_and_reopen(1).await;
    play.stage.let_one_go_on();
    assert_eq!(play.ended(run).await, RunStatus::Done);
    assert_eq!(play.stage.performed(run), ["hear", "think", "think", "close"]);
    assert_eq!(play.conversation().await, ["wait", "heard wait"], "no message is lost or doubled");
    let events = play.events(run, 0).await;
    assert_eq!(events[..4], before, "what was told before the kill is told the same after it");
    assert_eq!(attempts_at(&events, "think"), [1, 2]);
    assert!(events.iter().any(|event| event.what.kind == EventKind::RunRecovered), "a listener is told");
}

pub async fn queued_turns_survive_a_kill(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "kill-queued").await;
    let runs = [play.say("wait").await, play.say("two").await, play.say("three").await];
    play.kill_and_reopen(1).await;
    play.stage.let_one_go_on();
    for run in runs {
        assert_eq!(play.ended(run).await, RunStatus::Done);
    }
    let expected = ["wait", "heard wait", "two", "heard two after 2", "three", "heard three after 2"];
    assert_eq!(play.conversation().await, expected);
}

pub async fn a_stop_survives_a_kill(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "kill-stopped").await;
    let first = play.say("wait").await;
    play.speaking(first).await;
    let mut turn = play.turn("instead");
    turn.when_busy = WhenBusy::Rollback;
    let second = play.submit(turn).await;
    play.kill_and_reopen(1).await;
    assert_eq!(play.ended(first).await, RunStatus::RolledBack);
    assert_eq!(play.ended(second).await, RunStatus::Done);
    assert_eq!(play.conversation().await, ["instead", "heard instead after 0"]);
}

pub async fn new_code_that_still_fits_goes_on(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "same-code").await;
    let first = play.say("hello").await;
    play.ended(first).await;
    play.kill_and_reopen(3).await;
    let second = play.say("again").await;
    assert_eq!(play.ended(second).await, RunStatus::Done);
    assert_eq!(play.stage.performed(second), ["greet", "hear", "think", "close"], "old threads get new code");
}

pub async fn a_waiting_turn_that_no_longer_fits_asks_again(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "waiting-changed").await;
    let run = play.say("ask").await;
    play.until(run, |kind| matches!(kind, EventKind::Interrupted { .. })).await;
    play.kill_and_reopen(2).await;
    let restarted = play.until(run, |kind| matches!(kind, EventKind::RunRestarted { .. })).await;
    let stream = play.engine.events(&play.scope, run, restarted.seq).await.expect("there are events");
    let asked = stream.any(|event| async {
        matches!(event.expect("it can be read").what.kind, EventKind::Interrupted { .. })
    });
    assert!(super::in_time(asked).await, "it asks again");
    play.engine.resume(&play.scope, run, true.into()).await.expect("the answer is taken");
    assert_eq!(play.ended(run).await, RunStatus::Done);
}

pub async fn a_turn_of_another_declared_version_begins_again(subject: &dyn Subject) {
    begins_again(subject, "declared", 2, "the graph is now version 2").await;
}

pub async fn a_turn_whose_steps_no_longer_fit_begins_again(subject: &dyn Subject) {
    begins_again(subject, "reshaped", 3, "the graph is at `greet`").await;
}

async fn begins_again(subject: &dyn Subject, store: &'static str, version: u32, reason: &str) {
    let mut play = Play::begin(subject, store).await;
    let run = play.say("wait").await;
    play.speaking(run).await;
    play.kill_and_reopen(version).await;
    play.stage.let_one_go_on();
    assert_eq!(play.ended(run).await, RunStatus::Done);
    let events = play.events(run, 0).await;
    let told = events.iter().find_map(|event| match &event.what.kind {
        EventKind::RunRestarted { reason } => Some(reason.clone()),
        _ => None,
    });
    let told = told.expect("an event says that the turn begins again");
    assert!(told.contains(reason), "the reason was `{told}`");
    assert_eq!(attempts_at(&events, "hear").len(), 2, "every step runs again");
    assert_eq!(play.conversation().await.len(), 2, "the message is not doubled");
}
