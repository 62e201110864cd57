//! The port to tools: what an assistant may do besides answering.

use async_trait::async_trait;
use serde_json::Value;

use crate::Scope;
use crate::evidence::Passage;
use crate::model::ToolSpec;

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutput {
    /// Passages of documents. Whoever called gives them their numbers as sources.
    Found {
        /// The passages.
        passages: Vec<Passage>,
        /// What is to be known of how they were found, for the model and the person.
        note: Option<String>,
    },
    /// Something that was computed from passages of documents, and can be cited like them.
    Computed {
        /// For the model, which may cite it.
        text: String,
        /// For the page.
        data: Value,
        /// What it was computed from, or the beginning of that.
        passages: Vec<Passage>,
    },
    /// Something else.
    Said {
        /// For the model, which may cite it.
        text: String,
        /// For the page.
        data: Value,
    },
}

/// Why a tool gave nothing back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The arguments are not what the tool takes.
    #[error("the arguments do not fit: {0}")]
    Arguments(String),
    /// The service behind it did not do it.
    #[error("{service} failed: {reason}")]
    Service {
        /// Which service, by the name that a person knows.
        service: String,
        /// Why.
        reason: String,
    },
}

/// Something that a model may ask to be done.
#[async_trait]
pub trait Tool: Send + Sync {
    /// As a model is told of it.
    fn spec(&self) -> &ToolSpec;

    /// The argument for which the question itself can stand, where a model leaves it out.
    fn question_argument(&self) -> Option<&str> {
        None
    }

    /// Whether it can change something elsewhere, so that a person is asked before a model that has read what others wrote
    /// has it done.
    fn needs_consent(&self) -> bool {
        false
    }

    /// Does it, on behalf of whoever the scope is of. The arguments are a model's and not to be trusted.
    ///
    /// # Errors
    /// Fails when the arguments do not fit, or when the service behind the tool fails.
    async fn call(&self, scope: &Scope, arguments: Value) -> Result<ToolOutput, ToolError>;
}
