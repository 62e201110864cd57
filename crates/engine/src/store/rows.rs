//! Rows as Rust values.

use std::time::{Duration, SystemTime};

use ibid_core::trace::TraceParent;
use ibid_core::{QueueId, RunId, ThreadId};
use rusqlite::Row;
use rusqlite::types::Type;
use serde::Serialize;
use serde_json::{Map, Value};

use super::error::StoreError;
use crate::types::{Job, Run, RunStatus};

/// How a run is to end once it was told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopping {
    Stop,
    Rollback,
}

impl Stopping {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Rollback => "rollback",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
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
    crashes: i64,
    crashes_step: Option<i64>,
}

/// In place of the number of crashes, if the run was set aside.
pub(crate) const SET_ASIDE: i64 = -1;
/// In place of the step, if the last process ended in order.
pub(super) const ENDED_IN_ORDER: i64 = 0;

/// The columns of [`RunRow`], with the thread's id, for `runs JOIN threads`.
pub(super) const RUN_COLUMNS: &str = "runs.key, runs.id, runs.thread, threads.id, graph, version, status, options, \
     stopping, history_from, history_to, input_to, interrupt, interrupted_step, resume_value, error, \
     runs.created_ms, ended_ms, kept, \
     coalesce(scope, json_object('tenant', tenant, 'corpora', NULL, 'labels', json_array())), \
     runs.metadata, output_from, output_to, stream_modes, request, result, traceparent, crashes, crashes_step";

impl RunRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let status: String = row.get(6)?;
        let stopping: Option<String> = row.get(8)?;
        Ok(Self {
            key: row.get(0)?,
            id: RunId::from_bytes(row.get(1)?),
            thread_key: row.get(2)?,
            thread: ThreadId::from_bytes(row.get(3)?),
            graph: row.get(4)?,
            version: row.get(5)?,
            status: RunStatus::parse(&status).ok_or_else(|| unknown(6, &status))?,
            options: row.get(7)?,
            stopping: stopping
                .map(|text| Stopping::parse(&text).ok_or_else(|| unknown(8, &text)))
                .transpose()?,
            history_from: row.get(9)?,
            history_to: row.get(10)?,
            input_to: row.get(11)?,
            interrupt: row.get(12)?,
            interrupted_step: row.get(13)?,
            resume_value: row.get(14)?,
            error: row.get(15)?,
            created_ms: row.get(16)?,
            ended_ms: row.get(17)?,
            kept: row.get(18)?,
            scope: row.get(19)?,
            metadata: row.get(20)?,
            output_from: row.get(21)?,
            output_to: row.get(22)?,
            stream_modes: row.get(23)?,
            request: row.get(24)?,
            result: row.get(25)?,
            trace: row.get::<_, Option<String>>(26)?.and_then(|text| text.parse().ok()),
            crashes: row.get(27)?,
            crashes_step: row.get(28)?,
        })
    }

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
            set_aside: self.crashes == SET_ASIDE,
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
pub(super) fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn unknown(column: usize, text: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, format!("unknown value `{text}`").into())
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

pub(super) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn time(ms: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms.unsigned_abs())
}
