//! Why a source cannot be read.

use crate::pattern::InvalidPattern;

/// Why a source cannot be read. No address with a password or a key in it is told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The location cannot be one.
    #[error("`{location}` cannot be a source: {why}")]
    Location {
        /// What was given.
        location: String,
        /// Why.
        why: String,
    },
    /// A pattern cannot be read.
    #[error(transparent)]
    Pattern(#[from] InvalidPattern),
    /// A file or folder cannot be read.
    #[error("{path} cannot be read")]
    File {
        /// Which one.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The storage refused or did not answer.
    #[error("{what}: {why}")]
    Storage {
        /// What was asked for.
        what: String,
        /// What it said.
        why: String,
    },
    /// The site did not answer as it should.
    #[error("{url}: {why}")]
    Site {
        /// What was asked for.
        url: String,
        /// What it said.
        why: String,
    },
    /// The request did not get out, or nothing came back.
    #[error(transparent)]
    Egress(#[from] ibid_egress::Error),
}
