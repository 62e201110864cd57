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
    /// There is nothing to check its certificate by.
    #[error(
        "the certificate of `{host}` cannot be checked, as this machine has no CA certificates: install them \
         (the package `ca-certificates`), or name a file of them in SSL_CERT_FILE"
    )]
    NoCertificates {
        /// Where to.
        host: String,
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

impl Error {
    /// Whether the same request may succeed later.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Broken { .. } | Self::Slow { .. })
    }
}

impl From<http::Error> for Error {
    fn from(error: http::Error) -> Self {
        Self::Request(error.to_string())
    }
}

/// None of a host's addresses may be connected to. It is found again among the causes of a failed connection.
#[derive(Debug, thiserror::Error)]
#[error("the addresses of `{0}` are private; name its address or network, too, to allow that")]
pub(crate) struct PrivateAddress(pub(crate) String);

/// An answer points where nothing may go. It is found again among the causes of a failed request.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct RefusedRedirect(pub(crate) String);

/// What the transport's error means here.
pub(crate) fn failure(host: &str, error: reqwest::Error) -> Error {
    let host = host.to_owned();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        if inner.is::<PrivateAddress>() || inner.is::<RefusedRedirect>() {
            return Error::Refused { host, reason: inner.to_string() };
        }
        cause = inner.source();
    }
    let unreachable = error.is_connect();
    let reason = root_cause(error);
    if unreachable { Error::Unreachable { host, reason } } else { Error::Broken { host, reason } }
}

/// What went wrong underneath, without the address and without the layers between.
pub(crate) fn root_cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut deepest: &dyn std::error::Error = &error;
    while let Some(cause) = deepest.source() {
        deepest = cause;
    }
    deepest.to_string()
}
