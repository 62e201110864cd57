//! One governor over all calls to one provider account, whoever makes them: it decides who goes next and when,
//! tries again what may pass, and counts.
//!
//! `pace` is how fast, `breaker` whether at all, `queue` who next, `budget` how much a tenant may use. Those are
//! pure or nearly so; this file is where they meet the clock.

mod adaptive_limit;
mod breaker;
mod budget;
mod counters;
mod permit;
mod queue;
mod settings;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ibid_core::model::{AccountShare, CallProgress, Caller, Class, ModelError, ProgressListener, Usage};
use tokio::sync::{Notify, oneshot};

pub use budget::{Budget, MemorySpending};
pub use counters::{Stats, WaitedStats};
pub use settings::GovernorSettings;

use counters::{Counters, count};
use permit::Slot;
pub(crate) use permit::{CallMeasure, Permit};
use queue::{Admitted, Queue, QueueTicket, Waiter};

/// Why an attempt did not succeed, and what that means for the next.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The provider has no room, and perhaps said when it will.
    Limited(Option<Duration>),
    /// It may pass. The provider perhaps said when.
    Passing(ModelError, Option<Duration>),
    /// It will not pass.
    Final(ModelError),
}

impl Failure {
    /// What it is to a caller for whom there is no further attempt.
    pub(crate) fn into_error(self, provider: &str) -> ModelError {
        match self {
            Self::Limited(retry_after) => ModelError::Busy { provider: provider.to_owned(), retry_after },
            Self::Passing(error, _) | Self::Final(error) => error,
        }
    }
}

/// What a call is expected to take, and how long it may wait.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    /// On whose behalf.
    pub(crate) caller: &'a Caller,
    /// How many tokens it will read and write, about.
    pub(crate) tokens: u64,
    /// Whether another model stands ready, so that there is no point in a long wait for this one.
    pub(crate) has_fallback: bool,
    /// Who is told that it is made again.
    pub(crate) progress: Option<&'a ProgressListener>,
}

impl<'a> Ask<'a> {
    /// A call that reads a text of so many letters, and has nobody to fall back on.
    pub(crate) fn reading(caller: &'a Caller, letters: usize) -> Self {
        const LETTERS_PER_TOKEN: usize = 3;
        Self { caller, tokens: (letters / LETTERS_PER_TOKEN) as u64, has_fallback: false, progress: None }
    }
}

/// The governor of one provider account.
pub struct Governor {
    provider: String,
    settings: GovernorSettings,
    queue: Mutex<Queue>,
    changed: Notify,
    counters: Counters,
    budget: Option<Arc<Budget>>,
}

impl Governor {
    /// A governor for a provider's account, with a budget if there is one.
    pub fn new(provider: &str, settings: GovernorSettings, budget: Option<Arc<Budget>>) -> Arc<Self> {
        let queue = Mutex::new(Queue::new(provider, &settings, Instant::now()));
        let counters = Counters::default();
        Arc::new(Self {
            provider: provider.to_owned(),
            settings,
            queue,
            changed: Notify::new(),
            counters,
            budget,
        })
    }

    /// Whose account it is.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// From now on, this process has such a share of what the account may take: other processes have the rest.
    pub fn share(&self, share: AccountShare) {
        self.advance(|queue| queue.share(share));
    }

    /// What it has seen, and how it stands.
    pub fn stats(&self) -> Stats {
        let queue = self.queue();
        let (waiting, in_flight, pace) = (queue.waiting(), queue.in_flight(), queue.pace.learned());
        let is_open = queue.breaker.is_open();
        drop(queue);
        Stats { is_open, ..self.counters.stats(&self.provider, waiting, in_flight, pace) }
    }

    /// Makes a call when it is its turn, and again if it fails in a way that may pass. What comes back holds the
    /// call's place until it is dropped.
    pub(crate) async fn call<T, F: Future<Output = Result<T, Failure>>>(
        self: &Arc<Self>,
        ask: Ask<'_>,
        attempt: impl Fn() -> F,
    ) -> Result<(T, Permit), ModelError> {
        let made = async {
            let reservation = match &self.budget {
                Some(budget) => Some(budget.reserve(&ask.caller.tenant, ask.tokens).await?),
                None => None,
            };
            let (value, slot) = self.attempts(&ask, attempt).await?;
            let (thought, usage) = (ask.tokens, Usage::default());
            Ok((value, Permit { slot, reservation, thought, usage, complete: false, measure: None }))
        };
        made.await.inspect_err(|error| {
            count(&self.counters.given_up);
            if matches!(error, ModelError::Budget { .. }) {
                count(&self.counters.over_budget);
            }
        })
    }

