//! Two turns at once on one thread: wait, refuse, interrupt, roll back.

use ibid_graph::EventKind;

use super::{Play, Subject};
use crate::{Error, RunStatus, Stop, Turn, WhenBusy};

fn when_busy(mut turn: Turn, choice: WhenBusy) -> Turn {
    turn.when_busy = choice;
    turn
}

pub async fn a_second_turn_waits_for_the_first(subject: &dyn Subject) {
    let play = Play::begin(subject, "enqueue").await;
    let first = play.say("wait 1").await;
    play.speaking(first).await;
    let (second, third) = (play.say("two").await, play.say("three").await);
    let queued = play.engine.run(&play.scope, second).await.expect("the run is known").status;
    assert_eq!(queued, RunStatus::Queued);
    assert_eq!(play.stage.performed(second), [""; 0], "the second turn must not begin");
    play.stage.let_one_go_on();
    for run in [first, second, third] {
        assert_eq!(play.ended(run).await, RunStatus::Done);
    }
    let second = play.events(second, 0).await;
    assert!(second.iter().all(|event| event.what.kind != EventKind::RunRecovered), "it was never left");
    let expected = ["wait 1", "heard wait 1", "two", "heard two after 2", "three", "heard three after 2"];
    assert_eq!(play.conversation().await, expected);
}

pub async fn a_second_turn_can_be_refused(subject: &dyn Subject) {
    let play = Play::begin(subject, "reject").await;
    let first = play.say("wait").await;
    let refused = play.engine.submit(&play.scope, when_busy(play.turn("two"), WhenBusy::Reject)).await;
    assert!(matches!(refused, Err(Error::Busy(busy)) if busy == first), "got {refused:?}");
    play.stage.let_one_go_on();
    play.ended(first).await;
    assert_eq!(play.conversation().await, ["wait", "heard wait"]);
}

pub async fn an_interrupting_turn_goes_first_and_keeps_what_the_other_had(subject: &dyn Subject) {
    let play = Play::begin(subject, "interrupt").await;
    let first = play.say("wait").await;
    play.speaking(first).await;
    let queued = play.say("patient").await;
    let urgent = play.submit(when_busy(play.turn("urgent"), WhenBusy::Interrupt)).await;
    assert_eq!(play.ended(first).await, RunStatus::Stopped);
    assert_eq!(play.ended(urgent).await, RunStatus::Done);
    assert_eq!(play.ended(queued).await, RunStatus::Done);
    let expected =
        ["wait", "first words", "urgent", "heard urgent after 2", "patient", "heard patient after 2"];
    assert_eq!(play.conversation().await, expected);
}

pub async fn a_turn_that_rolls_back_forgets_the_other(subject: &dyn Subject) {
    let play = Play::begin(subject, "rollback").await;
    let before = play.say("before").await;
    play.ended(before).await;
    let first = play.say("wait").await;
    play.speaking(first).await;
    let second = play.submit(when_busy(play.turn("instead"), WhenBusy::Rollback)).await;
    assert_eq!(play.ended(first).await, RunStatus::RolledBack);
    assert_eq!(play.ended(second).await, RunStatus::Done);
    let expected = ["before", "heard before after 0", "instead", "heard instead after 2"];
    assert_eq!(play.conversation().await, expected);
    assert!(play.engine.steps(&play.scope, first).await.expect("the run is known").is_empty());
}

pub async fn a_rollback_wins_however_far_the_other_came(subject: &dyn Subject) {
    let play = Play::begin(subject, "rollback-last").await;
    let first = play.say("linger").await;
    play.until(first, |kind| matches!(kind, EventKind::Token { text } if text == "last words")).await;
    let second = play.submit(when_busy(play.turn("instead"), WhenBusy::Rollback)).await;
    assert_eq!(play.ended(first).await, RunStatus::RolledBack);
    assert_eq!(play.ended(second).await, RunStatus::Done);
    assert_eq!(play.conversation().await, ["instead", "heard instead after 0"]);
    let forked = play.engine.fork(&play.scope, first, 0).await;
    assert!(matches!(forked, Err(Error::NoSuchStep { .. })), "what was forgotten cannot be forked");
}

pub async fn a_turn_that_waits_for_a_person_can_be_interrupted(subject: &dyn Subject) {
    for (name, how) in [("interrupt-waiting", WhenBusy::Interrupt), ("move-on", WhenBusy::Enqueue)] {
        a_turn_that_waits_for_a_person_gives_way(subject, name, how).await;
    }
}

async fn a_turn_that_waits_for_a_person_gives_way(subject: &dyn Subject, name: &'static str, how: WhenBusy) {
    let play = Play::begin(subject, name).await;
    let first = play.say("ask").await;
    let asked = play.until(first, |kind| matches!(kind, EventKind::Interrupted { .. })).await;
    let waiting = play.engine.run(&play.scope, first).await.expect("it is there");
    assert_eq!(waiting.interrupted_step, Some(asked.what.step), "the run says which step asks");
    let second = play.submit(when_busy(play.turn("never mind"), how)).await;
    assert_eq!(play.ended(first).await, RunStatus::Stopped);
    assert_eq!(play.engine.run(&play.scope, first).await.expect("it is there").interrupted_step, None);
    assert_eq!(play.ended(second).await, RunStatus::Done);
    let expected = ["ask", "heard ask after 0", "never mind", "heard never mind after 2"];
    assert_eq!(play.conversation().await, expected);
}

pub async fn a_queued_turn_can_be_stopped(subject: &dyn Subject) {
    let play = Play::begin(subject, "stop-queued").await;
    let first = play.say("wait").await;
    let second = play.say("two").await;
    play.engine.stop(&play.scope, second, Stop::Keep).await.expect("it can be stopped");
    assert_eq!(play.ended(second).await, RunStatus::Stopped);
    play.stage.let_one_go_on();
    assert_eq!(play.ended(first).await, RunStatus::Done);
    assert_eq!(play.stage.performed(second), [""; 0]);
    assert_eq!(play.conversation().await, ["wait", "heard wait"]);
}

pub async fn threads_do_not_wait_for_each_other(subject: &dyn Subject) {
    let play = Play::begin(subject, "two-threads").await;
    let first = play.say("wait").await;
    let mut other = play.turn("hello");
    other.thread = ibid_core::ThreadId::new();
    let other = play.submit(other).await;
    assert_eq!(play.ended(other).await, RunStatus::Done);
    play.stage.let_one_go_on();
    assert_eq!(play.ended(first).await, RunStatus::Done);
}
