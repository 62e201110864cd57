//! Who goes next: chat before ingestion, in each class whoever came first, as pace, places and breaker allow.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ibid_core::model::{Class, ModelError};
use tokio::sync::oneshot;

use super::adaptive_limit::AdaptiveLimit;
use super::breaker::{Admission, Breaker};
use super::settings::GovernorSettings;

/// How long it takes until the demand of people is forgotten by two thirds.
const DEMAND_FADES: Duration = Duration::from_secs(10);

/// A call's place in the queue. Whoever tries again keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueTicket {
    pub(crate) class: Class,
    number: u64,
}

pub(super) struct Waiter {
    pub(super) tokens: u64,
    pub(super) until: Instant,
    pub(super) turn: oneshot::Sender<Result<Admitted, ModelError>>,
}

/// A request may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Admitted {
    pub(super) class: Class,
    pub(super) at: Instant,
    pub(super) probe: bool,
}

/// Everything that one governor decides by. One short lock holds it.
pub(super) struct Queue {
    provider: String,
    concurrent: usize,
    /// How many places people took lately, which fades.
    chat_demand: f64,
    chat_demand_at: Instant,
    waiting: BTreeMap<QueueTicket, Waiter>,
    in_flight: [usize; 2],
    next: u64,
    pub(super) pace: AdaptiveLimit,
    pub(super) breaker: Breaker,
    /// Whether a task watches the clock for this queue.
    pub(super) watched: bool,
}

impl Queue {
    pub(super) fn new(provider: &str, settings: &GovernorSettings, now: Instant) -> Self {
        let concurrent = settings.concurrent.max(1);
        Self {
            provider: provider.to_owned(),
            concurrent,
            chat_demand: 0.0,
            chat_demand_at: now,
            waiting: BTreeMap::new(),
            in_flight: [0; 2],
            next: 0,
            pace: AdaptiveLimit::new(settings.requests_per_minute, settings.tokens_per_minute, now),
            breaker: Breaker::new(settings.breaker_failures, settings.breaker_pause),
            watched: false,
        }
    }

    pub(super) fn place(&mut self, class: Class) -> QueueTicket {
        self.next += 1;
        QueueTicket { class, number: self.next }
    }

    pub(super) fn wait(&mut self, place: QueueTicket, waiter: Waiter, now: Instant) {
        self.waiting.insert(place, waiter);
        if place.class == Class::Chat {
            let wanted = self.in_flight[Class::Chat as usize] + self.waiting()[Class::Chat as usize];
            self.chat_demand = self.chat_demand(now).max(wanted as f64);
            self.chat_demand_at = now;
        }
    }

    pub(super) fn leave(&mut self, place: QueueTicket) {
        self.waiting.remove(&place);
    }

    pub(super) fn release(&mut self, admitted: Admitted) {
        let count = &mut self.in_flight[admitted.class as usize];
        *count = count.saturating_sub(1);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.iter().sum()
    }

    /// How many wait in each class. People stand first, so that only they are counted.
    pub(super) fn waiting(&self) -> [usize; 2] {
        let people = self.waiting.keys().take_while(|place| place.class == Class::Chat).count();
        [people, self.waiting.len() - people]
    }

    fn chat_demand(&self, now: Instant) -> f64 {
        let faded = now.duration_since(self.chat_demand_at).as_secs_f64() / DEMAND_FADES.as_secs_f64();
        self.chat_demand * (-faded).exp()
    }

    /// How many places documents may take: an eighth is kept for people, or as many as people take or took lately and
    /// one more, so that most of them do not wait at all. One place may always go to documents if it is free.
    fn for_ingestion(&self, now: Instant) -> usize {
        let lately = (self.chat_demand(now).round() as usize).max(self.in_flight[Class::Chat as usize]);
        let kept = self.concurrent.div_ceil(8).max(if lately == 0 { 0 } else { lately + 1 });
        self.concurrent.saturating_sub(kept).max(1)
    }

    /// Lets everyone go who may. Returns when to look again, if the clock alone decides that.
    pub(super) fn advance(&mut self, now: Instant) -> Option<Instant> {
        loop {
            self.turn_away(now);
            let (&place, waiter) = self.waiting.first_key_value()?;
            let full = self.in_flight() >= self.concurrent;
            let ingestion = self.in_flight[Class::Ingestion as usize];
            if full {
                return None;
            }
            if place.class == Class::Ingestion && ingestion >= self.for_ingestion(now) {
                // What is kept for people fades with time alone.
                return (self.chat_demand(now) >= 0.5).then(|| now + Duration::from_secs(1));
            }
            let probe = match self.breaker.admission(now) {
                Admission::Free => false,
                Admission::Probe => true,
                Admission::Closed(until) | Admission::Probing(until) => return Some(until),
            };
            let ready = self.pace.ready_at(place.class);
            if ready > now {
                return Some(ready);
            }
            let tokens = waiter.tokens;
            let Some(waiter) = self.waiting.remove(&place) else { continue };
            let admitted = Admitted { class: place.class, at: now, probe };
            // Whoever went away has left the queue, or is about to: then the place goes to the next.
            if waiter.turn.send(Ok(admitted)).is_ok() {
                self.in_flight[place.class as usize] += 1;
                self.pace.sent(tokens, now);
                if probe {
                    self.breaker.probing(now);
                }
            }
        }
    }

    /// Tells those who cannot be served within their patience, so that they can look elsewhere.
    fn turn_away(&mut self, now: Instant) {
        let Some((until, error)) = self.blocked(now) else { return };
        let hopeless: Vec<QueueTicket> =
            self.waiting.iter().filter(|(_, waiter)| waiter.until < until).map(|(place, _)| *place).collect();
        for place in hopeless {
            if let Some(waiter) = self.waiting.remove(&place) {
                // Nobody there any more is fine.
                let _ = waiter.turn.send(Err(error.clone()));
            }
        }
    }

    /// Until when nothing can be sent, and why.
    fn blocked(&self, now: Instant) -> Option<(Instant, ModelError)> {
        let provider = self.provider.clone();
        if let Admission::Closed(until) = self.breaker.admission(now) {
            let (failures, last) = self.breaker.failures();
            let retry_after = until.duration_since(now);
            let last = last.to_owned();
            return Some((until, ModelError::Unavailable { provider, failures, last, retry_after }));
        }
        let until = self.pace.paused_until(now)?;
        let retry_after: Duration = until.duration_since(now);
        Some((until, ModelError::Busy { provider, retry_after: Some(retry_after) }))
    }
}
