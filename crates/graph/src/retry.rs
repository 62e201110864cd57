//! How often and how fast a failed node is tried again.

use std::time::Duration;

/// Retries with exponential backoff. The default is a single attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    attempts: u32,
    first_delay: Duration,
    longest_delay: Duration,
}

impl RetryPolicy {
    /// One attempt and no more.
    pub const NEVER: Self = Self { attempts: 1, first_delay: Duration::ZERO, longest_delay: Duration::ZERO };

    /// At most `attempts` attempts, the second after 200 ms, each further one after twice the time
    /// before, never more than 10 s apart.
    pub const fn times(attempts: u32) -> Self {
        Self { attempts, first_delay: Duration::from_millis(200), longest_delay: Duration::from_secs(10) }
    }

    /// Sets the time before the second attempt and the longest time between two.
    #[must_use]
    pub const fn delays(mut self, first: Duration, longest: Duration) -> Self {
        self.first_delay = first;
        self.longest_delay = longest;
        self
    }

    /// How long to wait after `failed` failed attempts, or `None` when that was the last.
    pub(crate) fn delay_after(&self, failed: u32, asked: Option<Duration>) -> Option<Duration> {
        if failed >= self.attempts {
            return None;
        }
        let doubled = self.first_delay.saturating_mul(2u32.saturating_pow(failed.saturating_sub(1)));
        Some(doubled.min(self.longest_delay).max(asked.unwrap_or_default()))
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_end_with_the_attempts() {
        let policy = RetryPolicy::times(5).delays(Duration::from_millis(100), Duration::from_millis(300));
        let delays: Vec<_> = (1..=5).map(|failed| policy.delay_after(failed, None)).collect();
        let expected = [100, 200, 300, 300].map(|ms| Some(Duration::from_millis(ms)));
        assert_eq!(delays[..4], expected);
        assert_eq!(delays[4], None);
    }

    #[test]
    fn a_provider_may_ask_for_a_longer_delay() {
        let asked = Some(Duration::from_secs(30));
        assert_eq!(RetryPolicy::times(2).delay_after(1, asked), asked);
    }
}
