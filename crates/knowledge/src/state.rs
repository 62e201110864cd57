//! Where a document stands, in one type: what is on its way cannot be mixed up with what is there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ContentHash;

/// Where a document stands.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "StateRecord", into = "StateRecord")]
pub enum DocumentState {
    /// It is loaded for the first time; nothing of it can be searched yet.
    Loading,
    /// A load of it has ended.
    Settled {
        /// How.
        result: LoadResult,
        /// What is wrong with it, or why it could not be replaced.
        problem: Option<String>,
        /// A content that is being loaded to replace it. The same content is loaded in another way.
        pending: Option<ContentHash>,
    },
}

/// How the load of a document ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LoadResult {
    /// It can be searched.
    Ready,
    /// It was read, and there is nothing in it to search.
    Empty,
    /// It could not be read.
    Failed,
    /// Another document of the corpus has the same content and is searched in its place.
    Duplicate,
}

/// Where a document stands, in a word.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DocumentStatus")]
pub enum DocumentStatus {
    /// It is being loaded. What was there before it can be searched until it is ready.
    Loading,
    /// It can be searched.
    Ready,
    /// It was read, and there is nothing in it to search.
    Empty,
    /// It could not be read.
    Failed,
    /// Another document of the corpus has the same content and is searched in its place.
    Duplicate,
}

/// A state as it is stored and sent.
#[derive(Deserialize, JsonSchema, Serialize)]
pub(crate) struct StateRecord {
    /// Where it stands.
    status: DocumentStatus,
    /// The SHA-256 of a newer content that is being loaded; what is told here is of the one before it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pending: String,
    /// Why it failed, or what is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl DocumentState {
    /// A load has ended so.
    pub(crate) fn settled(result: LoadResult) -> Self {
        Self::Settled { result, problem: None, pending: None }
    }

    /// A load has ended so, and this is wrong.
    pub(crate) fn flawed(result: LoadResult, problem: impl Into<String>) -> Self {
        Self::Settled { result, problem: Some(problem.into()), pending: None }
    }

    /// The same while a content is loaded to replace it.
    pub(crate) fn with_pending(self, content: ContentHash) -> Self {
        match self {
            Self::Loading => Self::Loading,
            Self::Settled { result, problem, .. } => {
                Self::Settled { result, problem, pending: Some(content) }
            }
        }
    }

    /// The same with nothing on its way.
    pub(crate) fn without_pending(self) -> Self {
        match self {
            Self::Loading => Self::Loading,
            Self::Settled { result, problem, .. } => Self::Settled { result, problem, pending: None },
        }
    }

    /// In a word.
    pub fn status(&self) -> DocumentStatus {
        match self {
            Self::Loading => DocumentStatus::Loading,
            Self::Settled { result, .. } => match result {
                LoadResult::Ready => DocumentStatus::Ready,
                LoadResult::Empty => DocumentStatus::Empty,
                LoadResult::Failed => DocumentStatus::Failed,
                LoadResult::Duplicate => DocumentStatus::Duplicate,
            },
        }
    }

    /// Whether it can be searched.
    pub fn is_ready(&self) -> bool {
        self.status() == DocumentStatus::Ready
    }

    /// The content that is being loaded to replace it.
    pub fn pending(&self) -> Option<&ContentHash> {
        match self {
            Self::Loading => None,
            Self::Settled { pending, .. } => pending.as_ref(),
        }
    }

    /// What is wrong with it.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Loading => None,
            Self::Settled { problem, .. } => problem.as_deref(),
        }
    }
}

impl DocumentStatus {
    /// As it is told.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Ready => "ready",
            Self::Empty => "empty",
            Self::Failed => "failed",
            Self::Duplicate => "duplicate",
        }
    }
}

impl From<StateRecord> for DocumentState {
    fn from(StateRecord { status, pending, problem }: StateRecord) -> Self {
        let result = match status {
            DocumentStatus::Loading => return Self::Loading,
            DocumentStatus::Ready => LoadResult::Ready,
            DocumentStatus::Empty => LoadResult::Empty,
            DocumentStatus::Failed => LoadResult::Failed,
            DocumentStatus::Duplicate => LoadResult::Duplicate,
        };
        let pending = Some(ContentHash::stored(&pending)).filter(ContentHash::is_known);
        Self::Settled { result, problem, pending }
    }
}

impl From<DocumentState> for StateRecord {
    fn from(state: DocumentState) -> Self {
        let status = state.status();
        let (problem, pending) = match state {
            DocumentState::Loading => (None, None),
            DocumentState::Settled { problem, pending, .. } => (problem, pending),
        };
        Self { status, pending: pending.map(|content| content.to_string()).unwrap_or_default(), problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_stored_as_it_always_was() {
        for text in [
            r#"{"status":"loading"}"#,
            r#"{"status":"ready"}"#,
            r#"{"status":"ready","pending":"ab12","problem":"a newer version could not be read"}"#,
            r#"{"status":"failed","problem":"it is locked"}"#,
            r#"{"status":"duplicate","problem":"a.pdf has the same content"}"#,
        ] {
            let state: DocumentState = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&state).unwrap(), text);
        }
    }
}
