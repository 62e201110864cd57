//! Draining: before an engine is closed, runs may reach the end of the step that they are at.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Whether the engine drains, and how many runs are in the middle of a step.
#[derive(Default)]
pub(crate) struct DrainGate {
    draining: CancellationToken,
    working: AtomicUsize,
    less: Notify,
}

/// A step that is being performed.
pub(crate) struct Working(Arc<DrainGate>);

impl DrainGate {
    /// Begins a step, unless the engine drains: then this waits until the engine is closed.
    pub(crate) async fn begin(self: &Arc<Self>) -> Working {
        self.working.fetch_add(1, Ordering::AcqRel);
        let working = Working(self.clone());
        if !self.draining.is_cancelled() {
            return working;
        }
        drop(working);
        std::future::pending().await
    }

    /// Whether the engine drains.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Lets no further step begin, and waits until none is under way, or for so long.
    pub(crate) async fn wait(&self, timeout: Duration) {
        self.draining.cancel();
        let all = async {
            loop {
                let less = self.less.notified();
                if self.working.load(Ordering::Acquire) == 0 {
                    return;
                }
                less.await;
            }
        };
        // Whoever takes longer is left in the middle of a step, and begins that step again.
        let _ = tokio::time::timeout(timeout, all).await;
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.working.fetch_sub(1, Ordering::AcqRel);
        self.0.less.notify_waiters();
    }
}
