//! Why something did not get out, or nothing came back.

use std::time::Duration;

/// The text does not name a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` does not name a host: write example.com, *.example.com, example.com:8080, 10.0.0.7 or 10.0.0.0/8"
)]
pub struct InvalidHost(pub(crate) String);

/// Why a request failed. None of these tells more of an address than its host, since the rest may hold a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The rules do not allow it.
    #[error("`{host}` may not be reached: {reason}")]
    Refused {
        /// Where to.
        host: String,
        /// Which rule.
        reason: String,
    },
    /// Nobody answers there.
    #[error("`{host}` cannot be reached: {reason}")]
    Unreachable {
        /// Where to.
        host: String,
        /// Why.
        reason: String,
    },
    /// The connection broke.
    #[error("the connection to `{host}` broke: {reason}")]
    Broken {
        /// Where to.
        host: String,
        /// How.
        reason: String,
    },
    /// It took too long.
    #[error("`{host}` took longer than {} s", .limit.as_secs_f32())]
    Slow {
        /// Where to.
        host: String,
        /// The limit.
        limit: Duration,
    },
    /// More came than was allowed.
    #[error("`{host}` sent more than the {limit} bytes that are allowed")]
    TooLarge {
        /// Where to.
        host: String,
        /// The limit.
        limit: u64,
    },
    /// The request cannot be sent as it is.
    #[error("the request cannot be made: {0}")]
    Request(String),
    /// The rules name something that is no host.
    #[error(transparent)]
    InvalidHost(#[from] InvalidHost),
}

impl From<http::Error> for Error {
    fn from(error: http::Error) -> Self {
        Self::Request(error.to_string())
    }
}

/// What the transport says, with everything underneath and without the address.
pub(crate) fn told(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
