//! Models that say whether a text supports a statement, here and over HTTP.

mod local;
mod remote;

pub use local::LocalGrounding;
pub use remote::RemoteGrounding;
