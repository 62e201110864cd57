//! Slots for what is heavy: so many at once, and so many of one caller, so that whoever wants much waits for themselves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Slots that callers wait for.
pub(crate) struct CallerSlots {
    all: Arc<Semaphore>,
    of_one_caller: usize,
    by_caller: Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
}

/// A slot of a caller, until it is dropped.
pub(crate) type CallerSlot = (OwnedSemaphorePermit, OwnedSemaphorePermit);

impl CallerSlots {
    /// So many at once, and so many of one caller.
    pub(crate) fn new(all: usize, of_one_caller: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), of_one_caller, by_caller: Mutex::default() }
    }

    /// Waits for a slot.
    pub(crate) async fn wait(&self, caller: &Arc<str>) -> Result<CallerSlot, AcquireError> {
        let own = {
            let mut callers = self.by_caller.lock().unwrap_or_else(PoisonError::into_inner);
            callers.retain(|_, slots| Arc::strong_count(slots) > 1);
            let slots = callers.entry(caller.clone());
            slots.or_insert_with(|| Arc::new(Semaphore::new(self.of_one_caller))).clone()
        };
        let own = own.acquire_owned().await?;
        Ok((own, self.all.clone().acquire_owned().await?))
    }
}

/// Half of the cores: the others are left to those who want little.
pub(crate) fn half_of_the_cores() -> usize {
    (std::thread::available_parallelism().map_or(1, usize::from) / 2).max(1)
}
