//! Leaves a provider alone that keeps failing, and looks now and then whether it is back.
//!
//! Pure: every call is told what time it is.

use std::time::{Duration, Instant};

/// After several failures in a row nothing is sent for a while; then one request goes as a probe.
#[derive(Debug)]
pub(crate) struct Breaker {
    most: u32,
    pause: Duration,
    failures: u32,
    last: String,
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    until: Instant,
    pause: Duration,
    /// Since when a probe is under way.
    probing: Option<Instant>,
}

/// Whether a request may go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It may.
    Free,
    /// It may, as the one that shows whether the provider is back.
    Probe,
    /// Not before then.
    Closed(Instant),
    /// Not while a probe is under way, which is given up then.
    Probing(Instant),
}

/// A probe that nobody reports on is given up after this.
const LOST_PROBE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: u32 = 8;

impl Breaker {
    pub(crate) fn new(most: u32, pause: Duration) -> Self {
        Self { most: most.max(1), pause, failures: 0, last: String::new(), open: None }
    }

    /// Whether the provider is left alone, or only tried.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a request may go.
    pub(crate) fn admission(&self, now: Instant) -> Admission {
        match self.open {
            None => Admission::Free,
            Some(open) if now < open.until => Admission::Closed(open.until),
            Some(Open { probing: Some(since), .. }) if now < since + LOST_PROBE => {
                Admission::Probing(since + LOST_PROBE)
            }
            Some(_) => Admission::Probe,
        }
    }

    /// A request was let through as a probe.
    pub(crate) fn probing(&mut self, now: Instant) {
        if let Some(open) = &mut self.open {
            open.probing = Some(now);
        }
    }

    /// The probe ended without showing anything, because it was stopped.
    pub(crate) fn probe_lost(&mut self) {
        if let Some(open) = &mut self.open {
            open.probing = None;
        }
    }

    /// The provider answered.
    pub(crate) fn succeeded(&mut self) {
        self.failures = 0;
        self.open = None;
    }

    /// The provider failed. Returns whether it is left alone from now on.
    pub(crate) fn failed(&mut self, why: &str, now: Instant) -> bool {
        self.failures += 1;
        self.last = why.to_owned();
        match self.open {
            // Others that were under way when it opened change nothing.
            Some(Open { probing: None, .. }) => false,
            Some(Open { pause, .. }) => {
                let pause = (pause * 2).min(self.pause * LONGEST_PAUSE);
                self.open = Some(Open { until: now + pause, pause, probing: None });
                true
            }
            None if self.failures >= self.most => {
                self.open = Some(Open { until: now + self.pause, pause: self.pause, probing: None });
                true
            }
            None => false,
        }
    }

    /// How often it failed in a row, and how the last time.
    pub(crate) fn failures(&self) -> (u32, &str) {
        (self.failures, &self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn failures_in_a_row_open_it_and_a_good_probe_closes_it() {
        let now = Instant::now();
        let mut breaker = Breaker::new(3, SECOND);
        breaker.failed("no", now);
        breaker.succeeded();
        for failure in 1..=3 {
            assert_eq!(breaker.admission(now), Admission::Free);
            assert_eq!(breaker.failed("no", now), failure == 3);
        }
        assert_eq!(breaker.admission(now), Admission::Closed(now + SECOND));
        assert!(!breaker.failed("one that was under way", now), "it is open already");
        let later = now + SECOND;
        assert_eq!(breaker.admission(later), Admission::Probe);
        breaker.probing(later);
        assert!(matches!(breaker.admission(later), Admission::Probing(_)), "one probe at a time");
        breaker.succeeded();
        assert_eq!(breaker.admission(later), Admission::Free);
    }

    #[test]
    fn a_bad_probe_opens_it_for_longer() {
        let mut now = Instant::now();
        let mut breaker = Breaker::new(1, SECOND);
        breaker.failed("no", now);
        for pause in [2, 4, 8, 8] {
            now += SECOND * 10;
            assert_eq!(breaker.admission(now), Admission::Probe);
            breaker.probing(now);
            breaker.failed("still no", now);
            assert_eq!(breaker.admission(now), Admission::Closed(now + SECOND * pause));
        }
    }

    #[test]
    fn a_probe_that_was_stopped_leaves_the_place_to_the_next() {
        let now = Instant::now();
        let mut breaker = Breaker::new(1, SECOND);
        breaker.failed("no", now);
        let later = now + SECOND;
        breaker.probing(later);
        breaker.probe_lost();
        assert_eq!(breaker.admission(later), Admission::Probe);
    }
}
