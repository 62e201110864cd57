//! How an answer was worked out in rounds: which passages were taken for relevant, and what the checks made of each draft.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One round: what was searched for, what was taken of it, and what the checks made of what was written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ResearchRound {
    /// Its number, from 1.
    pub round: u32,
    /// What was searched for.
    pub searched: Vec<String>,
    /// What was found, and whether it was taken for relevant.
    pub grades: Vec<Grade>,
    /// What was written, if it does not hold.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub draft: String,
    /// What the checks made of the draft; none if the turn was stopped before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RoundVerdict>,
}

/// Whether a passage was taken for relevant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grade {
    /// The number of the source.
    pub source: u32,
    /// The title of its document.
    pub title: String,
    /// Its page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Whether it is relevant.
    pub relevance: Relevance,
}

/// Whether a passage helps to answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relevance {
    /// It does.
    Relevant,
    /// It does not, and is left out.
    Irrelevant,
    /// The grader could not tell, so it is kept.
    NotSure,
}

impl Relevance {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Relevant => "relevant",
            Self::Irrelevant => "irrelevant",
            Self::NotSure => "not_sure",
        }
    }
}

/// What the checks made of a draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundVerdict {
    /// The sentences that no source supports.
    pub unsupported: Vec<String>,
    /// The sentences that the checker could not judge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_sure: Vec<String>,
    /// Whether it answers the question.
    pub answered: Answered,
    /// What is missing, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub missing: String,
}

/// Whether a draft answers the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The checker could not tell.
    NotSure,
}

impl RoundVerdict {
    /// Whether the draft can be given as it is. What a checker could not tell is no reason to search again.
    pub fn is_accepted(&self) -> bool {
        self.unsupported.is_empty() && self.answered != Answered::No
    }
}
