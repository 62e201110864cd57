//! Words and times as LangGraph's clients know them.

use std::time::SystemTime;

use ibid_engine::{Run, ThreadField, ThreadOrder, ThreadStatus};
use serde_json::{Value, json};

use crate::http::Problem;

/// What a thread is doing.
pub(super) fn status(status: ThreadStatus) -> &'static str {
    match status {
        ThreadStatus::Idle => "idle",
        ThreadStatus::Busy => "busy",
        ThreadStatus::Waiting => "interrupted",
        ThreadStatus::Failed => "error",
    }
}

/// What a thread is wanted to be doing.
pub(super) fn status_of(text: &str) -> Result<ThreadStatus, Problem> {
    let all = [ThreadStatus::Idle, ThreadStatus::Busy, ThreadStatus::Waiting, ThreadStatus::Failed];
    let found = all.into_iter().find(|known| status(*known) == text);
    found.ok_or_else(|| {
        Problem::invalid(format!("`{text}` is no status: use idle, busy, interrupted or error"))
    })
}

/// The order in which threads are wanted.
pub(super) fn order_of(by: Option<&str>, order: Option<&str>) -> Result<ThreadOrder, Problem> {
    let by = match by {
        None | Some("updated_at" | "state_updated_at") => ThreadField::Updated,
        Some("created_at") => ThreadField::Created,
        Some("thread_id") => ThreadField::Id,
        Some("status") => ThreadField::Status,
        Some(other) => return Err(Problem::invalid(format!("threads cannot be sorted by `{other}`"))),
    };
    let ascending = match order {
        None | Some("desc") => false,
        Some("asc") => true,
        Some(other) => return Err(Problem::invalid(format!("`{other}` is no order: use asc or desc"))),
    };
    Ok(ThreadOrder { by, ascending })
}

/// A time.
pub(crate) fn stamp(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).unwrap_or_default().to_string()
}

/// What a run asks a person, if it does.
pub(crate) fn interrupts(run: &Run) -> Value {
    match &run.interrupt {
        Some(question) => json!([{ "id": run.id.to_string(), "value": question }]),
        None => json!([]),
    }
}

/// Which fields of an object are wanted; all unless said otherwise.
#[derive(Debug, Default)]
pub(crate) struct Select(Vec<String>);

impl Select {
    /// Only these, if there are any.
    pub(crate) fn of(fields: &[String]) -> Self {
        Self(fields.to_vec())
    }

    /// Whether a field is wanted.
    pub(crate) fn wants(&self, field: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted.split('.').next() == Some(field))
    }

    /// An object with the wanted fields only.
    pub(crate) fn keep(&self, mut object: Value) -> Value {
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|field, _| self.wants(field));
        }
        object
    }
}
