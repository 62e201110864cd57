//! The rules that every [`Engine`] keeps, as tests that any implementation runs.
//!
//! Hand [`check`] something that can open, kill and open again the engine under test. Each case panics
//! with the rule that was broken.

#![expect(clippy::expect_used, clippy::panic, reason = "a test suite reports by panicking")]

mod busy;
mod crash;
mod reading;
mod stage;
mod threads;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId};
use ibid_graph::Kind;

use crate::{Assistants, Engine, Event, MessageWindow, RunStatus, Turn};
use stage::Stage;

/// The engine under test.
#[async_trait]
pub trait Subject: Send + Sync {
    /// Opens an engine on a store of the name, new or left by a kill.
    async fn open(&self, store: &str, assistants: Assistants) -> Arc<dyn Engine>;

    /// Kills an engine in the middle of whatever it does, and waits until its store is free.
    async fn kill(&self, engine: Arc<dyn Engine>);
}

/// Runs every case, each on a store of its own.
pub async fn check(subject: &dyn Subject) {
    turns::check(subject).await;
    busy::check(subject).await;
    crash::check(subject).await;
    reading::check(subject).await;
    threads::check(subject).await;
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
        let engine = subject.open(store, stage.assistants(1)).await;
        let scope = Scope::of(Tenant::local());
        Self { subject, store, stage, engine, scope, thread: ThreadId::new() }
    }

    /// Kills the engine and opens it again, the assistant's graph perhaps in another version.
    async fn kill_and_reopen(&mut self, version: u32) {
        self.subject.kill(self.engine.clone()).await;
        self.engine = self.subject.open(self.store, self.stage.assistants(version)).await;
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
        let Some(Kind::Ended { status, .. }) = events.last().map(|event| &event.what.kind) else {
            panic!("the last event must say how the run ended, got {events:?}")
        };
        let run = self.engine.run(&self.scope, run).await.expect("the run is known");
        assert_eq!(run.status.as_str(), status, "the last event must agree with the run");
        run.status
    }

    /// Waits for an event of a run.
    async fn until(&self, run: RunId, seen: impl Fn(&Kind) -> bool) -> Event {
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
        self.until(run, |kind| matches!(kind, Kind::Token { .. })).await;
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
