//! The rules that every [`Engine`] keeps, as tests that any implementation runs.
//!
//! Hand `engine_conformance_tests!` something that can open, kill and open again the engine under test. Each
//! case is a test of its own, and panics with the rule that was broken.

#![expect(clippy::expect_used, clippy::panic, reason = "a test suite reports by panicking")]

#[expect(missing_docs, reason = "a case says in its name what it checks")]
pub mod access;
#[expect(missing_docs, reason = "a case says in its name what it checks")]
pub mod busy;
#[expect(missing_docs, reason = "a case says in its name what it checks")]
pub mod crash;
#[expect(missing_docs, reason = "a case says in its name what it checks")]
pub mod jobs;
#[expect(missing_docs, reason = "a case says in its name what it checks")]
pub mod reading;
mod stage;
#[expect(missing_docs, reason = "a case says in its name what it checks")]
pub mod threads;
#[expect(missing_docs, reason = "a case says in its name what it checks")]
pub mod turns;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId};
use ibid_graph::EventKind;

use crate::{Engine, Event, Graphs, MessageWindow, RunStatus, Turn};
use stage::Stage;

/// The engine under test.
#[async_trait]
pub trait Subject: Send + Sync {
    /// Opens an engine on a store of the name, new or left by a kill.
    async fn open(&self, store: &str, assistants: Graphs) -> Arc<dyn Engine>;

    /// Kills an engine in the middle of whatever it does, and waits until its store is free.
    async fn kill(&self, engine: Arc<dyn Engine>);
}

/// One test for each rule. The argument makes a [`Subject`]; each case has one of its own.
#[macro_export]
macro_rules! engine_conformance_tests {
    ($subject:expr) => {
        $crate::engine_conformance_tests! { $subject;
            turns::a_turn_is_answered_and_tells_every_step,
            turns::events_can_be_read_from_any_number_on,
            turns::no_token_is_lost_and_the_order_is_kept,
            turns::a_duplicate_request_is_the_same_run,
            turns::a_stop_returns_at_once_and_keeps_the_partial_answer,
            turns::a_turn_stopped_in_its_last_node_is_not_done,
            turns::a_question_waits_for_a_fitting_answer,
            turns::a_failure_and_an_oversized_result_end_the_turn_and_the_thread_goes_on,
            turns::what_cannot_be_taken_is_refused,
            busy::a_second_turn_waits_for_the_first,
            busy::a_second_turn_can_be_refused,
            busy::an_interrupting_turn_goes_first_and_keeps_what_the_other_had,
            busy::a_turn_that_rolls_back_forgets_the_other,
            busy::a_rollback_wins_however_far_the_other_came,
            busy::a_turn_that_waits_for_a_person_can_be_interrupted,
            busy::a_queued_turn_can_be_stopped,
            busy::threads_do_not_wait_for_each_other,
            crash::a_killed_turn_goes_on_where_it_was,
            crash::what_ends_its_process_again_and_again_is_set_aside,
            crash::of_several_only_the_one_that_ends_its_process_is_set_aside,
            crash::queued_turns_survive_a_kill,
            crash::a_stop_survives_a_kill,
            crash::new_code_that_still_fits_goes_on,
            crash::a_waiting_turn_that_no_longer_fits_asks_again,
            crash::a_turn_of_another_declared_version_begins_again,
            crash::a_turn_whose_steps_no_longer_fit_begins_again,
            reading::messages_are_read_by_the_window,
            reading::threads_are_listed_by_the_page,
            reading::the_state_after_any_step_can_be_read_and_forked_from,
            reading::what_came_of_turns_is_kept,
            reading::questions_are_picked_for_datasets,
            reading::a_deleted_thread_is_gone_also_while_it_works,
            threads::a_thread_can_begin_without_a_turn,
            threads::threads_are_found_by_what_is_noted_and_by_what_they_do,
            threads::messages_join_a_thread_without_a_turn,
            threads::messages_have_a_length_and_windows_a_size,
            threads::a_copy_has_the_conversation_and_goes_its_own_way,
            threads::a_turn_that_is_forgotten_leaves_nothing,
            threads::a_deleted_run_leaves_what_it_said,
            access::tenants_do_not_see_each_other,
            access::a_thread_is_its_owners_until_it_is_shared,
            access::a_thread_keeps_the_scope_that_it_began_with,
            access::a_key_is_found_by_its_hash_until_it_is_deleted,
            access::a_caller_is_held_to_its_requests,
            access::a_lease_is_kept_by_who_has_it,
            jobs::a_job_keeps_its_request_and_its_result,
            jobs::jobs_of_a_queue_run_one_after_the_other,
            jobs::a_killed_job_goes_on_without_a_finished_step,
            jobs::a_deleted_queue_leaves_nothing
        }
    };
    ($subject:expr; $($module:ident::$case:ident),*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let subject = $subject;
                $crate::conformance::$module::$case(&subject).await;
            }
        )*
    };
}

