//! What a turn and a load tell while they work. Engines store events as their graphs emit them; this is their one
//! interpretation, and every API and the terminal go by it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::{Citation, PlanStep, Route, SearchRequest, SourceInfo, Warning};
use crate::cache::CachedFrom;
use crate::load::LoadSummary;
use crate::model::{ReadingProgress, Usage};
use crate::research::ResearchRound;
use crate::{Message, RunId, RunStatus};

pub use crate::draft::{DraftAnswer, DraftChange};

/// An event of a run, with its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunEvent_{E}")]
pub struct RunEvent<E> {
    /// Which run.
    #[schemars(with = "String")]
    pub run: RunId,
    /// Its number in the run, from 1, without gaps.
    pub seq: u64,
    /// Number of the step, from 1; 0 for the run itself.
    pub step: u32,
    /// Which attempt at the step, from 1; 0 for the run itself. A higher attempt voids what the earlier one told.
    pub attempt: u32,
    /// What happened.
    #[serde(flatten)]
    pub event: E,
}

/// Something that happens in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnEvent {
    /// The turn begins.
    Started {
        /// Its trace, for whoever looks for it in the log or where traces are kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace_id: Option<String>,
    },
    /// A node begins.
    StepStarted {
        /// Path of the node.
        node: String,
    },
    /// The step is recorded, and will not run again.
    StepFinished {
        /// How long it took.
        milliseconds: u64,
    },
    /// The attempt failed, and another follows.
    StepRetrying {
        /// Why it failed.
        error: String,
        /// How long the next attempt waits.
        after_ms: u64,
    },
    /// What the node is doing, in words.
    Status {
        /// The words.
        text: String,
    },
    /// A piece of the answer.
    Token {
        /// The piece.
        text: String,
    },
    /// What was written so far is void: it is written anew, or not at all.
    DraftWithdrawn {
        /// Why.
        #[serde(default)]
        reason: String,
    },
    /// The question as it is searched for.
    Question {
        /// The question.
        text: String,
        /// The searches that it becomes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        searches: Option<Vec<SearchRequest>>,
    },
    /// Where the router sent the turn.
    Routed(Route),
    /// The plan, as far as it is done.
    Plan {
        /// Its steps.
        steps: Vec<PlanStep>,
    },
    /// A tool is called.
    ToolCallStarted(ToolCallStarted),
    /// A tool gave something back, or failed.
    ToolCallFinished(ToolCallFinished),
    /// What may be cited.
    Sources {
        /// The sources of the turn so far.
        sources: Vec<SourceInfo>,
    },
    /// What was searched for.
    Searched {
        /// The queries.
        queries: Vec<String>,
    },
    /// A round of research, as far as it has come.
    Research(ResearchRound),
    /// The answer was given before, and is given again.
    Cached(CachedFrom),
    /// What the answer cites, looked up.
    Citations {
        /// The citations.
        citations: Vec<Citation>,
    },
    /// What the guard found.
    Warnings {
        /// The warnings.
        warnings: Vec<Warning>,
    },
    /// A model reads what it is asked, which takes a while.
    ModelReading(ReadingProgress),
    /// What a call of a model used.
    ModelUsage(ModelUsage),
    /// The turn waits for a person.
    Interrupted {
        /// What is asked.
        value: Value,
    },
    /// The person answered, and the turn goes on.
    Resumed,
    /// The turn goes on after the process that ran it had ended.
    Recovered,
    /// The turn begins again from its input, because its records no longer fit its graph.
    Restarted {
        /// What did not fit.
        reason: String,
    },
    /// An event that the graph of the assistant defines itself.
    Custom {
        /// Its name.
        name: String,
        /// Its content.
        value: Value,
    },
    /// The turn is over. No event follows.
    Ended {
        /// How it ended.
        status: RunStatus,
        /// What went wrong, if something did.
        error: Option<String>,
        /// The answer with its metadata, if there is one.
        #[schemars(with = "Option<Value>")]
        message: Option<Box<Message>>,
    },
}

/// A tool that is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ToolCallStarted {
    /// By which the result is matched with it.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// With what.
    pub arguments: Value,
}

