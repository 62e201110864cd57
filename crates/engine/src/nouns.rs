//! What an engine takes and gives: turns, runs, threads, events.

use std::ops::Range;
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
    /// What the caller notes of the turn for itself.
    pub metadata: Map<String, Value>,
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
            metadata: Map::new(),
            when_busy: WhenBusy::default(),
            idempotency_key: None,
        }
    }
}

/// What to do with a message to a thread that works on another turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenBusy {
    /// Wait for it; but if it waits for a person itself, who has moved on, interrupt it.
    #[default]
    Enqueue,
    /// Refuse the message.
    Reject,
    /// Stop that turn, keep what it had, and go before those that wait.
    Interrupt,
    /// Stop that turn, forget it, and go before those that wait.
    Rollback,
}

/// What becomes of a turn that is stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stop {
    /// What it had is kept.
    #[default]
    Keep,
    /// It is forgotten, with what was asked.
    Forget,
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
    /// Which assistant answers; empty if messages joined the thread without a turn.
    pub assistant: String,
    /// How it was to answer.
    pub options: Map<String, Value>,
    /// What the caller notes of it.
    pub metadata: Map<String, Value>,
    /// The positions of the messages that it began with; nothing while it waits for the turns before it.
    pub input: Range<u64>,
    /// Where it stands.
    pub status: RunStatus,
    /// What it asks, if it waits.
    pub question: Option<Value>,
    /// The step that asks, if it waits.
    pub asked: Option<u32>,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// When it was submitted.
    pub created: SystemTime,
    /// When it ended.
    pub ended: Option<SystemTime>,
}

/// One conversation, without its messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Thread {
    /// Its name.
    pub id: ThreadId,
    /// The beginning of its first message.
    pub title: String,
    /// How many messages it has.
    pub messages: u64,
    /// What the caller notes of it.
    pub metadata: Map<String, Value>,
    /// What it is doing.
    pub status: ThreadStatus,
    /// When it began.
    pub created: SystemTime,
    /// When a turn was last submitted to it.
    pub updated: SystemTime,
}

/// How long a thread is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// Until somebody deletes it.
    #[default]
    Kept,
    /// Until some time after it was last used. It is in no list.
    Temporary,
}

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadStatus {
    /// Nothing.
    Idle,
    /// It works on a turn.
    Busy,
    /// It waits for a person's answer.
    Waiting,
    /// Nothing, and its last turn failed.
    Failed,
}

impl ThreadStatus {
    const ALL: [Self; 4] = [Self::Idle, Self::Busy, Self::Waiting, Self::Failed];

    /// As it is told.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
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

/// Which threads to list.
#[derive(Debug, Clone, Default)]
pub struct ThreadPage {
    /// Which ones.
    pub filter: ThreadFilter,
    /// In which order.
    pub order: ThreadOrder,
    /// Go on after this place, that of the last thread of the page before; in the usual order only.
    pub after: Option<ThreadPlace>,
    /// Leave out so many.
    pub skip: usize,
    /// How many.
    pub limit: usize,
}

impl ThreadPage {
    /// The threads that were used last.
    pub fn first(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }
}

/// Which threads are meant: those that everything given here fits.
#[derive(Debug, Clone, Default)]
pub struct ThreadFilter {
    /// Only these.
    pub ids: Option<Vec<ThreadId>>,
    /// Those whose metadata contains this, also deeper inside.
    pub metadata: Map<String, Value>,
    /// Those that do this.
    pub status: Option<ThreadStatus>,
    /// Those whose title contains this, in any case.
    pub title: Option<String>,
}

/// In which order threads are listed: the last used first, unless said otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadOrder {
    /// By what.
    pub by: ThreadField,
    /// Whether the smallest comes first.
    pub ascending: bool,
}

/// By what threads are ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThreadField {
    /// When a turn was last submitted.
    #[default]
    Updated,
    /// When they began.
    Created,
    /// Their names.
    Id,
    /// What they do.
    Status,
}

/// What somebody thought of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// Above 0 for good, below for bad.
    pub score: i8,
    /// Why, in their words; may be empty.
    pub comment: String,
    /// When it was given.
    pub created: SystemTime,
}

/// One message of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Where it stands, from 0.
    pub position: u64,
    /// The turn that it belongs to, if that is still there.
    pub run: Option<RunId>,
    /// What was said.
    pub message: Message,
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