    async fn attempts<T, F: Future<Output = Result<T, Failure>>>(
        self: &Arc<Self>,
        ask: &Ask<'_>,
        attempt: impl Fn() -> F,
    ) -> Result<(T, Slot), ModelError> {
        let class = ask.caller.class;
        let began = Instant::now();
        let deadline = began + self.wait(class);
        // Where another model stands ready, no attempt begins after the patience for this one is over.
        let last_start =
            if ask.has_fallback { deadline.min(began + self.settings.patience) } else { deadline };
        let place = self.queue().place(class, &ask.caller.tenant);
        let mut tried = 0;
        loop {
            let mut slot = self.turn(place, ask, last_start).await?;
            tried += 1;
            if tried > 1 {
                count(&self.counters.retried);
            }
            let failure = match tokio::time::timeout_at(deadline.into(), attempt()).await {
                Ok(Ok(value)) => {
                    count(&self.counters.answered);
                    slot.admitted.probe = false;
                    self.advance(|queue| queue.breaker.succeeded());
                    return Ok((value, slot));
                }
                Ok(Err(failure)) => failure,
                // The call's own time is over, which says nothing about the provider.
                Err(_) => return Err(self.too_late(class)),
            };
            // Written down before the place is given to the next.
            match failure {
                Failure::Limited(after) => self.refused(&slot, after),
                Failure::Final(error) => {
                    self.advance(|queue| queue.breaker.succeeded());
                    return Err(error);
                }
                Failure::Passing(error, after) => {
                    match error {
                        // What a model got wrong says nothing about its provider.
                        ModelError::Failed { status: 400, .. } => {
                            self.advance(|queue| queue.breaker.succeeded());
                        }
                        _ => self.failed(&error.to_string()),
                    }
                    drop(slot);
                    let delay = self.settings.delay_after(tried).max(after.unwrap_or_default());
                    if tried >= self.settings.attempts || Instant::now() + delay >= last_start {
                        return Err(error);
                    }
                    if let Some(listener) = ask.progress {
                        listener.tell(CallProgress::Retrying { reason: error.to_string() });
                    }
                    tokio::time::sleep(delay).await;
                }
            }
        }
    }

    /// The provider has no room. The pause that everyone keeps from now on is this call's wait, too.
    fn refused(&self, slot: &Slot, after: Option<Duration>) {
        count(&self.counters.refused);
        // A little chance, so that several processes on one account do not come back together.
        let after = after.map(|after| after.mul_f64(rand::random_range(1.0..=1.05)));
        self.advance(|queue| {
            queue.pace.refused(slot.admitted.at, after, Instant::now());
            queue.breaker.succeeded();
        });
    }

    /// The provider failed in a way that may pass.
    fn failed(&self, why: &str) {
        count(&self.counters.failed);
        if self.queue().breaker.failed(why, Instant::now()) {
            count(&self.counters.opened);
            tracing::warn!(provider = self.provider, why, "it keeps failing and is left alone for a while");
        }
    }

    /// Waits until it is this call's turn.
    async fn turn(
        self: &Arc<Self>,
        place: QueueTicket,
        ask: &Ask<'_>,
        until: Instant,
    ) -> Result<Slot, ModelError> {
        let asked = Instant::now();
        let (turn, mine) = oneshot::channel();
        let mut waiting = Waiting { governor: self, place, turn: mine };
        let (tenant, tokens) = (ask.caller.tenant.clone(), ask.tokens);
        self.advance(|queue| queue.wait(place, Waiter { tenant, tokens, until, turn }, asked));
        self.watch_the_clock();
        let admitted = match tokio::time::timeout_at(until.into(), &mut waiting.turn).await {
            Ok(Ok(admitted)) => admitted?,
            Ok(Err(_)) | Err(_) => {
                return Err(ModelError::Busy { provider: self.provider.clone(), retry_after: None });
            }
        };
        self.counters.waited(place.class, asked.elapsed());
        count(&self.counters.sent);
        Ok(Slot { governor: self.clone(), admitted })
    }

    /// Changes the queue and lets everyone go who may go then.
    fn advance(&self, change: impl FnOnce(&mut Queue)) {
        let mut queue = self.queue();
        change(&mut queue);
        queue.advance(Instant::now());
        if !queue.is_empty() {
            self.changed.notify_one();
        }
    }

    /// While anyone waits, a task lets them go when the clock says so.
    fn watch_the_clock(self: &Arc<Self>) {
        let mut queue = self.queue();
        if !queue.is_empty() && !queue.watched {
            queue.watched = true;
            tokio::spawn(watch(self.clone()));
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, class: Class) -> Duration {
        match class {
            Class::Chat => self.settings.chat_wait,
            Class::Ingestion => self.settings.ingestion_wait,
        }
    }

    fn too_late(&self, class: Class) -> ModelError {
        let waiting_for = "to begin its answer, all attempts included";
        ModelError::TimeLimit { provider: self.provider.clone(), waiting_for, limit: self.wait(class) }
    }
}

async fn watch(governor: Arc<Governor>) {
    loop {
        let again = {
            let mut queue = governor.queue();
            let again = queue.advance(Instant::now());
            if queue.is_empty() {
                queue.watched = false;
                return;
            }
            again
        };
        let changed = governor.changed.notified();
        match again {
            Some(at) => drop(tokio::time::timeout_at(at.into(), changed).await),
            None => changed.await,
        }
    }
}

/// A call in the queue. Whoever goes away leaves the queue, and gives back the turn that came in the meantime.
struct Waiting<'a> {
    governor: &'a Arc<Governor>,
    place: QueueTicket,
    turn: oneshot::Receiver<Result<Admitted, ModelError>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.governor.advance(|queue| {
            queue.leave(self.place);
            if let Ok(Ok(admitted)) = self.turn.try_recv() {
                queue.release(admitted);
                if admitted.probe {
                    queue.breaker.probe_lost();
                }
            }
        });
    }
}
