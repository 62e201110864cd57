//! A kill in the middle: turns go on, finished steps do not run again, and changed code is noticed.

use std::time::Duration;

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

pub async fn what_ends_its_process_again_and_again_is_set_aside(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "poison").await;
    let run = play.say("wait").await;
    play.speaking(run).await;
    // An end in order says nothing against a turn.
    for times in 2..7 {
        play.end_and_reopen().await;
        play.thinking(run, times).await;
    }
    for times in 7..9 {
        play.kill_and_reopen(1).await;
        play.thinking(run, times).await;
    }
    play.kill_and_reopen(1).await;
    assert_eq!(play.ended(run).await, RunStatus::Failed);
    let error = play.engine.run(&play.scope, run).await.expect("it is there").error.expect("why it failed");
    assert!(error.contains("set aside: 3 times") && error.contains("step 2"), "{error}");
    assert_eq!(play.thoughts(run), 8);
    let next = play.say("hello").await;
    assert_eq!(play.ended(next).await, RunStatus::Done, "the conversation goes on");
}

pub async fn of_several_only_the_one_that_ends_its_process_is_set_aside(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "suspects").await;
    let first = play.say("wait").await;
    play.thread = ibid_core::ThreadId::new();
    let second = play.say("wait").await;
    play.speaking(first).await;
    play.speaking(second).await;
    for count in 1..4 {
        play.thinking(first, count).await;
        play.thinking(second, count).await;
        play.kill_and_reopen(1).await;
    }
    // Both were at work each time, so now one works and the other waits for it.
    let one = async {
        while play.thoughts(first) + play.thoughts(second) < 7 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    super::in_time(one).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(play.thoughts(first) + play.thoughts(second), 7, "one after the other");
    let (poison, innocent) = if play.thoughts(first) == 4 { (first, second) } else { (second, first) };
    play.kill_and_reopen(1).await;
    assert_eq!(play.ended(poison).await, RunStatus::Failed, "it was the only one at work");
    play.thinking(innocent, 4).await;
    play.stage.let_one_go_on();
    assert_eq!(play.ended(innocent).await, RunStatus::Done);
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
