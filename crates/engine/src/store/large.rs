//! Large writes take turns and pause in between, so that most of the writer's time is left for small ones: a client that sends as
//! much as it may must not slow down everybody's steps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, OwnedMutexGuard};

/// A write of more bytes is large.
const LARGE: usize = 64 << 10;
/// The next one waits so many times as long as the last one took.
const PAUSE_FACTOR: u32 = 8;
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Who may write much next, and when.
#[derive(Default)]
pub(super) struct LargeWrites(Arc<Mutex<Option<Instant>>>);

/// The right to write much, until it is dropped.
#[must_use]
pub(super) struct LargeWrite {
    began: Instant,
    next: OwnedMutexGuard<Option<Instant>>,
}

impl LargeWrites {
    /// Waits until so many bytes may be written; not at all if they are few.
    pub(super) async fn turn(&self, bytes: usize) -> Option<LargeWrite> {
        if bytes <= LARGE {
            return None;
        }
        let next = self.0.clone().lock_owned().await;
        if let Some(at) = *next {
            tokio::time::sleep_until(at.into()).await;
        }
        Some(LargeWrite { began: Instant::now(), next })
    }
}

impl Drop for LargeWrite {
    fn drop(&mut self) {
        let pause = (self.began.elapsed() * PAUSE_FACTOR).min(LONGEST_PAUSE);
        *self.next = Some(Instant::now() + pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_writes_leave_time_for_small_ones() {
        let (writes, began) = (LargeWrites::default(), Instant::now());
        for _ in 0..3 {
            let turn = writes.turn(LARGE + 1).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
            drop(turn);
        }
        assert!(began.elapsed() >= Duration::from_millis(3 * 5 + 2 * 5 * 8), "{:?}", began.elapsed());
        let began = Instant::now();
        assert!(writes.turn(LARGE).await.is_none());
        assert!(began.elapsed() < Duration::from_millis(5), "small ones do not wait");
    }
}
