//! What is told of a call before the model begins to answer.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a model is with a call to which it has not begun to answer.
#[derive(Debug, Clone, PartialEq)]
pub enum CallProgress {
    /// It reads.
    Reading(ReadingProgress),
    /// The call failed, and is made again.
    Retrying {
        /// Why it failed.
        reason: String,
    },
}

/// How far a model has read what it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ReadingProgress {
    /// How many tokens it has to read.
    pub tokens: u64,
    /// How many of them it has read, if it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// In about how many seconds it begins to answer, as far as its speed is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
}

/// Who is told how far a call is.
#[derive(Clone)]
pub struct ProgressListener(Arc<dyn Fn(CallProgress) + Send + Sync>);

impl ProgressListener {
    /// Calls this with whatever there is to tell.
    pub fn new(listen: impl Fn(CallProgress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listen))
    }

    /// Tells something.
    pub fn tell(&self, progress: CallProgress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for ProgressListener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ProgressListener")
    }
}

impl PartialEq for ProgressListener {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
