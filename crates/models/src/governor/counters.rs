//! What one governor has seen, for metrics and for whoever wonders why it is slow.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use ibid_core::model::{Class, Usage};
use serde::Serialize;

/// Counted since the process began.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) answered: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) retried: AtomicU64,
    pub(crate) given_up: AtomicU64,
    pub(crate) stopped: AtomicU64,
    pub(crate) opened: AtomicU64,
    pub(crate) over_budget: AtomicU64,
    input_tokens: AtomicU64,
    output_tokens: AtomicU64,
    waited: [Waited; 2],
}

#[derive(Debug, Default)]
struct Waited {
    calls: AtomicU64,
    micros: AtomicU64,
    longest_micros: AtomicU64,
}

/// What one governor has seen since the process began, and how it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// Whose it is.
    pub provider: String,
    /// Requests that were sent, every attempt counted.
    pub sent: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that were refused for being too many.
    pub refused: u64,
    /// Requests that failed in a way that may pass.
    pub failed: u64,
    /// Attempts after the first.
    pub retried: u64,
    /// Calls that ended in an error.
    pub given_up: u64,
    /// Calls that were stopped before their answer was complete.
    pub stopped: u64,
    /// How often the provider was left alone for failing.
    pub opened: u64,
    /// Whether it is left alone now, or only tried.
    pub is_open: bool,
    /// Calls that a budget did not allow.
    pub over_budget: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Requests under way.
    pub in_flight: usize,
    /// The pace that was learned from refusals, in requests a second.
    pub learned_per_second: Option<f64>,
    /// How long calls waited for their turn.
    pub waited: Vec<WaitedStats>,
}

/// How long the calls of a class waited for their turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitedStats {
    /// Which class.
    pub class: &'static str,
    /// How many calls were let through.
    pub calls: u64,
    /// How many are waiting now.
    pub waiting: usize,
    /// How long they waited together, in seconds.
    pub seconds: f64,
    /// The longest wait, in seconds.
    pub longest_seconds: f64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

impl Counters {
    pub(crate) fn waited(&self, class: Class, duration: Duration) {
        let (waited, micros) = (&self.waited[class as usize], duration.as_micros() as u64);
        waited.calls.fetch_add(1, Relaxed);
        waited.micros.fetch_add(micros, Relaxed);
        waited.longest_micros.fetch_max(micros, Relaxed);
    }

    pub(crate) fn used(&self, usage: &Usage) {
        self.input_tokens.fetch_add(usage.input_tokens, Relaxed);
        self.output_tokens.fetch_add(usage.output_tokens, Relaxed);
    }

    pub(crate) fn stats(
        &self,
        provider: &str,
        waiting: [usize; 2],
        in_flight: usize,
        pace: Option<f64>,
    ) -> Stats {
        let seconds = |micros: &AtomicU64| micros.load(Relaxed) as f64 / 1e6;
        let waited = Class::ALL.map(|class| {
            let waited = &self.waited[class as usize];
            WaitedStats {
                class: class.as_str(),
                calls: waited.calls.load(Relaxed),
                waiting: waiting[class as usize],
                seconds: seconds(&waited.micros),
                longest_seconds: seconds(&waited.longest_micros),
            }
        });
        Stats {
            provider: provider.to_owned(),
            sent: self.sent.load(Relaxed),
            answered: self.answered.load(Relaxed),
            refused: self.refused.load(Relaxed),
            failed: self.failed.load(Relaxed),
            retried: self.retried.load(Relaxed),
            given_up: self.given_up.load(Relaxed),
            stopped: self.stopped.load(Relaxed),
            opened: self.opened.load(Relaxed),
            is_open: false,
            over_budget: self.over_budget.load(Relaxed),
            input_tokens: self.input_tokens.load(Relaxed),
            output_tokens: self.output_tokens.load(Relaxed),
            in_flight,
            learned_per_second: pace,
            waited: waited.into(),
        }
    }
}
