//! What an engine takes and gives: turns, runs, threads, events.

use std::num::NonZeroU32;
use std::ops::Range;
use std::time::SystemTime;

pub use ibid_core::RunStatus;
use ibid_core::trace::TraceParent;
use ibid_core::{AccessRole, Message, QueueId, RunId, Scope, ThreadId, TurnOptions};
use ibid_graph::StepEvent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most bytes of the text of a message that somebody sends. More belongs into a document.
pub const MOST_MESSAGE_BYTES: usize = 256 << 10;

/// The most bytes of what a caller keeps with a thread, and with a turn together with how it is to answer.
pub const MOST_METADATA_BYTES: usize = 64 << 10;

/// The most bytes of a name that a client gives a message.
pub const MOST_ID_BYTES: usize = 256;

/// The most bytes of messages that are read at once.
pub const MOST_WINDOW_BYTES: usize = 8 << 20;

/// A turn to be run.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The conversation. It is begun if it does not exist.
    pub thread: ThreadId,
    /// Which assistant answers.
    pub assistant: String,
    /// What is new, at least one message.
    pub messages: Vec<Message>,
    /// How to answer.
    pub options: TurnOptions,
    /// What the caller wants streamed of it, for those who come back to the stream.
    pub stream_modes: Vec<String>,
    /// Whatever the caller keeps with the turn for itself.
    pub metadata: Map<String, Value>,
    /// The place in the trace that it is a part of; its own if not given.
    pub trace: Option<TraceParent>,
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
            options: TurnOptions::default(),
            stream_modes: Vec::new(),
            metadata: Map::new(),
            trace: None,
            when_busy: WhenBusy::default(),
            idempotency_key: None,
        }
    }
}

/// A job to be run: a graph that is no conversation, such as the load of a document.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// The queue that it waits in. Jobs of one queue run one after the other.
    pub queue: QueueId,
    /// Which graph runs it.
    pub graph: String,
    /// What is to be done, as that graph reads it.
    pub request: Value,
}

/// One job as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its run.
    pub id: RunId,
    /// The queue that it is in.
    pub queue: QueueId,
    /// What was to be done.
    pub request: Value,
    /// Where it stands.
    pub status: RunStatus,
    /// What came of it, also if it was stopped half-way.
    pub result: Option<Value>,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// Whether it was given up because processes ended again and again while they worked on it.
    pub set_aside: bool,
}

/// A job that has not ended, of any tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct UnfinishedJob {
    /// On whose behalf it runs.
    pub scope: Scope,
    /// The job.
    pub job: Job,
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
    pub options: TurnOptions,
    /// What was to be streamed of it.
    pub stream_modes: Vec<String>,
    /// What the caller keeps with it.
    pub metadata: Map<String, Value>,
    /// The positions of the messages that it began with; nothing while it waits for the turns before it.
    pub input: Range<u64>,
    /// The positions of the messages that it answered with; empty until it has ended, and if it said nothing.
    pub output: Range<u64>,
    /// Where it stands.
    pub status: RunStatus,
    /// What it asks a person, if it waits.
    pub interrupt: Option<Value>,
    /// The step that asks, if it waits.
    pub interrupted_step: Option<u32>,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// Its trace, for whoever looks for it in the log or where traces are kept.
    pub trace_id: Option<String>,
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
    /// Who began it; none if it belongs to the tenant.
    pub owner: Option<String>,
    /// Whether others at the tenant may read it.
    pub shared: bool,
    /// What it is doing.
    pub status: ThreadStatus,
    /// When it began.
    pub created: SystemTime,
    /// When a turn was last submitted to it.
    pub updated: SystemTime,
}

/// What is to be changed of a thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadUpdate {
    /// Added to what is noted of it; a note that is there is replaced.
    pub metadata: Map<String, Value>,
    /// Whether others at the tenant may read it; as it was if not given.
    pub shared: Option<bool>,
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

/// Where a thread stood in the list when it was read. It stays there although the thread may be used
/// again or deleted, so that going on from it neither repeats nor leaves out others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadCursor {
    pub(crate) updated: SystemTime,
    pub(crate) id: ThreadId,
}

impl Thread {
    /// Where it stands in the list.
    pub fn cursor(&self) -> ThreadCursor {
        ThreadCursor { updated: self.updated, id: self.id }
    }
}

/// Which threads to list.
#[derive(Debug, Clone, Default)]
pub struct ThreadPage {
    /// Which ones.
    pub filter: ThreadFilter,
    /// In which order.
    pub order: ThreadOrder,
    /// Go on after the last thread of the page before; in the usual order only.
    pub after: Option<ThreadCursor>,
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
    /// Only the caller's own, also if others may be seen.
    pub own: bool,
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
    /// Who gave it: the name of a key or a person; empty if that is not known.
    pub author: String,
    /// When it was given.
    pub created: SystemTime,
}

/// A key that was made while a server runs, without the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// What it is called; no two of a tenant have one name.
    pub name: String,
    /// What its holder may see, of which tenant.
    pub scope: Scope,
    /// What its holder may do.
    pub role: AccessRole,
    /// How many requests it may make in a minute, if it has a limit of its own.
    pub per_minute: Option<NonZeroU32>,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    pub created: SystemTime,
    /// When it ends, if it does.
    pub expires: Option<SystemTime>,
}

/// One message of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadMessage {
    /// Where it stands, from 0.
    pub position: u64,
    /// The turn that it belongs to, if that is still there.
    pub run: Option<RunId>,
    /// What was said.
    pub message: Message,
}

/// Which messages of a thread to read: the last ones before a position, and at most [`MOST_WINDOW_BYTES`] of them.
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
