//! The place of a call that is under way. To drop it is to give the place to the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ibid_core::Tenant;
use ibid_core::metric::{self, ModelCall};
use ibid_core::model::{TokenPrices, Usage};

use super::Governor;
use super::budget::Reservation;
use super::counters::count;
use super::queue::Admitted;

/// One place among the requests under way.
pub(super) struct Slot {
    pub(super) governor: Arc<Governor>,
    pub(super) admitted: Admitted,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.governor.advance(|queue| {
            queue.release(self.admitted);
            if self.admitted.probe {
                queue.breaker.probe_lost();
            }
        });
    }
}

/// The place of a call whose answer has begun, and the account of what it takes.
pub(crate) struct Permit {
    pub(super) slot: Slot,
    pub(super) reservation: Option<Reservation>,
    /// How many tokens it was thought to take.
    pub(super) thought: u64,
    /// What it has taken so far.
    pub(crate) usage: Usage,
    /// Whether the answer is complete.
    pub(crate) complete: bool,
    /// What is measured of it, if it is a call of a chat model.
    pub(crate) measure: Option<CallMeasure>,
}

/// What is measured of a call of a chat model whose answer has begun.
pub(crate) struct CallMeasure {
    pub(crate) model: String,
    pub(crate) tenant: Tenant,
    /// What its tokens cost, if that is known.
    pub(crate) prices: Option<TokenPrices>,
    /// How long it took to the first token.
    pub(crate) first_token: Duration,
    /// When it began to write, if that can be told from its end.
    pub(crate) begun: Option<Instant>,
    pub(crate) broken: bool,
}

impl CallMeasure {
    fn record(&self, usage: Usage, complete: bool) {
        let outcome = match (self.broken, complete) {
            (true, _) => "failed",
            (false, true) => "done",
            (false, false) => "stopped",
        };
        let cost = |prices: TokenPrices| prices.cost(usage.input_tokens, usage.output_tokens);
        metric::model_called(&ModelCall {
            model: &self.model,
            tenant: &self.tenant,
            outcome,
            usage,
            dollars: self.prices.map(cost),
            first_token: Some(self.first_token),
            writing: self.begun.map(|begun| begun.elapsed()).unwrap_or_default(),
        });
    }
}

impl Permit {
    /// The whole answer is there, and took so many tokens to read.
    pub(crate) fn done(mut self, input_tokens: u64, estimated: bool) {
        self.usage = Usage { input_tokens, estimated, ..Usage::default() };
        self.complete = true;
    }

    /// The connection broke in the middle of the answer.
    pub(crate) fn broke(&mut self, why: &str) {
        self.complete = true;
        if let Some(measure) = &mut self.measure {
            measure.broken = true;
        }
        self.slot.governor.failed(why);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let governor = &self.slot.governor;
        governor.counters.used(&self.usage);
        if let Some(measure) = &self.measure {
            measure.record(self.usage, self.complete);
        }
        governor.queue().pace.corrected(self.thought, self.usage.total());
        if !self.complete {
            count(&governor.counters.stopped);
        }
        if let Some(reservation) = self.reservation.take() {
            reservation.settle(self.usage.total());
        }
    }
}
