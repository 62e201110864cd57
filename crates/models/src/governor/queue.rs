//! Who goes next: chat before ingestion, in each class one of each tenant in turn, of a tenant whoever came first, as pace,
//! places and breaker allow.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use ibid_core::Tenant;
use ibid_core::model::{AccountShare, Class, ModelError};
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
    round: u64,
    number: u64,
}

pub(super) struct Waiter {
    pub(super) tenant: Tenant,
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

/// The rounds of a class: in each, every tenant that waits has one turn. So whoever has much to ask waits for themselves.
#[derive(Default)]
struct Rounds {
    /// The one that is being served.
    current: u64,
    /// The last round in which a tenant waits for a turn, and how many of its calls wait.
    last: HashMap<Tenant, (u64, usize)>,
}

impl Rounds {
    /// The round of the next call of a tenant.
    fn next(&self, tenant: &Tenant) -> u64 {
        self.last.get(tenant).map_or(self.current, |(last, _)| self.current.max(last + 1))
    }

    fn wait(&mut self, tenant: &Tenant, round: u64) {
        let (last, count) = self.last.entry(tenant.clone()).or_default();
        (*last, *count) = ((*last).max(round), *count + 1);
    }

    fn leave(&mut self, tenant: &Tenant) {
        let Some((_, count)) = self.last.get_mut(tenant) else { return };
        *count -= 1;
        if *count == 0 {
            self.last.remove(tenant);
        }
    }
}

/// Everything that one governor decides by. One short lock holds it.
pub(super) struct Queue {
    provider: String,
    /// How many requests may be under way at once, of all processes and of this one.
    whole: usize,
    concurrent: usize,
    /// How many places people took lately, which fades.
    chat_demand: f64,
    chat_demand_at: Instant,
    waiting: BTreeMap<QueueTicket, Waiter>,
    rounds: [Rounds; 2],
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
            whole: concurrent,
            concurrent,
            chat_demand: 0.0,
            chat_demand_at: now,
            waiting: BTreeMap::new(),
            rounds: Default::default(),
            in_flight: [0; 2],
            next: 0,
            pace: AdaptiveLimit::new(settings.requests_per_minute, settings.tokens_per_minute, now),
            breaker: Breaker::new(settings.breaker_failures, settings.breaker_pause),
            watched: false,
        }
    }

    /// From now on, this process has such a share of what the account may take.
    pub(super) fn share(&mut self, share: AccountShare) {
        self.concurrent = share.part_of(self.whole);
        self.pace.share(share);
    }

    pub(super) fn place(&mut self, class: Class, tenant: &Tenant) -> QueueTicket {
        self.next += 1;
        QueueTicket { class, round: self.rounds[class as usize].next(tenant), number: self.next }
    }

    pub(super) fn wait(&mut self, place: QueueTicket, waiter: Waiter, now: Instant) {
        self.rounds[place.class as usize].wait(&waiter.tenant, place.round);
        self.waiting.insert(place, waiter);
        if place.class == Class::Chat {
            let wanted = self.in_flight[Class::Chat as usize] + self.waiting()[Class::Chat as usize];
            self.chat_demand = self.chat_demand(now).max(wanted as f64);
            self.chat_demand_at = now;
        }
    }

    pub(super) fn leave(&mut self, place: QueueTicket) {
        self.take(place);
    }

    fn take(&mut self, place: QueueTicket) -> Option<Waiter> {
        let waiter = self.waiting.remove(&place)?;
        self.rounds[place.class as usize].leave(&waiter.tenant);
        Some(waiter)
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
        self.concurrent.saturating_sub(kept).max(self.concurrent.min(1))
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
            let Some(waiter) = self.take(place) else { continue };
            let round = &mut self.rounds[place.class as usize].current;
            *round = place.round.max(*round);
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
            if let Some(waiter) = self.take(place) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_an_account_has_its_part_of_the_places() {
        let now = Instant::now();
        let settings =
            GovernorSettings { concurrent: 3, requests_per_minute: Some(60), ..GovernorSettings::default() };
        let mut queue = Queue::new("test", &settings, now);
        let mut turns = Vec::new();
        for _ in 0..4 {
            let (turn, mine) = oneshot::channel();
            let (place, tenant) = (queue.place(Class::Chat, &Tenant::local()), Tenant::local());
            let until = now + Duration::from_secs(600);
            queue.wait(place, Waiter { tenant, tokens: 0, until, turn }, now);
            turns.push(mine);
        }
        let minutes = |count: u64| now + Duration::from_secs(60 * count);
        queue.share(AccountShare { index: 4, of: 5 });
        queue.advance(minutes(1));
        assert_eq!(queue.in_flight(), 0, "three places are fewer than five processes");
        queue.share(AccountShare { index: 1, of: 2 });
        queue.advance(minutes(2));
        assert_eq!(queue.in_flight(), 1);
        queue.share(AccountShare::WHOLE);
        queue.advance(minutes(3));
        queue.advance(minutes(4));
        assert_eq!(queue.in_flight(), 3, "and all of them when the others have gone");
    }

    /// Who is served in which order, with one place, of tenants that come so.
    fn served(come: &[&str]) -> Vec<String> {
        let now = Instant::now();
        let settings = GovernorSettings { concurrent: 1, ..GovernorSettings::default() };
        let mut queue = Queue::new("test", &settings, now);
        let busy = queue.place(Class::Chat, &Tenant::local());
        let wait = |queue: &mut Queue, place, tenant: &Tenant| {
            let (turn, mine) = oneshot::channel();
            let until = now + Duration::from_secs(600);
            queue.wait(place, Waiter { tenant: tenant.clone(), tokens: 0, until, turn }, now);
            mine
        };
        let mut first = wait(&mut queue, busy, &Tenant::local());
        queue.advance(now);
        let mut served = first.try_recv().unwrap().unwrap();
        let mut waiting: Vec<_> = come
            .iter()
            .map(|name| {
                let tenant: Tenant = name.parse().unwrap();
                let place = queue.place(Class::Chat, &tenant);
                (*name, wait(&mut queue, place, &tenant))
            })
            .collect();
        let mut order = Vec::new();
        while !waiting.is_empty() {
            queue.release(served);
            queue.advance(now);
            let next = waiting.iter_mut().position(|(_, turn)| match turn.try_recv() {
                Ok(admitted) => {
                    served = admitted.unwrap();
                    true
                }
                Err(_) => false,
            });
            order.push(waiting.remove(next.expect("somebody is served")).0.to_owned());
        }
        assert!(queue.rounds.iter().all(|rounds| rounds.last.is_empty()), "nothing is left of them");
        order
    }

    #[test]
    fn tenants_take_turns_however_many_calls_one_has() {
        let many = ["a", "a", "a", "a", "b", "c", "b"];
        assert_eq!(served(&many).join(""), "abcabaa");
        assert_eq!(served(&["a", "a", "a"]).join(""), "aaa");
        let hundred = [vec!["a"; 100], vec!["b"]].concat();
        assert_eq!(served(&hundred).iter().position(|name| name == "b"), Some(1));
    }
}
