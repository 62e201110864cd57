//! What an engine takes and gives: turns, runs, threads, events.

use std::time::SystemTime;

use ibid_core::{Message, RunId, ThreadId};
use ibid_graph::StepEvent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A turn to be run.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The conversation. It is begun if it does not exist.
    pub thread: ThreadId,
    /// Which assistant answers.
    pub assistant: String,
    /// What is new, at least one message.
    pub messages: Vec<Message>,
    /// How to answer: mode, format and the like.
    pub options: Map<String, Value>,
    /// What to do if the thread works on another turn.
    pub when_busy: WhenBusy,
    /// The same key on the same thread is the same turn: a repeated request gets the first one's run.
    pub idempotency_key: Option<String>,
}

impl Turn {
    /// One message to an assistant, to be answered after whatever the thread works on.
    pub fn new(thread: ThreadId, assistant: impl Into<String>, message: Message) -> Self {
        Self {
            thread,
            assistant: assistant.into(),
            messages: vec![message],
            options: Map::new(),
            when_busy: WhenBusy::default(),
            idempotency_key: None,
        }
    }
}

/// What to do with a message to a thread that works on another turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenBusy {
    /// Wait for it.
    #[default]
    Enqueue,
    /// Refuse the message.
    Reject,
    /// Stop that turn, keep what it had, and go before those that wait.
    Interrupt,
    /// Stop that turn, forget it, and go before those that wait.
    Rollback,
}

/// A turn that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submitted {
    /// Its run.
    pub run: RunId,
    /// Whether the idempotency key had been used: the run is the earlier one.
    pub duplicate: bool,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It waits for the turns before it.
    Queued,
    /// It works.
    Running,
    /// It waits for a person's answer.
    Waiting,
    /// It reached its end.
    Done,
    /// It was stopped and kept what it had.
    Stopped,
    /// It failed.
    Failed,
    /// It was stopped and forgotten.
    RolledBack,
}

impl RunStatus {
    const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Done,
        Self::Stopped,
        Self::Failed,
        Self::RolledBack,
    ];

    /// As it is stored and told.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::RolledBack => "rolled_back",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether nothing more will happen.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Stopped | Self::Failed | Self::RolledBack)
    }
}

/// One turn as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// Its conversation.
    pub thread: ThreadId,
    /// Which assistant answers.
    pub assistant: String,
    /// Where it stands.
    pub status: RunStatus,
    /// What it asks, if it waits.
    pub question: Option<Value>,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// When it was submitted.
    pub created: SystemTime,
    /// When it ended.
    pub ended: Option<SystemTime>,
}

/// One conversation, without its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its name.
    pub id: ThreadId,
    /// The beginning of its first message.
    pub title: String,
    /// How many messages it has.
    pub messages: u64,
    /// When it began.
    pub created: SystemTime,
    /// When a turn was last submitted to it.
    pub updated: SystemTime,
}

/// A thread's place in the list when it was read. It stays where it was although the thread may be used
/// again or deleted, so that going on from it neither repeats nor leaves out others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPlace {
    pub(crate) updated: SystemTime,
    pub(crate) id: ThreadId,
}

impl Thread {
    /// Its place in the list.
    pub fn place(&self) -> ThreadPlace {
        ThreadPlace { updated: self.updated, id: self.id }
    }
}

/// Which threads to list: the most recent first.
#[derive(Debug, Clone, Copy)]
pub struct ThreadPage {
    /// Go on after this place, that of the last thread of the page before.
    pub after: Option<ThreadPlace>,
    /// How many.
    pub limit: usize,
}

/// Which messages of a thread to read: the last ones before a position.
#[derive(Debug, Clone, Copy)]
pub struct MessageWindow {
    /// Only messages before this position; the newest if not given.
    pub before: Option<u64>,
    /// How many.
    pub limit: usize,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Which run.
    pub run: RunId,
    /// Its number in the run, from 1, without gaps.
    pub seq: u64,
    /// What happened, in which step and attempt.
    #[serde(flatten)]
    pub what: StepEvent,
}
