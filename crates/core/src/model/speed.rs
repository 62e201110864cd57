//! How fast a model reads, for whoever decides what it is shown.

use std::time::Duration;

/// What a model on this machine is taken to read, in tokens per second, before it has answered: one without a GPU.
const FIRST_GUESS: f64 = 50.0;

/// A model that reads fewer tokens per second is slow.
const SLOW: f64 = 300.0;

/// How fast a model reads.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum ReadingSpeed {
    /// So fast that it does not matter, as models of providers do.
    #[default]
    Fast,
    /// It runs on this machine or beside it, and has not answered yet.
    Unknown,
    /// It runs there, and has read so many tokens per second.
    Measured(f64),
}

impl ReadingSpeed {
    /// How many tokens it reads in a time; none if there is no reason to be brief.
    pub fn tokens_within(self, time: Duration) -> Option<usize> {
        let speed = match self {
            Self::Fast => return None,
            Self::Unknown => FIRST_GUESS,
            Self::Measured(speed) => speed,
        };
        Some((speed * time.as_secs_f64()) as usize)
    }

    /// Whether it is known to read so slowly that it must be a small one, and every call is one that a person waits for.
    pub fn is_slow(self) -> bool {
        matches!(self, Self::Measured(speed) if speed < SLOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_guessed_with_care() {
        let time = Duration::from_secs(20);
        assert_eq!(ReadingSpeed::Fast.tokens_within(time), None);
        assert_eq!(ReadingSpeed::Unknown.tokens_within(time), Some(1000));
        assert_eq!(ReadingSpeed::Measured(30.0).tokens_within(time), Some(600));
        assert!(ReadingSpeed::Measured(30.0).is_slow() && !ReadingSpeed::Unknown.is_slow());
    }
}
