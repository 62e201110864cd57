//! What processes that share an engine do one at a time, or share.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ibid_core::model::AccountShare;

use crate::error::Error;

/// What processes that share an engine do one at a time, or share.
#[async_trait]
pub trait Coordination: Send + Sync {
    /// Takes the lease of a name for a time, unless another process has it. The one that has it makes it longer by that.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn take_lease(&self, name: &str, time: Duration) -> Result<bool, Error>;

    /// Gives a lease back before its time.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn end_lease(&self, name: &str) -> Result<(), Error>;

    /// Takes one request of a caller's allowance, which fills up again evenly. If there is none left, says how long to wait.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn admit_request(&self, caller: &str, per_minute: NonZeroU32) -> Result<Option<Duration>, Error>;

    /// Counts this process among those that use an account at a provider, for a time; says which of them it is. The numbers go
    /// round, so that where there is less than one of something for each, each has it in turn.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn take_share(&self, account: &str, time: Duration) -> Result<AccountShare, Error>;

    /// Gives its share back before its time.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn end_share(&self, account: &str) -> Result<(), Error>;
}

/// In what time an allowance fills up.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
/// With more callers than this, those whose allowance is full are forgotten.
const MANY: usize = 10_000;

/// The allowances of callers, where one process serves all of them: for each the time at which it will be full.
#[derive(Default)]
pub(crate) struct Allowances(Mutex<HashMap<String, Instant>>);

impl Allowances {
    pub(crate) fn take(&self, caller: &str, per_minute: NonZeroU32) -> Option<Duration> {
        let (now, each) = (Instant::now(), MINUTE / per_minute.get());
        let mut full = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if full.len() > MANY {
            full.retain(|_, full| *full > now);
        }
        let after = full.get(caller).copied().unwrap_or(now).max(now) + each;
        let over = after.duration_since(now).saturating_sub(MINUTE);
        if !over.is_zero() {
            return Some(over);
        }
        full.insert(caller.to_owned(), after);
        None
    }
}
