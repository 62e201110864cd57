//! What a document consists of, by name: the same bytes have the same name, wherever they come from.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The SHA-256 of a content, in hexadecimal digits. It is empty while the content of a URL is not known yet.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
#[schemars(inline)]
pub struct ContentHash(String);

/// The hash of a content that comes in pieces.
#[derive(Default)]
pub(crate) struct ContentHasher(Sha256);

impl ContentHasher {
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(crate) fn finish(self) -> ContentHash {
        ContentHash(self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl ContentHash {
    /// The hash of a content.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = ContentHasher::default();
        hasher.add(bytes);
        hasher.finish()
    }

    /// A hash as the store has it.
    pub(crate) fn stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether the content is known.
    pub fn is_known(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Deref for ContentHash {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ContentHash {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}
