//! What is stored of a run, as Rust values, whichever store it is read from.

use std::time::{Duration, SystemTime};

use ibid_core::trace::TraceParent;
use ibid_core::{QueueId, RunId, ThreadId};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::store::StoreError;
use crate::types::{Job, Run, RunStatus};

/// How a run is to end once it was told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopping {
    Stop,
    Rollback,
}

impl Stopping {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Rollback => "rollback",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Stop, Self::Rollback].into_iter().find(|stopping| stopping.as_str() == text)
    }
}

/// A run as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct RunRow {
    pub(crate) key: i64,
    pub(crate) id: RunId,
    pub(crate) thread_key: i64,
    pub(crate) thread: ThreadId,
    pub(crate) graph: String,
    pub(crate) version: String,
    pub(crate) status: RunStatus,
    pub(crate) options: String,
    pub(crate) stopping: Option<Stopping>,
    pub(crate) history_from: i64,
    pub(crate) history_to: i64,
    pub(crate) input_to: i64,
    pub(crate) interrupt: Option<String>,
    pub(crate) interrupted_step: Option<u32>,
    pub(crate) resume_value: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) created_ms: i64,
    pub(crate) ended_ms: Option<i64>,
    pub(crate) kept: bool,
    pub(crate) scope: String,
    pub(crate) metadata: String,
    pub(crate) output_from: i64,
    pub(crate) output_to: i64,
    pub(crate) stream_modes: String,
    /// What is to be done, if it is a job.
    pub(crate) request: Option<String>,
    pub(crate) result: Option<String>,
    /// The place in its trace.
    pub(crate) trace: Option<TraceParent>,
    /// How many processes ended without a word while they were at a step, and at which.
    pub(crate) crashes: i64,
    pub(crate) crashes_step: Option<i64>,
    /// Who has it, where several processes could.
    pub(crate) claim: RunClaim,
}

/// Which process has a run, and where its journal stands, where several processes share a store.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunClaim {
    /// The process that works on it.
    pub(crate) owner: Option<uuid::Uuid>,
    /// How often it was claimed. Whatever is written of it names this, so that who had it before can change nothing.
    pub(crate) epoch: i64,
    /// The day that its journal is kept under, counted from 1970.
    pub(crate) journal_day: i64,
    /// Whether a process had begun it and did not end it.
    pub(crate) left: bool,
    /// Whether it may be what ends its processes.
    pub(crate) suspect: bool,
}

/// In place of the number of crashes, if the run was set aside.
pub(crate) const SET_ASIDE: i64 = -1;
/// In place of the step, if the last process ended in order.
pub(crate) const ENDED_IN_ORDER: i64 = 0;

impl RunRow {
    /// How many processes ended without a word while they were at this step of it, now that the last one has ended.
    pub(crate) fn crashes_at(&self, step: i64) -> i64 {
        match self.crashes_step {
            _ if self.crashes == SET_ASIDE => i64::MAX,
            Some(ENDED_IN_ORDER) => 0,
            Some(at) if at == step => self.crashes + 1,
            _ => 1,
        }
    }

    /// As its caller sees it, if it is a job.
    pub(crate) fn into_job(self) -> Option<Job> {
        let value = |text: &str| serde_json::from_str(text).unwrap_or_default();
        Some(Job {
            id: self.id,
            queue: QueueId::from_bytes(*self.thread.as_bytes()),
            request: value(&self.request?),
            status: self.status,
            result: self.result.as_deref().map(value),
            error: self.error,
            set_aside: self.crashes < 0,
        })
    }

    /// As its caller sees it.
    pub(crate) fn into_run(self) -> Run {
        Run {
            id: self.id,
            thread: self.thread,
            assistant: self.graph,
            options: object(&self.options).into(),
            stream_modes: serde_json::from_str(&self.stream_modes).unwrap_or_default(),
            metadata: object(&self.metadata),
            input: self.history_to.unsigned_abs()..self.input_to.unsigned_abs(),
            status: self.status,
            output: self.output_from.unsigned_abs()..self.output_to.unsigned_abs(),
            interrupted_step: self.interrupted_step.filter(|_| self.status == RunStatus::Waiting),
            interrupt: self.interrupt.and_then(|text| serde_json::from_str(&text).ok()),
            error: self.error,
            trace_id: self.trace.map(|trace| trace.trace_id()),
            created: time(self.created_ms),
            ended: self.ended_ms.map(time),
        }
    }
}

/// An object as it was stored.
pub(crate) fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

/// A run about to be stored.
pub(crate) struct NewRun<'a> {
    pub(crate) id: RunId,
    pub(crate) thread_key: i64,
    pub(crate) graph: &'a str,
    pub(crate) version: &'a str,
    pub(crate) options: &'a str,
    pub(crate) metadata: &'a str,
    pub(crate) scope: &'a str,
    pub(crate) idempotency: Option<&'a str>,
    pub(crate) stream_modes: &'a str,
    /// What is to be done, if it is a job.
    pub(crate) request: Option<&'a str>,
    /// The place in its trace.
    pub(crate) trace: TraceParent,
}

/// A value as it is stored.
pub(crate) fn encode(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::damaged)
}

/// Values as they are stored, each by itself.
pub(crate) fn encode_all<T: Serialize>(values: &[T]) -> Result<Vec<String>, StoreError> {
    values.iter().map(encode).collect()
}

pub(crate) fn now_ms() -> i64 {
    millis(SystemTime::now())
}

pub(crate) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn time(ms: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms.unsigned_abs())
}
