//! What is measured of answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvalMetric {
    /// Turns that failed.
    Failed,
    /// Quotations that are on their page word for word.
    CitationsExact,
    /// Those that are there but for slips.
    CitationsFuzzy,
    /// Those that are not there.
    CitationsNotFound,
    /// Answers that cite nothing.
    Uncited,
    /// Values that the sources do not support, for each answer.
    UnsupportedValues,
    /// Sentences that the sources do not support, for each answer.
    UnsupportedSentences,
    /// Expected pages that were found.
    PageRecall,
    /// One over the rank of the first expected page.
    PageRank,
    /// Expected pages that are cited.
    PagesCited,
    /// Expected values that the answer says.
    ValuesRight,
    /// Expected facts that the answer says, as the model for grounding sees it.
    FactsRight,
    /// Of the questions that were refused, those that should be.
    RefusalPrecision,
    /// Of the questions that should be refused, those that were.
    RefusalRecall,
    /// Answers in the fields that were asked for.
    FormsValid,
    /// What the judge thinks: right 1, partly ½, wrong 0.
    Judged,
    /// Turns that were answered with "I don't know".
    Refused,
    /// Of those who rated an answer, those who found it good.
    Liked,
    /// Tokens of a turn.
    Tokens,
    /// What a turn costs, in dollars.
    Cost,
    /// Seconds of a turn.
    Seconds,
    /// Seconds to the first word.
    FirstWord,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// More is better.
    Up,
    /// Less is better.
    Down,
    /// It is only told.
    Neutral,
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A share, from 0 to 1.
    Share,
    /// A number.
    Number,
    /// Seconds.
    Seconds,
    /// Dollars.
    Dollars,
}

impl EvalMetric {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 22] = [
        Self::ValuesRight,
        Self::FactsRight,
        Self::Judged,
        Self::PageRecall,
        Self::PageRank,
        Self::PagesCited,
        Self::CitationsExact,
        Self::CitationsFuzzy,
        Self::CitationsNotFound,
        Self::Uncited,
        Self::UnsupportedValues,
        Self::UnsupportedSentences,
        Self::RefusalPrecision,
        Self::RefusalRecall,
        Self::FormsValid,
        Self::Liked,
        Self::Refused,
        Self::Failed,
        Self::Tokens,
        Self::Cost,
        Self::Seconds,
        Self::FirstWord,
    ];

    /// As it is shown.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Failed => "failed turns",
            Self::CitationsExact => "citations, exact",
            Self::CitationsFuzzy => "citations, fuzzy",
            Self::CitationsNotFound => "citations, not found",
            Self::Uncited => "answers without citation",
            Self::UnsupportedValues => "unsupported values",
            Self::UnsupportedSentences => "unsupported sentences",
            Self::PageRecall => "page recall",
            Self::PageRank => "page MRR",
            Self::PagesCited => "expected pages cited",
            Self::ValuesRight => "expected values said",
            Self::FactsRight => "expected facts said",
            Self::RefusalPrecision => "refusals, precision",
            Self::RefusalRecall => "refusals, recall",
            Self::FormsValid => "forms valid",
            Self::Judged => "judged right",
            Self::Refused => "refused",
            Self::Liked => "rated good",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Seconds => "seconds",
            Self::FirstWord => "seconds to the first word",
        }
    }

    /// Which way is better.
    pub const fn direction(self) -> Direction {
        match self {
            Self::CitationsExact
            | Self::PageRecall
            | Self::PageRank
            | Self::PagesCited
            | Self::ValuesRight
            | Self::FactsRight
            | Self::RefusalPrecision
            | Self::RefusalRecall
            | Self::FormsValid
            | Self::Judged
            | Self::Liked => Direction::Up,
            Self::CitationsFuzzy | Self::Refused => Direction::Neutral,
            Self::Failed
            | Self::CitationsNotFound
            | Self::Uncited
            | Self::UnsupportedValues
            | Self::UnsupportedSentences
            | Self::Tokens
            | Self::Cost
            | Self::Seconds
            | Self::FirstWord => Direction::Down,
        }
    }

    /// What it counts.
    pub const fn unit(self) -> Unit {
        match self {
            Self::UnsupportedValues | Self::UnsupportedSentences | Self::PageRank | Self::Tokens => {
                Unit::Number
            }
            Self::Cost => Unit::Dollars,
            Self::Seconds | Self::FirstWord => Unit::Seconds,
            _ => Unit::Share,
        }
    }

    /// Whether it tells how good an answer is, and not what it takes.
    pub const fn is_quality(self) -> bool {
        !matches!(self, Self::Tokens | Self::Cost | Self::Seconds | Self::FirstWord)
    }

    /// A figure of it as people read it.
    pub fn shown(self, figure: f64) -> String {
        // What is next to nothing below zero is nothing.
        let figure = if figure.abs() < 5e-6 { 0.0 } else { figure };
        match self.unit() {
            Unit::Share => format!("{:.1} %", figure * 100.0),
            Unit::Number if figure.abs() >= 100.0 => format!("{figure:.0}"),
            Unit::Number => format!("{figure:.2}"),
            Unit::Seconds => format!("{figure:.2} s"),
            Unit::Dollars => format!("${figure:.5}"),
        }
    }
}
