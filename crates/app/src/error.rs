//! Why a part could not be set up or used.

use ibid_assistants::InvalidAssistant;
use ibid_core::error_chain;

/// Why something could not be done. The sources say why, one under the other.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting is missing or cannot be used.
    #[error("{0}")]
    Settings(String),
    /// Something that is needed is not there; says what helps.
    #[error("{0}")]
    Missing(String),
    /// There is no such thing; says what there is.
    #[error("{0}")]
    Unknown(String),
    /// An assistant does not offer what a turn wants of it.
    #[error("{0}")]
    NotOffered(String),
    /// An assistant is not in order.
    #[error(transparent)]
    Assistant(#[from] InvalidAssistant),
    /// The engine refused or failed.
    #[error(transparent)]
    Engine(#[from] ibid_engine::Error),
    /// The store of documents refused or failed.
    #[error(transparent)]
    Store(#[from] ibid_knowledge::Error),
    /// A graph is not sound.
    #[error(transparent)]
    Graph(#[from] ibid_graph::BuildError),
    /// A turn or a load failed.
    #[error("{0}")]
    Failed(String),
    /// What was being done when something failed.
    #[error("{doing}")]
    While {
        /// What was being done.
        doing: String,
        /// What failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something else failed.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Wraps an error of another crate.
    pub(crate) fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Other(error.into())
    }

    /// The error with everything underneath it that it does not say itself, on one line.
    pub fn chain(&self) -> String {
        error_chain(self)
    }
}

/// Says of any error what was being done.
pub trait DoingExt<T> {
    /// Adds what was being done.
    ///
    /// # Errors
    /// Returns the error with what was being done.
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<Box<dyn std::error::Error + Send + Sync>>> DoingExt<T> for Result<T, E> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|source| Error::While { doing: doing(), source: source.into() })
    }
}
