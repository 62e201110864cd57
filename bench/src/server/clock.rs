//! When a token was said, written so that it can be found in whatever carries it.

use std::time::Instant;

/// How many digits a stamp has: microseconds since the clock was started.
const DIGITS: usize = 12;
const BEFORE: u8 = b'@';
const AFTER: u8 = b';';

/// Tells how long ago something was said.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    /// Microseconds since it was started.
    pub(super) fn now(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Now, as a word.
    pub(super) fn stamp(self) -> String {
        let (before, after) = (char::from(BEFORE), char::from(AFTER));
        format!("{before}{:0DIGITS$}{after}", self.now())
    }
}

/// The stamps in some bytes, and how many of the bytes need not be looked at again.
pub(super) fn stamps(bytes: &[u8], mut found: impl FnMut(u64)) -> usize {
    let mut at = 0;
    while let Some(start) = memchr::memchr(BEFORE, &bytes[at..]) {
        let start = at + start;
        let Some(word) = bytes.get(start + 1..start + 2 + DIGITS) else { return start };
        let digits = std::str::from_utf8(&word[..DIGITS]).ok().and_then(|digits| digits.parse().ok());
        match digits {
            Some(stamp) if word[DIGITS] == AFTER => {
                found(stamp);
                at = start + 2 + DIGITS;
            }
            _ => at = start + 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_found_whole_and_once() {
        let clock = Clock::start();
        let text = format!("data: {} and x@y; {}", clock.stamp(), clock.stamp());
        let mut found = Vec::new();
        let seen = stamps(&text.as_bytes()[..text.len() - 3], |stamp| found.push(stamp));
        assert_eq!(found.len(), 1);
        stamps(&text.as_bytes()[seen..], |stamp| found.push(stamp));
        assert_eq!(found.len(), 2);
    }
}
