//! A run as LangGraph's clients know it.

use ibid_engine::{Run, RunStatus};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

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

/// A run as LangGraph's clients know it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub(super) struct RunView {
    run_id: String,
    thread_id: String,
    assistant_id: String,
    created_at: String,
    updated_at: String,
    /// pending, running, success, error or interrupted.
    status: &'static str,
    /// What the caller notes of it.
    metadata: Map<String, Value>,
    kwargs: Kwargs,
    multitask_strategy: &'static str,
    error: Option<String>,
}

/// How a run was to answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunKwargs")]
struct Kwargs {
    stream_mode: Vec<String>,
    config: Configured,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunConfigured")]
struct Configured {
    /// Mode, format and the like.
    configurable: Map<String, Value>,
}

/// As it is sent.
pub(super) fn to_wire(run: &Run) -> RunView {
    RunView {
        run_id: run.id.to_string(),
        thread_id: run.thread.to_string(),
        assistant_id: run.assistant.clone(),
        created_at: stamp(run.created),
        updated_at: stamp(run.ended.unwrap_or(run.created)),
        status: status(run.status),
        metadata: run.metadata.clone(),
        kwargs: Kwargs {
            stream_mode: run.stream_modes.clone(),
            config: Configured { configurable: run.options.as_map().clone() },
        },
        multitask_strategy: "enqueue",
        error: run.error.clone(),
    }
}
