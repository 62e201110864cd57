//! Contents that this process needs, whatever the ledger says: those of loads that are not over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many need each content.
type Counts = Arc<Mutex<HashMap<String, usize>>>;

/// What is held.
#[derive(Default)]
pub(super) struct Holds(Counts);

/// Keeps a content from being forgotten for as long as it is there.
#[must_use]
pub struct Hold {
    counts: Counts,
    version: String,
}

impl Holds {
    pub(super) fn hold(&self, version: &str) -> Hold {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(version.to_owned()).or_default() += 1;
        Hold { counts: self.0.clone(), version: version.to_owned() }
    }

    pub(super) fn has(&self, version: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(version)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.version) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.version);
            }
        }
    }
}