/// One engine with the stage that its assistant plays on.
struct Play<'a> {
    subject: &'a dyn Subject,
    store: &'static str,
    stage: Arc<Stage>,
    engine: Arc<dyn Engine>,
    scope: Scope,
    thread: ThreadId,
}

impl<'a> Play<'a> {
    async fn begin(subject: &'a dyn Subject, store: &'static str) -> Self {
        let stage = Stage::new();
        let engine = subject.open(store, stage.graphs(1)).await;
        let scope = Scope::of(Tenant::local());
        Self { subject, store, stage, engine, scope, thread: ThreadId::new() }
    }

    /// Kills the engine and opens it again, the assistant's graph perhaps in another version.
    async fn kill_and_reopen(&mut self, version: u32) {
        self.subject.kill(self.engine.clone()).await;
        self.engine = self.subject.open(self.store, self.stage.graphs(version)).await;
    }

    /// Ends the engine in order, in the middle of a step, and opens it again.
    async fn end_and_reopen(&mut self) {
        self.engine.shutdown(Duration::from_millis(1)).await;
        self.kill_and_reopen(1).await;
    }

    fn turn(&self, text: &str) -> Turn {
        Turn::new(self.thread, "echo", Message::user(text))
    }

    async fn submit(&self, turn: Turn) -> RunId {
        self.engine.submit(&self.scope, turn).await.expect("the turn is taken").run
    }

    async fn say(&self, text: &str) -> RunId {
        self.submit(self.turn(text)).await
    }

    /// Every event of a run from a number on, until it ends.
    async fn events(&self, run: RunId, after: u64) -> Vec<Event> {
        let stream = self.engine.events(&self.scope, run, after).await.expect("there are events");
        in_time(stream.map(|event| event.expect("events can be read")).collect()).await
    }

    /// Waits for a run to end, and checks that its events are numbered without a gap.
    async fn ended(&self, run: RunId) -> RunStatus {
        let events = self.events(run, 0).await;
        let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
        let expected: Vec<u64> = (1..=events.len() as u64).collect();
        assert_eq!(numbers, expected, "events must be numbered from 1 without a gap");
        assert!(events.iter().all(|event| event.run == run), "every event names its run");
        let Some(EventKind::RunEnded { status, .. }) = events.last().map(|event| &event.what.kind) else {
            panic!("the last event must say how the run ended, got {events:?}")
        };
        let run = self.engine.run(&self.scope, run).await.expect("the run is known");
        assert_eq!(run.status.as_str(), status, "the last event must agree with the run");
        run.status
    }

    /// Waits for an event of a run.
    async fn until(&self, run: RunId, seen: impl Fn(&EventKind) -> bool) -> Event {
        let mut stream = self.engine.events(&self.scope, run, 0).await.expect("there are events");
        while let Some(event) = in_time(stream.next()).await {
            let event = event.expect("events can be read");
            if seen(&event.what.kind) {
                return event;
            }
        }
        panic!("the run ended without the event")
    }

    /// Waits until a run has said its first word.
    async fn speaking(&self, run: RunId) {
        self.until(run, |kind| matches!(kind, EventKind::Token { .. })).await;
    }

    /// How often the node `think` was begun for a run, over all engines.
    fn thoughts(&self, run: RunId) -> usize {
        self.stage.performed(run).iter().filter(|node| *node == "think").count()
    }

    /// Waits until the node `think` was begun so many times for a run.
    async fn thinking(&self, run: RunId, times: usize) {
        let waits = async {
            while self.thoughts(run) < times {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        in_time(waits).await;
    }

    /// What stands in the thread.
    async fn conversation(&self) -> Vec<String> {
        let window = MessageWindow { before: None, limit: 1000 };
        let found = self.engine.messages(&self.scope, self.thread, window).await.expect("there is a thread");
        found.into_iter().map(|said| said.message.text).collect()
    }
}

/// What takes this long will not come any more.
async fn in_time<T>(coming: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), coming).await.expect("the run must go on")
}
