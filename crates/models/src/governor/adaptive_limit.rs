//! How fast requests may follow one another: as configured, and slower where the provider says so.
//!
//! Pure: every call is told what time it is.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ibid_core::model::{AccountShare, Class};

/// Pacing begins at this share of what the provider was seen to take.
const CAUTION: f64 = 0.9;
/// A pace that is refused is lowered at least to this share of itself.
const RETREAT: f64 = 0.8;
/// No pace is lower than this, in requests a second: a pause says more than a crawl.
const SLOWEST: f64 = 1.0 / 60.0;
/// How long a provider is watched to see what it takes.
const WATCHED: Duration = Duration::from_secs(10);
/// A pace that is not refused grows after this time, first a little, then more.
const FIRST_GROWTH: Duration = Duration::from_secs(10);
const LONGEST_FIRST_GROWTH: Duration = Duration::from_secs(60);
const LONGEST_GROWTH: Duration = Duration::from_secs(600);
const GROWTH: f64 = 0.1;
/// Without a word from the provider, a refusal is taken to hold this long; each further one in a row twice as long.
const PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_OWN_PAUSE: Duration = Duration::from_secs(60);
/// How much of the tokens of a minute may go at once.
const TOKEN_BURST: Duration = Duration::from_secs(10);
/// How much of the requests of a minute may go at once while nothing was refused.
const REQUEST_BURST: Duration = Duration::from_secs(1);
/// No single request is made up for longer than this.
const LONGEST_DEBT: f64 = 600.0;

/// Decides when the next request may go.
#[derive(Debug)]
pub(crate) struct AdaptiveLimit {
    /// What is configured, in requests and tokens a second, and what of it is this process's.
    whole: (Option<f64>, Option<f64>),
    configured: Option<f64>,
    learned: Option<Learned>,
    /// When the requests so far would have gone if they had kept the pace.
    due: Instant,
    tokens_per_second: Option<f64>,
    tokens_due: Instant,
    paused_until: Option<Instant>,
    /// When requests were sent lately that were not refused.
    taken: VecDeque<Instant>,
    since_pause: SincePause,
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

/// What happened since the last pause. Requests from before it say nothing about the pace since.
#[derive(Debug)]
struct SincePause {
    began: Instant,
    sent: u32,
    refused: u32,
    /// How many pauses in a row ended in a refusal at once.
    in_vain: u32,
    /// What had been learned before.
    before: Option<Learned>,
}

impl AdaptiveLimit {
    pub(crate) fn new(
        requests_per_minute: Option<u32>,
        tokens_per_minute: Option<u64>,
        now: Instant,
    ) -> Self {
        let requests = requests_per_minute.map(|count| f64::from(count.max(1)) / 60.0);
        let tokens = tokens_per_minute.map(|count| count.max(1) as f64 / 60.0);
        Self {
            whole: (requests, tokens),
            configured: requests,
            learned: None,
            due: now,
            tokens_per_second: tokens,
            tokens_due: now,
            paused_until: None,
            taken: VecDeque::new(),
            since_pause: SincePause { began: now, sent: 0, refused: 0, in_vain: 0, before: None },
        }
    }

    /// Of what is configured, only a share is this process's.
    pub(crate) fn share(&mut self, share: AccountShare) {
        let of = f64::from(share.of.max(1));
        self.configured = self.whole.0.map(|rate| rate / of);
        self.tokens_per_second = self.whole.1.map(|rate| rate / of);
    }

    /// The earliest moment for the next request of a class; it may lie in the past.
    pub(crate) fn ready_at(&self, class: Class) -> Instant {
        let mut ready = self.paused_until.unwrap_or(self.since_pause.began);
        if let Some(rate) = self.per_second() {
            let burst = if self.learned.is_some() { Duration::ZERO } else { REQUEST_BURST };
            // Who has a person waiting goes one place ahead of the pace, and the others wait for it to be made up.
            let ahead = if class == Class::Chat { seconds(1.0 / rate) } else { Duration::ZERO };
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
            let last = &self.since_pause;
            let in_vain = if last.sent == last.refused { last.in_vain + 1 } else { 0 };
            self.since_pause = SincePause { began: now, sent: 0, refused: 0, in_vain, before: self.learned };
        }
        self.since_pause.sent += 1;
        while self.taken.front().is_some_and(|first| now.duration_since(*first) > WATCHED) {
            self.taken.pop_front();
        }
        self.taken.push_back(now);
        self.grow(now);
        if let Some(rate) = self.per_second() {
            self.due = self.due.max(now) + seconds(1.0 / rate);
        }
        if let Some(rate) = self.tokens_per_second {
            self.tokens_due = self.tokens_due.max(now) + seconds(tokens as f64 / rate);
        }
    }

