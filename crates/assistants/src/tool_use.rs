//! The tools of a turn: which were called, and what came of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::source::{Origin, Source, add, take};

/// A tool that was or is to be called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    /// By which the result is matched with it.
    pub(crate) id: String,
    /// Which tool.
    pub(crate) name: String,
    /// With what.
    pub(crate) arguments: Value,
    /// Whether a person was asked and did not allow it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) denied: bool,
}

impl Call {
    pub(crate) fn new(id: String, name: String, arguments: Value) -> Self {
        Self { id, name, arguments, denied: false }
    }
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolReport {
    /// Which call.
    pub(crate) id: String,
    /// Which tool.
    pub(crate) name: String,
    /// What the tool gave back, as sources; none if it failed.
    pub(crate) origins: Vec<Origin>,
    /// What is to be known of how that was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// What went wrong, for the model and the person.
    pub(crate) error: Option<String>,
    /// Whether the call itself was wrong, which is the model's business and not the person's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) refused: bool,
    /// The sources as the model is shown them, where that is not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shown: Option<Vec<String>>,
}

impl ToolReport {
    /// Takes what the tool gave back among the sources. Returns the numbers that it has there.
    pub(crate) fn number(&self, sources: &mut Vec<Source>) -> Vec<u32> {
        let each = self.origins.iter().cloned().filter_map(|origin| match origin {
            Origin::Passage(passage) => take(sources, [*passage]).first().copied(),
            other => Some(add(sources, other)),
        });
        each.collect()
    }
}

/// One round of tools: what was called, and what is shown to the model of what came back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ToolRound {
    /// What the model said with the calls.
    pub(crate) text: String,
    /// The calls.
    pub(crate) calls: Vec<Call>,
    /// What each gave back, by the call's id.
    pub(crate) results: Vec<(String, String)>,
}

/// A call in words: the tool, and the texts that it was called with.
pub(crate) fn describe_call(call: &Call) -> String {
    let texts: Vec<&str> = call
        .arguments
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.values())
        .filter_map(Value::as_str)
        .collect();
    format!("{} ({})", texts.join(", "), call.name)
}
