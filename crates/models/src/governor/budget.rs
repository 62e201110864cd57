//! How many tokens a tenant may use in a day, over all providers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use ibid_core::Tenant;
use ibid_core::model::{Day, ModelError, Spending, SpendingError};

/// A budget of tokens for each tenant and day. What is under way counts, so that many calls at once do not
/// overrun it.
pub struct Budget {
    limit: u64,
    spending: Arc<dyn Spending>,
    reserved: Mutex<HashMap<Tenant, u64>>,
}

impl Budget {
    /// So many tokens for each tenant and day, kept there.
    pub fn new(tokens_per_day: u64, spending: Arc<dyn Spending>) -> Arc<Self> {
        Arc::new(Self { limit: tokens_per_day, spending, reserved: Mutex::default() })
    }

    /// Sets tokens aside for a call, or says that there are none left.
    pub(super) async fn reserve(
        self: &Arc<Self>,
        tenant: &Tenant,
        tokens: u64,
    ) -> Result<Reservation, ModelError> {
        let now = SystemTime::now();
        let day = Day::of(now);
        // What is settled while this is read may be missing in it, but then it was held before.
        let held_before = self.reserved().get(tenant).copied().unwrap_or(0);
        let spent = self.spending.spent(tenant, day).await?;
        let mut reserved = self.reserved();
        let held = reserved.entry(tenant.clone()).or_default();
        let wanted = spent.saturating_add(held_before.max(*held)).saturating_add(tokens);
        if wanted > self.limit {
            let resets_in = day.left_at(now);
            return Err(ModelError::Budget { tenant: tenant.clone(), limit: self.limit, resets_in });
        }
        *held += tokens;
        drop(reserved);
        Ok(Reservation { budget: self.clone(), tenant: tenant.clone(), day, tokens })
    }

    fn reserved(&self) -> MutexGuard<'_, HashMap<Tenant, u64>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tokens that are set aside for a call that is under way.
pub(super) struct Reservation {
    budget: Arc<Budget>,
    tenant: Tenant,
    day: Day,
    tokens: u64,
}

impl Reservation {
    /// Writes down what the call took in the end, and then gives back what was set aside.
    pub(super) fn settle(self, used: u64) {
        // Without a runtime the process is ending, and nobody is left to write.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = self.budget.spending.add(&self.tenant, self.day, used).await {
                tracing::error!(tenant = %self.tenant, %error, "tokens that were used are not counted");
            }
        });
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut reserved = self.budget.reserved();
        if let Some(held) = reserved.get_mut(&self.tenant) {
            *held = held.saturating_sub(self.tokens);
            if *held == 0 {
                reserved.remove(&self.tenant);
            }
        }
    }
}

/// Keeps what was used in this process only: for tests, and for commands that end at once.
#[derive(Default)]
pub struct MemorySpending(Mutex<HashMap<(Tenant, Day), u64>>);

impl MemorySpending {
    fn days(&self) -> MutexGuard<'_, HashMap<(Tenant, Day), u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Spending for MemorySpending {
    async fn spent(&self, tenant: &Tenant, day: Day) -> Result<u64, SpendingError> {
        Ok(self.days().get(&(tenant.clone(), day)).copied().unwrap_or(0))
    }

    async fn add(&self, tenant: &Tenant, day: Day, tokens: u64) -> Result<(), SpendingError> {
        let mut days = self.days();
        days.retain(|(_, kept), _| *kept >= day);
        *days.entry((tenant.clone(), day)).or_default() += tokens;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_under_way_count_until_they_are_settled() {
        let spending = Arc::new(MemorySpending::default());
        let budget = Budget::new(100, spending.clone());
        let (acme, other): (Tenant, Tenant) = ("acme".parse().unwrap(), "other".parse().unwrap());
        let first = budget.reserve(&acme, 60).await.unwrap();
        assert!(matches!(budget.reserve(&acme, 60).await, Err(ModelError::Budget { limit: 100, .. })));
        assert!(budget.reserve(&other, 60).await.is_ok(), "one tenant's budget is not another's");
        first.settle(30);
        let day = Day::of(SystemTime::now());
        while spending.spent(&acme, day).await.unwrap() < 30 {
            tokio::task::yield_now().await;
        }
        tokio::task::yield_now().await;
        assert!(budget.reserve(&acme, 60).await.is_ok());
        assert!(budget.reserve(&acme, 80).await.is_err(), "what was used is used");
    }
}
