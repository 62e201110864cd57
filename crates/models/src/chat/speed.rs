//! How fast a model reads, learned from the calls that it answered.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A shorter time, and fewer tokens, say more about the network than about the model.
const SHORTEST: Duration = Duration::from_millis(500);
const FEWEST: u64 = 100;
/// How much the newest call counts.
const NEWEST: f64 = 0.4;

/// Tokens per second, once they are known.
#[derive(Default)]
pub(super) struct ReadingSpeed(Mutex<Option<f64>>);

impl ReadingSpeed {
    /// A call with so many tokens began to be answered after so long.
    pub(super) fn learn(&self, tokens: u64, took: Duration) {
        if tokens < FEWEST || took < SHORTEST {
            return;
        }
        let seen = tokens as f64 / took.as_secs_f64();
        let mut speed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *speed = Some(speed.map_or(seen, |known| known + NEWEST * (seen - known)));
    }

    /// How long it takes for so many tokens.
    pub(super) fn time_for(&self, tokens: u64) -> Option<Duration> {
        let speed = (*self.0.lock().unwrap_or_else(PoisonError::into_inner))?;
        Some(Duration::from_secs_f64(tokens as f64 / speed.max(0.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_is_learned_from_calls_that_tell_something() {
        let speed = ReadingSpeed::default();
        speed.learn(1000, Duration::from_millis(20));
        assert_eq!(speed.time_for(1000), None);
        speed.learn(1000, Duration::from_secs(20));
        assert_eq!(speed.time_for(3000), Some(Duration::from_secs(60)));
        speed.learn(1000, Duration::from_secs(40));
        assert!(speed.time_for(3000).unwrap() > Duration::from_secs(70));
    }
}
