//! How fast requests may follow one another: as configured, and slower where the provider says so.
//!
//! Pure: every call is told what time it is.

use std::time::{Duration, Instant};

use ibid_core::model::Class;

/// After this share of what the provider was seen to take, pacing begins.
const CAUTION: f64 = 0.9;
/// A pace that is refused is lowered at least to this share of itself.
const RETREAT: f64 = 0.8;
/// A pace that is not refused for a while grows by this factor.
const GROWTH: f64 = 1.1;
const FIRST_GROWTH: Duration = Duration::from_secs(10);
const LONGEST_GROWTH: Duration = Duration::from_secs(600);
/// Without a word from the provider, a refusal is taken to hold this long.
const PAUSE: Duration = Duration::from_secs(1);
/// How much of the tokens of a minute may go at once.
const TOKEN_BURST: Duration = Duration::from_secs(10);
/// How much of the requests of a minute may go at once while nothing was refused.
const REQUEST_BURST: Duration = Duration::from_secs(1);

/// Decides when the next request may go.
#[derive(Debug)]
pub(crate) struct Pace {
    configured: Option<f64>,
    learned: Option<Learned>,
    /// When the requests so far would have gone if they had kept the pace.
    due: Instant,
    tokens_per_second: Option<f64>,
    tokens_due: Instant,
    paused_until: Option<Instant>,
    window: Window,
}

/// What the provider was seen to take.
#[derive(Debug, Clone, Copy)]
struct Learned {
    per_second: f64,
    grow_at: Instant,
    grow_every: Duration,
    /// How often it has grown since the last refusal.
    grown: u32,
}

/// What was sent since the last pause.
#[derive(Debug)]
struct Window {
    began: Instant,
    sent: u32,
    refused: u32,
    /// What had been learned before the first refusal in it.
    before: Option<Learned>,
}

impl Window {
    fn at(began: Instant, before: Option<Learned>) -> Self {
        Self { began, sent: 0, refused: 0, before }
    }
}

impl Pace {
    pub(crate) fn new(
        requests_per_minute: Option<u32>,
        tokens_per_minute: Option<u64>,
        now: Instant,
    ) -> Self {
        Self {
            configured: requests_per_minute.map(|count| f64::from(count.max(1)) / 60.0),
            learned: None,
            due: now,
            tokens_per_second: tokens_per_minute.map(|count| count.max(1) as f64 / 60.0),
            tokens_due: now,
            paused_until: None,
            window: Window::at(now, None),
        }
    }

    /// The earliest moment for the next request of a class; it may lie in the past.
    pub(crate) fn ready_at(&self, class: Class) -> Instant {
        let mut ready = self.paused_until.unwrap_or(self.window.began);
        if let Some(rate) = self.per_second() {
            let burst = if self.learned.is_some() { Duration::ZERO } else { REQUEST_BURST };
            // Who has a person waiting goes one place ahead of the pace, and the others wait for it to be made up.
            let ahead =
                if class == Class::Chat { Duration::from_secs_f64(1.0 / rate) } else { Duration::ZERO };
            ready = ready.max(earlier(self.due, burst.max(ahead)));
        }
        if self.tokens_per_second.is_some() {
            ready = ready.max(earlier(self.tokens_due, TOKEN_BURST));
        }
        ready
    }

    /// A request goes now, and will take about so many tokens.
    pub(crate) fn sent(&mut self, tokens: u64, now: Instant) {
        if self.paused_until.take().is_some() {
            self.window = Window::at(now, self.learned);
        }
        self.window.sent += 1;
        self.grow(now);
        if let Some(rate) = self.per_second() {
            self.due = self.due.max(now) + Duration::from_secs_f64(1.0 / rate);
        }
        if let Some(rate) = self.tokens_per_second {
            self.tokens_due = self.tokens_due.max(now) + Duration::from_secs_f64(tokens as f64 / rate);
        }
    }

    /// A request took more or fewer tokens than was thought.
    pub(crate) fn corrected(&mut self, thought: u64, actual: u64) {
        let Some(rate) = self.tokens_per_second else { return };
        let difference = Duration::from_secs_f64(actual.abs_diff(thought) as f64 / rate);
        self.tokens_due = if actual > thought {
            self.tokens_due + difference
        } else {
            earlier(self.tokens_due, difference)
        };
    }

    /// The provider refused a request that was sent then, and perhaps said when to come back.
    pub(crate) fn refused(&mut self, sent: Instant, after: Option<Duration>, now: Instant) {
        let after = after.unwrap_or(PAUSE);
        let until = now + after;
        self.paused_until = Some(self.paused_until.map_or(until, |known| known.max(until)));
        // What was sent before the last pause says nothing about the pace since.
        if sent < self.window.began {
            return;
        }
        self.window.refused += 1;
        let taken = f64::from(self.window.sent.saturating_sub(self.window.refused).max(1));
        let span = until.duration_since(self.window.began).max(Duration::from_millis(100));
        let seen = taken / span.as_secs_f64() * CAUTION;
        let before = self.window.before;
        let per_second = before.map_or(seen, |before| seen.min(before.per_second * RETREAT));
        let grow_every = match before {
            // It had just grown: that was too much, so the next try comes later.
            Some(before) if before.grown > 0 => (before.grow_every * 2).min(LONGEST_GROWTH),
            Some(before) => before.grow_every,
            None => FIRST_GROWTH.max(after * 10).min(LONGEST_GROWTH),
        };
        self.learned = Some(Learned { per_second, grow_at: until + grow_every, grow_every, grown: 0 });
        self.due = until;
    }

