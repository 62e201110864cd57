//! Runs that a task of this process is just submitting, taking up or giving back: what is stored of them does not say yet whether
//! this process works on them, and no second task may begin with them.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibid_core::RunId;

/// All of them.
#[derive(Default)]
pub(super) struct InHand(Arc<Mutex<HashSet<RunId>>>);

/// One of them, until this is dropped.
pub(super) struct Held {
    all: Arc<Mutex<HashSet<RunId>>>,
    run: RunId,
}

impl InHand {
    /// Takes a run in hand, unless another task has it.
    pub(super) fn take(&self, run: RunId) -> Option<Held> {
        lock(&self.0).insert(run).then(|| Held { all: self.0.clone(), run })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        lock(&self.all).remove(&self.run);
    }
}

fn lock(runs: &Mutex<HashSet<RunId>>) -> MutexGuard<'_, HashSet<RunId>> {
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}
