//! Where a run stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

    /// As it is stored and sent.
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

    /// From what was stored.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether nothing more will happen.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Stopped | Self::Failed | Self::RolledBack)
    }
}
