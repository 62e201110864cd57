//! Ids of threads, runs and queues. Those of threads and runs are version 7 UUIDs: they sort by time and cannot be guessed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an id; ids look like 01890a5d-ac96-774b-bcce-b302099a8057")]
pub struct InvalidId(String);

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// A new one, unlike any other.
            #[expect(clippy::new_without_default, reason = "two defaults would not be equal")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// As it is stored.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// From what was stored.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                text.parse().map(Self).map_err(|_| InvalidId(text.to_owned()))
            }
        }
    };
}

id! {
    /// Names a conversation.
    ThreadId
}

id! {
    /// Names one turn of a conversation.
    RunId
}

id! {
    /// Names a queue of jobs, which run one after the other.
    QueueId
}
