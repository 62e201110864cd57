//! How often each caller may ask. Every caller has an allowance that fills up again evenly; it is kept as the time at
//! which it will be full.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::http::Problem;

const MINUTE: Duration = Duration::from_secs(60);
/// With more callers than this, those whose allowance is full are forgotten.
const MANY: usize = 10_000;

/// When each caller's allowance will be full.
#[derive(Default)]
pub(super) struct RateLimiter(Mutex<HashMap<Arc<str>, Instant>>);

impl RateLimiter {
    /// Takes one request of a caller's allowance.
    pub(super) fn take(&self, caller: &Arc<str>, per_minute: Option<NonZeroU32>) -> Result<(), Problem> {
        let Some(per_minute) = per_minute else { return Ok(()) };
        let (now, each) = (Instant::now(), MINUTE / per_minute.get());
        let mut full = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if full.len() > MANY {
            full.retain(|_, full| *full > now);
        }
        let before = full.get(caller).copied().unwrap_or(now).max(now);
        let after = before + each;
        let over = after.duration_since(now).saturating_sub(MINUTE);
        if !over.is_zero() {
            let detail = format!("{caller} may make {per_minute} requests in a minute; wait a little");
            return Err(Problem::too_many(detail, over));
        }
        full.insert(caller.clone(), after);
        Ok(())
    }
}
