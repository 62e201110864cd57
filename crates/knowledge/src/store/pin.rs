//! Contents that this process needs, whatever the ledger says: those of loads that are not over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ContentHash;

/// How many need each content.
type Counts = Arc<Mutex<HashMap<ContentHash, usize>>>;

/// What is held.
#[derive(Default)]
pub(super) struct BlobPins(Counts);

/// Keeps a content from being forgotten for as long as it is there.
#[must_use]
pub struct BlobPin {
    counts: Counts,
    content: ContentHash,
}

impl BlobPins {
    pub(super) fn hold(&self, content: &ContentHash) -> BlobPin {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(content.clone()).or_default() += 1;
        BlobPin { counts: self.0.clone(), content: content.clone() }
    }

    pub(super) fn has(&self, content: &ContentHash) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(content)
    }
}

impl Drop for BlobPin {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.content) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.content);
            }
        }
    }
}
