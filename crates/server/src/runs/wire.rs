//! A run as LangGraph's clients know it.

use ibid_engine::{Run, RunStatus};
use serde_json::{Value, json};

use super::begin::{configured, modes_of};
use crate::threads::stamp;

/// Where a run stands.
pub(super) fn status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Queued => "pending",
        RunStatus::Running => "running",
        RunStatus::Done => "success",
        RunStatus::Failed => "error",
        RunStatus::Waiting | RunStatus::Stopped | RunStatus::RolledBack => "interrupted",
    }
}

/// As it is told.
pub(super) fn told(run: &Run) -> Value {
    json!({
        "run_id": run.id.to_string(),
        "thread_id": run.thread.to_string(),
        "assistant_id": run.assistant,
        "created_at": stamp(run.created),
        "updated_at": stamp(run.ended.unwrap_or(run.created)),
        "status": status(run.status),
        "metadata": run.metadata,
        "kwargs": {
            "stream_mode": modes_of(&run.options),
            "config": { "configurable": configured(&run.options) },
        },
        "multitask_strategy": "enqueue",
        "error": run.error,
    })
}
