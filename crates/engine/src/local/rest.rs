//! Coming to rest: before an engine is closed, turns may reach the end of the step that they are at.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Whether turns are to rest, and how many are in the middle of a step.
#[derive(Default)]
pub(super) struct Rest {
    asked: CancellationToken,
    working: AtomicUsize,
    less: Notify,
}

/// A step that is being performed.
pub(super) struct Working(Arc<Rest>);

impl Rest {
    /// Begins a step, unless turns are to rest: then this waits until the engine is closed.
    pub(super) async fn begin(self: &Arc<Self>) -> Working {
        self.working.fetch_add(1, Ordering::AcqRel);
        let working = Working(self.clone());
        if !self.asked.is_cancelled() {
            return working;
        }
        drop(working);
        std::future::pending().await
    }

    /// Whether turns are to rest.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.is_cancelled()
    }

    /// Asks turns to rest, and waits until all do, or for so long.
    pub(super) async fn wait(&self, most: Duration) {
        self.asked.cancel();
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
        let _ = tokio::time::timeout(most, all).await;
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.working.fetch_sub(1, Ordering::AcqRel);
        self.0.less.notify_waiters();
    }
}
