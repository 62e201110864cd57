//! What people saw, in figures.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::node::Performed;
use super::trouble::Troubles;

/// What people saw.
#[derive(Default)]
pub(super) struct Report {
    requests: AtomicUsize,
    failures: AtomicUsize,
    cuts: AtomicUsize,
    waits: Mutex<Vec<Duration>>,
}

impl Report {
    pub(super) fn answered(&self, took: Duration) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.waited(took);
    }

    /// Nobody answered, and another was asked.
    pub(super) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// A stream ended before its turn.
    pub(super) fn cut(&self) {
        self.cuts.fetch_add(1, Ordering::Relaxed);
    }

    /// So long nothing happened that somebody waited for.
    pub(super) fn waited(&self, time: Duration) {
        self.waits.lock().unwrap().push(time);
    }

    pub(super) fn summary(
        &self,
        troubles: &Troubles,
        turns: usize,
        performed: &Performed,
        took: Duration,
    ) -> String {
        let mut waits = self.waits.lock().unwrap().clone();
        waits.sort_unstable();
        let at = |share: f64| {
            let index = ((waits.len() - 1) as f64 * share) as usize;
            waits.get(index).map_or(0, Duration::as_millis)
        };
        let (requests, failures) =
            (self.requests.load(Ordering::Relaxed), self.failures.load(Ordering::Relaxed));
        format!(
            "{turns} turns in {:.0} s, {} steps begun; {requests} requests, {failures} of which were asked again elsewhere, {} streams \
             cut and followed on; waits: median {} ms, 99 % {} ms, longest {} ms; {troubles}",
            took.as_secs_f64(),
            performed.count(),
            self.cuts.load(Ordering::Relaxed),
            at(0.5),
            at(0.99),
            at(1.0),
        )
    }
}
