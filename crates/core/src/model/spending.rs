//! The port to where it is kept how many tokens each tenant has used today.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use crate::Tenant;

/// A day in UTC, counted from the first of January 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u64);

impl Day {
    const SECONDS: u64 = 24 * 60 * 60;

    /// The day that a moment belongs to.
    pub fn of(moment: SystemTime) -> Self {
        Self(moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / Self::SECONDS))
    }

    /// Its number.
    pub fn number(self) -> u64 {
        self.0
    }

    /// How long it lasts from a moment on.
    pub fn left_at(self, moment: SystemTime) -> Duration {
        let end = UNIX_EPOCH + Duration::from_secs((self.0 + 1) * Self::SECONDS);
        end.duration_since(moment).unwrap_or_default()
    }
}

/// What was spent could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tokens that were used cannot be read or written down: {0}")]
pub struct SpendingError(pub String);

/// Keeps what each tenant has used. It outlives the process, and all processes share it.
#[async_trait]
pub trait Spending: Send + Sync {
    /// How many tokens a tenant has used on a day.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    async fn spent(&self, tenant: &Tenant, day: Day) -> Result<u64, SpendingError>;

    /// Adds to it.
    ///
    /// # Errors
    /// Fails when it cannot be written.
    async fn add(&self, tenant: &Tenant, day: Day, tokens: u64) -> Result<(), SpendingError>;
}
