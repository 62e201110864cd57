//! What a turn begins with.

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
    /// How this turn is to be answered: mode, format and the like.
    pub options: Map<String, Value>,
}
