//! The one door out: every HTTP request of ibid to elsewhere goes through an [`Egress`].
//!
//! It knows which hosts may be reached, refuses private addresses unless they are named (also after a
//! redirect, and after the name was looked up, so that no name can lead inside), and keeps limits of size
//! and time. Proxies of the environment are not used: behind one, nobody could check an address.
//!
//! ```no_run
//! # async fn example() -> Result<(), ibid_egress::Error> {
//! use ibid_egress::{Egress, EgressLimits, Rules};
//!
//! let egress = Egress::new(Rules::only(["api.example.com".parse()?]), EgressLimits::default())?;
//! let request = http::Request::get("https://api.example.com/v1/models").body(Default::default())?;
//! let body = egress.send(request).await?.bytes().await?;
//! # Ok(())
//! # }
//! ```

mod address;
mod client;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod resolve;
mod response;
mod rules;
mod sse;

pub use client::{Egress, EgressLimits, trace_requests};
pub use error::{Error, InvalidHost};
pub use response::Response;
pub use rules::{Host, Rules};
pub use sse::{EventTooLong, SseDecoder};
