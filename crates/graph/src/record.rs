//! A finished step as it is written down: its number, its node, and what it changed.

use std::any::Any;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The most that one record may hold. Larger things are stored elsewhere and referred to.
pub const RECORD_LIMIT_BYTES: usize = 1024 * 1024;

/// Which step of a run: its number, counted from 1, and the path of its node (`outer/inner` for a
/// node of an inner graph).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRef {
    /// Number of the step in its run, from 1.
    pub number: u32,
    /// Path of the node.
    pub node: Arc<str>,
}

/// A finished step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Number of the step in its run, from 1.
    pub step: u32,
    /// Path of the node.
    pub node: Arc<str>,
    /// What it changed, as JSON text.
    pub update: String,
}

impl Record {
    /// Writes down what `step` changed.
    ///
    /// # Errors
    /// Refuses an update that cannot be written as JSON or that is over [`RECORD_LIMIT_BYTES`].
    pub fn of(step: &StepRef, update: &Update) -> Result<Self, RecordError> {
        let update = update.0.encode().map_err(RecordError::Encode)?;
        if update.len() > RECORD_LIMIT_BYTES {
            return Err(RecordError::TooLarge { bytes: update.len(), limit: RECORD_LIMIT_BYTES });
        }
        Ok(Self { step: step.number, node: step.node.clone(), update })
    }
}

/// Why an update cannot be written down. Trying again would not help.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The update is larger than a record may be.
    #[error("it has {bytes} bytes and a record holds at most {limit}; store large things and refer to them")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The most that is allowed.
        limit: usize,
    },
    /// The update does not serialise.
    #[error("it does not serialise: {0}")]
    Encode(#[source] serde_json::Error),
}

/// What a step changed, with its type hidden, so that journals and engines serve every graph.
pub struct Update(Box<dyn AnyChange>);

impl Update {
    pub(crate) fn new<C: Serialize + Send + 'static>(update: C) -> Self {
        Self(Box::new(update))
    }

    pub(crate) fn from_json<C>(json: &str) -> Result<Self, serde_json::Error>
    where
        C: Serialize + DeserializeOwned + Send + 'static,
    {
        Ok(Self::new(serde_json::from_str::<C>(json)?))
    }

    /// The update of a state that the caller knows.
    pub(crate) fn downcast<C: 'static>(self) -> Option<C> {
        self.0.into_any().downcast().ok().map(|update| *update)
    }
}

impl std::fmt::Debug for Update {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Update(..)")
    }
}

trait AnyChange: Send {
    fn encode(&self) -> Result<String, serde_json::Error>;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<C: Serialize + Send + 'static> AnyChange for C {
    fn encode(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