    /// A request took more or fewer tokens than was thought.
    pub(crate) fn corrected(&mut self, thought: u64, actual: u64) {
        let Some(rate) = self.tokens_per_second else { return };
        let difference = seconds(actual.abs_diff(thought) as f64 / rate);
        self.tokens_due = if actual > thought {
            self.tokens_due + difference
        } else {
            earlier(self.tokens_due, difference)
        };
    }

    /// The provider refused a request that was sent then, and perhaps said when to come back.
    pub(crate) fn refused(&mut self, sent: Instant, after: Option<Duration>, now: Instant) {
        if let Ok(place) = self.taken.binary_search(&sent) {
            self.taken.remove(place);
        }
        let of_this_pace = sent >= self.since_pause.began;
        if of_this_pace {
            self.since_pause.refused += 1;
        }
        let SincePause { sent, refused, in_vain, before, .. } = self.since_pause;
        // Whoever refuses everything after a pause wants longer ones, whatever it says.
        let own = if in_vain == 0 || sent > refused {
            Duration::ZERO
        } else {
            PAUSE * 2_u32.saturating_pow(in_vain.min(16))
        };
        let after = after.unwrap_or(PAUSE).max(own.min(LONGEST_OWN_PAUSE)).max(SHORTEST_PAUSE);
        let until = self.paused_until.map_or(now + after, |known| known.max(now + after));
        self.paused_until = Some(until);
        if !of_this_pace {
            return;
        }
        if let Some(learned) = self.learned.as_mut().filter(|_| sent == 1 && refused == 1) {
            // The pace was not even tried, so it is kept; but it does not grow while nothing is taken.
            learned.grow_at = until + learned.grow_every;
            return;
        }
        // Where nothing was seen to be taken, nothing speaks for a crawl.
        let span = self.taken.front().map_or(PAUSE, |first| until.duration_since(*first));
        let seen = self.taken.len().max(1) as f64 / span.as_secs_f64() * CAUTION;
        let lowered = before.map_or(seen, |before| seen.min(before.per_second * RETREAT));
        let per_second = lowered.max(SLOWEST);
        let grow_every = match before {
            // It had just grown: that was too much, so the next try comes later.
            Some(before) if before.grown > 0 => (before.grow_every * 2).min(LONGEST_GROWTH),
            Some(before) => before.grow_every,
            None => FIRST_GROWTH.max(after).min(LONGEST_FIRST_GROWTH),
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

    /// Tries a little more after a while without a refusal, and more than a little if that went well. Only requests
    /// that are sent can show whether it is too much, so only they make it grow.
    fn grow(&mut self, now: Instant) {
        let Some(learned) = &mut self.learned else { return };
        if now < learned.grow_at {
            return;
        }
        learned.per_second *= 1.0 + (GROWTH * f64::from(1 << learned.grown.min(4))).min(1.0);
        learned.grown += 1;
        if learned.grown >= 3 {
            learned.grow_every = FIRST_GROWTH;
        }
        learned.grow_at = now + learned.grow_every;
        self.since_pause.before = Some(*learned);
        if self.configured.is_some_and(|configured| learned.per_second >= configured) {
            self.learned = None;
            self.since_pause.before = None;
        }
    }
}

fn seconds(number: f64) -> Duration {
    Duration::from_secs_f64(number.clamp(0.0, LONGEST_DEBT))
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
    fn play(
        pace: &mut AdaptiveLimit,
        limit: usize,
        began: Instant,
        from: Duration,
        to: Duration,
    ) -> (u32, u32) {
        let (mut taken, mut refused) = (0, 0);
        let mut now = began;
        let mut last: VecDeque<Instant> = VecDeque::new();
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
        let mut pace = AdaptiveLimit::new(None, None, now);
        for _ in 0..1000 {
            assert!(pace.ready_at(Class::Ingestion) <= now);
            pace.sent(1, now);
        }
    }

    #[test]
    fn a_configured_pace_is_kept() {
        let now = Instant::now();
        let mut pace = AdaptiveLimit::new(Some(600), None, now);
        let (taken, refused) = play(&mut pace, usize::MAX, now, Duration::ZERO, SECOND * 30);
        assert!((300..=315).contains(&taken) && refused == 0, "{taken} taken");
    }

    #[test]
    fn tokens_are_paced_and_corrected() {
        let now = Instant::now();
        let mut pace = AdaptiveLimit::new(None, Some(60_000), now);
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
        let mut pace = AdaptiveLimit::new(None, None, now);
        let (taken, refused) = play(&mut pace, 10, now, SECOND * 2, SECOND * 600);
        let share = f64::from(refused) / f64::from(taken + refused);
        assert!(share < 0.01, "{refused} refused of {taken}");
        assert!(taken > 598 * 7, "only {taken} were sent where 5980 could be");
    }

    #[test]
    fn a_limit_that_was_raised_is_found_again() {
        let now = Instant::now();
        let mut pace = AdaptiveLimit::new(None, None, now);
        play(&mut pace, 10, now, Duration::ZERO, SECOND * 20);
        let (taken, _) = play(&mut pace, 100, now + SECOND * 20, SECOND * 600, SECOND * 660);
        assert!(taken > 60 * 50, "only {taken} in a minute");
    }

    #[test]
    fn a_refusal_after_a_quiet_time_is_judged_by_what_was_taken_lately() {
        let began = Instant::now();
        let mut pace = AdaptiveLimit::new(None, None, began);
        // A day with a request a minute, and then thirty at once of which the last is refused.
        for minute in 0..1440 {
            pace.sent(1, began + SECOND * 60 * minute);
        }
        let now = began + SECOND * 60 * 1440;
        for _ in 0..30 {
            pace.sent(1, now);
        }
        pace.refused(now, Some(SECOND), now);
        assert!(pace.learned().unwrap() > 20.0, "{:?}", pace.learned());
    }

    #[test]
    fn a_spell_of_refusals_does_not_outlast_itself() {
        for after in [None, Some(Duration::ZERO), Some(SECOND)] {
            let began = Instant::now();
            let mut pace = AdaptiveLimit::new(None, None, began);
            let (mut now, mut requests) = (began, 0);
            while now < began + SECOND * 900 {
                now = now.max(pace.ready_at(Class::Ingestion));
                pace.sent(1, now);
                pace.refused(now, after, now);
                requests += 1;
            }
            assert!(requests < 60, "{requests} requests in vain in a quarter of an hour");
            assert!(pace.learned().unwrap() >= SLOWEST);
            let (taken, _) = play(&mut pace, 10, now, SECOND * 300, SECOND * 360);
            assert!(taken > 60 * 5, "back to {taken} in the sixth minute after it is over");
        }
    }

    #[test]
    fn a_spell_that_is_over_leaves_no_trace_in_later_pauses() {
        let began = Instant::now();
        let mut pace = AdaptiveLimit::new(None, None, began);
        let mut now = began;
        for _ in 0..8 {
            now = now.max(pace.ready_at(Class::Chat));
            pace.sent(1, now);
            pace.refused(now, Some(SECOND), now);
        }
        let learned = pace.learned().unwrap();
        for _ in 0..100 {
            now = now.max(pace.ready_at(Class::Chat));
            pace.sent(1, now);
        }
        assert!(learned < 10.0, "it did not grow while everything was refused: {learned}");
        pace.refused(now, Some(SECOND), now);
        assert_eq!(pace.paused_until(now), Some(now + SECOND));
    }

    #[test]
    fn a_first_request_that_is_refused_does_not_teach_a_crawl() {
        let now = Instant::now();
        let mut pace = AdaptiveLimit::new(None, None, now);
        pace.sent(1, now);
        pace.refused(now, Some(SECOND * 60), now);
        let (taken, _) = play(&mut pace, 10, now + SECOND * 60, SECOND * 240, SECOND * 300);
        assert!(taken > 60 * 2, "{taken} in the fifth minute");
    }

    #[test]
    fn refusals_of_requests_from_before_a_pause_do_not_lower_the_pace_again() {
        let now = Instant::now();
        let mut pace = AdaptiveLimit::new(None, None, now);
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
        let mut pace = AdaptiveLimit::new(None, None, now);
        pace.sent(1, now);
        pace.refused(now, Some(SECOND), now);
        let then = now + SECOND;
        pace.sent(1, then);
        assert!(pace.ready_at(Class::Chat) <= then);
        assert!(pace.ready_at(Class::Ingestion) > then);
    }
}
