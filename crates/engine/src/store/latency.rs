//! How long something usually takes, and whether that is short enough to do it on the spot.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What usually takes less than this is done where it is asked for: handing it to another thread and
/// back would take as long. Slower things must not hold up a thread that runs turns.
const QUICK: Duration = Duration::from_micros(250);

/// How long something usually took lately.
#[derive(Default)]
pub(super) struct LatencyEwma {
    usual_ns: AtomicU64,
}

impl LatencyEwma {
    /// Whether it may be done on the spot.
    pub(super) fn is_quick(&self) -> bool {
        Duration::from_nanos(self.usual_ns.load(Ordering::Relaxed)) < QUICK
    }

    /// Notes how long it took this time.
    pub(super) fn note(&self, began: Instant) {
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let usual = self.usual_ns.load(Ordering::Relaxed);
        self.usual_ns.store(usual / 8 * 7 + took / 8, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_stretch_is_noticed_and_forgiven() {
        let latency = LatencyEwma::default();
        assert!(latency.is_quick(), "nothing is known yet");
        let slow = Instant::now().checked_sub(Duration::from_millis(5)).unwrap();
        latency.note(slow);
        assert!(!latency.is_quick());
        (0..50).for_each(|_| latency.note(Instant::now()));
        assert!(latency.is_quick());
    }
}