/// What came of calling a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ToolCallFinished {
    /// Which call.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// How many sources it gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<usize>,
    /// What is to be known of how it was found, such as that other documents than the usual ones were searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What it gave, for whoever shows it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "also_null")]
    pub data: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Null is something that a tool may give.
fn also_null<'de, D: serde::Deserializer<'de>>(given: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(given).map(Some)
}

/// What a call of a model used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ModelUsage {
    /// Which model, by its name in the configuration.
    pub model: String,
    /// How many tokens.
    pub usage: Usage,
}

/// The names under which graphs emit the events of turns and loads, as they are stored.
mod name {
    pub(super) const DRAFT_WITHDRAWN: &str = "again";
    pub(super) const QUESTION: &str = "question";
    pub(super) const ROUTED: &str = "route";
    pub(super) const PLAN: &str = "plan";
    pub(super) const TOOL_CALL_STARTED: &str = "tool_call";
    pub(super) const TOOL_CALL_FINISHED: &str = "tool_result";
    pub(super) const SOURCES: &str = "sources";
    pub(super) const SEARCHED: &str = "searched";
    pub(super) const RESEARCH: &str = "round";
    pub(super) const CACHED: &str = "cached";
    pub(super) const CITATIONS: &str = "citations";
    pub(super) const WARNINGS: &str = "warnings";
    pub(super) const MODEL_READING: &str = "reading";
    pub(super) const MODEL_USAGE: &str = "usage";
    pub(super) const PAGE: &str = "page";
    pub(super) const CHUNKS: &str = "chunks";
}

impl TurnEvent {
    /// The name and the content under which a graph emits it, if it is one that graphs emit as their own.
    pub fn to_custom(&self) -> Option<(&str, Value)> {
        Some(match self {
            Self::DraftWithdrawn { reason } if reason.is_empty() => (name::DRAFT_WITHDRAWN, json!({})),
            Self::DraftWithdrawn { reason } => (name::DRAFT_WITHDRAWN, json!({ "reason": reason })),
            Self::Question { text, searches: None } => (name::QUESTION, json!({ "text": text })),
            Self::Question { text, searches } => {
                (name::QUESTION, json!({ "text": text, "searches": searches }))
            }
            Self::Routed(route) => (name::ROUTED, json!(route)),
            Self::Plan { steps } => (name::PLAN, json!(steps)),
            Self::ToolCallStarted(call) => (name::TOOL_CALL_STARTED, json!(call)),
            Self::ToolCallFinished(result) => (name::TOOL_CALL_FINISHED, json!(result)),
            Self::Sources { sources } => (name::SOURCES, json!(sources)),
            Self::Searched { queries } => (name::SEARCHED, json!(queries)),
            Self::Research(round) => (name::RESEARCH, json!(round)),
            Self::Cached(from) => (name::CACHED, json!(from)),
            Self::Citations { citations } => (name::CITATIONS, json!(citations)),
            Self::Warnings { warnings } => (name::WARNINGS, json!(warnings)),
            Self::ModelReading(progress) => (name::MODEL_READING, json!(progress)),
            Self::ModelUsage(usage) => (name::MODEL_USAGE, json!(usage)),
            Self::Custom { name, value } => (name, value.clone()),
            _ => return None,
        })
    }

    /// Whether a graph emits under a name what a model used.
    pub fn is_usage(name: &str) -> bool {
        name == name::MODEL_USAGE
    }

    /// What a graph emitted under a name. What has another form than it should is an event of the graph's own.
    pub fn from_custom(name: &str, value: Value) -> Self {
        fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Option<T> {
            T::deserialize(value).ok()
        }
        let known = match name {
            name::DRAFT_WITHDRAWN => {
                let reason = value["reason"].as_str().unwrap_or_default().to_owned();
                Some(Self::DraftWithdrawn { reason })
            }
            name::QUESTION => value["text"].as_str().map(|text| Self::Question {
                text: text.to_owned(),
                searches: read(&value["searches"]).unwrap_or_default(),
            }),
            name::ROUTED => read(&value).map(Self::Routed),
            name::PLAN => read(&value).map(|steps| Self::Plan { steps }),
            name::TOOL_CALL_STARTED => read(&value).map(Self::ToolCallStarted),
            name::TOOL_CALL_FINISHED => read(&value).map(Self::ToolCallFinished),
            name::SOURCES => read(&value).map(|sources| Self::Sources { sources }),
            name::SEARCHED => read(&value).map(|queries| Self::Searched { queries }),
            name::RESEARCH => read(&value).map(Self::Research),
            name::CACHED => read(&value).map(Self::Cached),
            name::CITATIONS => read(&value).map(|citations| Self::Citations { citations }),
            name::WARNINGS => read(&value).map(|warnings| Self::Warnings { warnings }),
            name::MODEL_READING => read(&value).map(Self::ModelReading),
            name::MODEL_USAGE => read(&value).map(Self::ModelUsage),
            _ => None,
        };
        known.unwrap_or_else(|| Self::Custom { name: name.to_owned(), value })
    }
}

