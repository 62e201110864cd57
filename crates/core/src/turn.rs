//! What a turn or a job begins with.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Message, RunId, Scope, ThreadId};

/// What the graph of a turn is a function of: the history of the thread and what is new. It is the
/// same whenever the turn is taken up again.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnInput {
    /// The conversation.
    pub thread: ThreadId,
    /// The turn.
    pub run: RunId,
    /// On whose behalf: what may be read to answer it.
    pub scope: Scope,
    /// The window of earlier messages that the assistant asked for, oldest first.
    pub history: Vec<Message>,
    /// What is new.
    pub messages: Vec<Message>,
    /// How this turn is to be answered.
    pub options: TurnOptions,
}

/// How a turn is to be answered: mode and format, and whatever else a caller configures for its own graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnOptions(Map<String, Value>);

impl TurnOptions {
    const MODE: &str = "mode";
    const FORMAT: &str = "format";

    /// Which of the assistant's modes.
    pub fn mode(&self) -> Option<&str> {
        self.0.get(Self::MODE).and_then(Value::as_str)
    }

    /// Which of the assistant's formats.
    pub fn format(&self) -> Option<&str> {
        self.0.get(Self::FORMAT).and_then(Value::as_str)
    }

    /// The same with a mode and a format, where they are given.
    #[must_use]
    pub fn with(mut self, mode: Option<String>, format: Option<String>) -> Self {
        self.0.extend(mode.map(|mode| (Self::MODE.to_owned(), mode.into())));
        self.0.extend(format.map(|format| (Self::FORMAT.to_owned(), format.into())));
        self
    }

    /// All of them, by name.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl From<Map<String, Value>> for TurnOptions {
    fn from(options: Map<String, Value>) -> Self {
        Self(options)
    }
}

/// What the graph of a job is a function of, such as the load of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct JobInput {
    /// The run.
    pub run: RunId,
    /// On whose behalf.
    pub scope: Scope,
    /// What is to be done, as the graph reads it.
    pub request: Value,
}
