//! Whether verified answers are given again.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether verified answers are given again, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cache {
    /// Whether an answer that passed all checks is given again to whoever asks the same and may see the same, as long as the
    /// documents behind it are unchanged.
    pub enabled: bool,
    /// How similar the two questions must be, as the embedding model sees it, besides saying the same: from 0 to 1.
    pub similarity: f32,
    /// How similar they must be where no model can be reached, so that the answer to another question is offered and marked as
    /// such: from 0 to 1; 1 offers none.
    pub similarity_when_down: f32,
    /// After how many days an answer is too old.
    pub days: u32,
    /// After how many hours an answer is too old that rests on pages of the web.
    pub web_hours: u32,
}

impl Cache {
    /// How long an answer may be given again.
    pub(crate) fn lifetime(&self, from_web: bool) -> Duration {
        let hours = if from_web { u64::from(self.web_hours) } else { u64::from(self.days) * 24 };
        Duration::from_secs(hours * 3600)
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self { enabled: false, similarity: 0.6, similarity_when_down: 0.55, days: 30, web_hours: 24 }
    }
}