/// Something that happens while a document is loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LoadEvent {
    /// The load begins.
    Started {
        /// Its trace, for whoever looks for it in the log or where traces are kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace_id: Option<String>,
    },
    /// A node begins.
    StepStarted {
        /// Path of the node.
        node: String,
    },
    /// The step is recorded, and will not run again.
    StepFinished {
        /// How long it took.
        milliseconds: u64,
    },
    /// The attempt failed, and another follows.
    StepRetrying {
        /// Why it failed.
        error: String,
        /// How long the next attempt waits.
        after_ms: u64,
    },
    /// What is being done, in words.
    Status {
        /// The words.
        text: String,
    },
    /// A page was read.
    PageRead {
        /// Its number, from 1.
        page: u32,
        /// How many the document has.
        pages: u32,
        /// How it was read: text, table, scanned, empty or garbled.
        kind: String,
    },
    /// Chunks were embedded.
    ChunksEmbedded {
        /// How many so far.
        chunks: u32,
        /// How many there are.
        of: u32,
    },
    /// The load goes on after the process that ran it had ended.
    Recovered,
    /// The load begins again, because its records no longer fit.
    Restarted {
        /// What did not fit.
        reason: String,
    },
    /// The load is over. No event follows.
    Ended {
        /// How it ended.
        status: RunStatus,
        /// What went wrong, if something did.
        error: Option<String>,
        /// What came of it.
        summary: Option<LoadSummary>,
    },
    /// Something that a later version tells.
    Other {
        /// Its name.
        name: String,
    },
}

impl LoadEvent {
    /// The name and the content under which the graph of a load emits it, if it does.
    pub fn to_custom(&self) -> Option<(&str, Value)> {
        match self {
            Self::PageRead { page, pages, kind } => {
                Some((name::PAGE, json!({ "page": page, "pages": pages, "kind": kind })))
            }
            Self::ChunksEmbedded { chunks, of } => {
                Some((name::CHUNKS, json!({ "chunks": chunks, "of": of })))
            }
            _ => None,
        }
    }

    /// What the graph of a load emitted under a name.
    pub fn from_custom(name: &str, value: &Value) -> Self {
        let number =
            |key: &str| value[key].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
        match name {
            name::PAGE => Self::PageRead {
                page: number("page"),
                pages: number("pages"),
                kind: value["kind"].as_str().unwrap_or_default().to_owned(),
            },
            name::CHUNKS => Self::ChunksEmbedded { chunks: number("chunks"), of: number("of") },
            other => Self::Other { name: other.to_owned() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_graph_emits_is_read_as_it_was_meant() {
        for (name, value) in [
            ("again", json!({})),
            ("question", json!({ "text": "Which rate?" })),
            ("tool_call", json!({ "id": "1", "name": "search", "arguments": { "query": "lamps" } })),
            ("tool_result", json!({ "id": "1", "name": "search", "error": "no room" })),
            ("searched", json!(["lamps"])),
            ("plan", json!([])),
            ("weather_alert", json!({ "storm": true })),
        ] {
            let event = TurnEvent::from_custom(name, value.clone());
            assert_eq!(event.to_custom(), Some((name, value)), "{event:?}");
        }
        let odd = TurnEvent::from_custom("sources", json!("none"));
        assert!(matches!(odd, TurnEvent::Custom { .. }), "{odd:?}");
    }
}