    /// Until when the provider wants to be left alone.
    pub(crate) fn paused_until(&self, now: Instant) -> Option<Instant> {
        self.paused_until.filter(|until| *until > now)
    }

    /// The pace that was learned, in requests a second.
    pub(crate) fn learned(&self) -> Option<f64> {
        self.learned.map(|learned| learned.per_second)
    }

    fn per_second(&self) -> Option<f64> {
        match (self.configured, self.learned) {
            (Some(configured), Some(learned)) => Some(configured.min(learned.per_second)),
            (configured, learned) => configured.or(learned.map(|learned| learned.per_second)),
        }
    }

    /// Tries a little more after a while without a refusal. Only requests that are sent can show whether that is
    /// too much, so only they make it grow.
    fn grow(&mut self, now: Instant) {
        let Some(learned) = &mut self.learned else { return };
        if now < learned.grow_at {
            return;
        }
        learned.per_second *= GROWTH;
        learned.grown += 1;
        if learned.grown >= 3 {
            learned.grow_every = FIRST_GROWTH;
        }
        learned.grow_at = now + learned.grow_every;
        self.window.before = Some(*learned);
        if self.configured.is_some_and(|configured| learned.per_second >= configured) {
            self.learned = None;
            self.window.before = None;
        }
    }
}

fn earlier(moment: Instant, by: Duration) -> Instant {
    moment.checked_sub(by).unwrap_or(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Sends as fast as the pace allows against a provider that takes `limit` requests in any second, and counts
    /// those taken and refused between two moments.
    fn play(pace: &mut Pace, limit: usize, began: Instant, from: Duration, to: Duration) -> (u32, u32) {
        let (mut taken, mut refused) = (0, 0);
        let mut now = began;
        let mut last: std::collections::VecDeque<Instant> = std::collections::VecDeque::new();
        while now < began + to {
            now = now.max(pace.ready_at(Class::Ingestion)).max(now + Duration::from_millis(1));
            pace.sent(1, now);
            while last.front().is_some_and(|first| now.duration_since(*first) >= SECOND) {
                last.pop_front();
            }
            let counts = now >= began + from;
            if last.len() < limit {
                last.push_back(now);
                taken += u32::from(counts);
            } else {
                pace.refused(now, Some(SECOND), now);
                refused += u32::from(counts);
            }
        }
        (taken, refused)
    }

    #[test]
    fn without_limits_everything_goes_at_once() {
        let now = Instant::now();
        let mut pace = Pace::new(None, None, now);
        for _ in 0..1000 {
            assert!(pace.ready_at(Class::Ingestion) <= now);
            pace.sent(1, now);
        }
    }

    #[test]
    fn a_configured_pace_is_kept() {
        let now = Instant::now();
        let mut pace = Pace::new(Some(600), None, now);
        let (taken, refused) = play(&mut pace, usize::MAX, now, Duration::ZERO, SECOND * 30);
        assert!((300..=315).contains(&taken) && refused == 0, "{taken} taken");
    }

    #[test]
    fn tokens_are_paced_and_corrected() {
        let now = Instant::now();
        let mut pace = Pace::new(None, Some(60_000), now);
        pace.sent(10_000, now);
        assert!(pace.ready_at(Class::Chat) <= now, "ten seconds' worth may go at once");
        pace.sent(5_000, now);
        assert_eq!(pace.ready_at(Class::Chat), now + SECOND * 5);
        pace.corrected(5_000, 1_000);
        assert_eq!(pace.ready_at(Class::Chat), now + SECOND);
    }

    #[test]
    fn a_limit_is_learned_and_then_hardly_ever_run_into() {
        let now = Instant::now();
        let mut pace = Pace::new(None, None, now);
        let (taken, refused) = play(&mut pace, 10, now, SECOND * 2, SECOND * 600);
        let share = f64::from(refused) / f64::from(taken + refused);
        assert!(share < 0.01, "{refused} refused of {taken}");
        assert!(taken > 598 * 7, "only {taken} were sent where 5980 could be");
    }

    #[test]
    fn a_limit_that_was_raised_is_found_again() {
        let now = Instant::now();
        let mut pace = Pace::new(None, None, now);
        play(&mut pace, 10, now, Duration::ZERO, SECOND * 20);
        let (taken, _) = play(&mut pace, 100, now + SECOND * 20, SECOND * 600, SECOND * 660);
        assert!(taken > 60 * 50, "only {taken} in a minute");
    }

    #[test]
    fn refusals_of_requests_from_before_a_pause_do_not_lower_the_pace_again() {
        let now = Instant::now();
        let mut pace = Pace::new(None, None, now);
        for _ in 0..20 {
            pace.sent(1, now);
        }
        for _ in 0..10 {
            pace.refused(now, Some(SECOND), now);
        }
        let learned = pace.learned().unwrap();
        assert!((8.9..=9.1).contains(&learned), "{learned}");
        pace.sent(1, now + SECOND);
        pace.refused(now, None, now + SECOND);
        assert_eq!(pace.learned().unwrap(), learned);
    }

    #[test]
    fn who_has_a_person_waiting_goes_one_place_ahead() {
        let now = Instant::now();
        let mut pace = Pace::new(None, None, now);
        pace.sent(1, now);
        pace.refused(now, Some(SECOND), now);
        let then = now + SECOND;
        pace.sent(1, then);
        assert!(pace.ready_at(Class::Chat) <= then);
        assert!(pace.ready_at(Class::Ingestion) > then);
    }
}
