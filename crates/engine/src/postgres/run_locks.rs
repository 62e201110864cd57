//! Locks on runs, for the tasks of this process that submit them, take them up or give them back: meanwhile, what is stored of a
//! run does not say whether this process works on it, and no second task may begin with it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibid_core::RunId;

/// The locked runs.
#[derive(Default)]
pub(super) struct RunLocks(Arc<Mutex<HashSet<RunId>>>);

/// The lock on a run, until it is dropped.
pub(super) struct RunLockGuard {
    locked: Arc<Mutex<HashSet<RunId>>>,
    run: RunId,
}

impl RunLocks {
    /// Locks a run, unless another task has locked it.
    pub(super) fn try_lock(&self, run: RunId) -> Option<RunLockGuard> {
        runs(&self.0).insert(run).then(|| RunLockGuard { locked: self.0.clone(), run })
    }
}

impl Drop for RunLockGuard {
    fn drop(&mut self) {
        runs(&self.locked).remove(&self.run);
    }
}

fn runs(locked: &Mutex<HashSet<RunId>>) -> MutexGuard<'_, HashSet<RunId>> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}
