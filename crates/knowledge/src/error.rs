//! What can go wrong with knowledge, said so that a user knows what to do.

/// A failure of the store or of loading.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Lance failed.
    #[error("the store failed: {0}")]
    Lance(#[from] lance::Error),
    /// The store holds something that cannot be.
    #[error("the store is damaged: {0}; `ibid fsck` says more")]
    Damaged(String),
    /// The store was filled with another embedding model.
    #[error(
        "the store was filled with the embedding model {stored}, and {asked} is configured; \
         configure the first, or load the documents into a new store"
    )]
    OtherModel {
        /// The model of the store.
        stored: String,
        /// The model of the configuration.
        asked: String,
    },
    /// A later version has written the store.
    #[error("the store has format {found}, and this version knows {known}; use a newer ibid")]
    TooNew {
        /// The format of the store.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// The address of the store means nothing.
    #[error("`{0}` is no place for a store: give a folder, or a URL such as s3://bucket/folder")]
    Location(String),
    /// The embedding model failed.
    #[error(transparent)]
    Model(#[from] ibid_core::model::ModelError),
    /// A file of this machine failed.
    #[error("{what}: {error}")]
    File {
        /// What was tried.
        what: String,
        /// Why it failed.
        error: std::io::Error,
    },
    /// A document cannot be loaded.
    #[error("{0}")]
    Document(String),
    /// Whoever asks may not do this.
    #[error("not allowed: {0}")]
    NotAllowed(String),
    /// Something else is being done with the document.
    #[error("{0}")]
    Busy(String),
    /// Documents cannot be read on this machine as it is now.
    #[error(transparent)]
    Reader(ibid_reading::Failure),
}

impl Error {
    pub(crate) fn file(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::File { what, error }
    }

    /// Whether it may work if it is tried again.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Lance(error) => {
                !matches!(error, lance::Error::InvalidInput { .. } | lance::Error::Schema { .. })
            }
            Self::Model(error) => error.may_pass(),
            Self::File { error, .. } => {
                !matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied)
            }
            Self::Reader(failure) => matches!(failure, ibid_reading::Failure::Machine(_)),
            Self::Damaged(_)
            | Self::OtherModel { .. }
            | Self::TooNew { .. }
            | Self::Location(_)
            | Self::Document(_)
            | Self::Busy(_)
            | Self::NotAllowed(_) => false,
        }
    }
}
