//! What can be set for one provider account.

use std::time::Duration;

/// What one provider account may take, and how patient its callers are.
#[derive(Debug, Clone, PartialEq)]
pub struct GovernorSettings {
    /// How many requests may be under way at once.
    pub concurrent: usize,
    /// How many requests may be sent in a minute.
    pub requests_per_minute: Option<u32>,
    /// How many tokens may be read and written in a minute.
    pub tokens_per_minute: Option<u64>,
    /// How often a request is tried that fails in a way that may pass.
    pub attempts: u32,
    /// How long it waits before the second attempt; the wait doubles with each further one.
    pub backoff: Duration,
    /// After how many failures in a row the provider is left alone.
    pub breaker_failures: u32,
    /// For how long.
    pub breaker_pause: Duration,
    /// How long a person waits until an answer begins, all attempts included.
    pub chat_wait: Duration,
    /// How long the reading of documents waits, all attempts included.
    pub ingestion_wait: Duration,
    /// How long it waits for room before the next model of its chain is asked.
    pub patience: Duration,
}

impl Default for GovernorSettings {
    fn default() -> Self {
        Self {
            concurrent: 64,
            requests_per_minute: None,
            tokens_per_minute: None,
            attempts: 5,
            backoff: Duration::from_millis(500),
            breaker_failures: 8,
            breaker_pause: Duration::from_secs(10),
            chat_wait: Duration::from_secs(120),
            ingestion_wait: Duration::from_secs(900),
            patience: Duration::from_secs(3),
        }
    }
}

impl GovernorSettings {
    /// How long to wait before the attempt after this many, with half of it left to chance so that callers who
    /// failed together do not come back together.
    pub(crate) fn delay_after(&self, attempts: u32) -> Duration {
        const LONGEST: Duration = Duration::from_secs(20);
        let whole = self.backoff.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(LONGEST);
        whole.mul_f64(rand::random_range(0.5..=1.0))
    }
}
