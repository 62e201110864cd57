//! The engine's file keeps what tenants have used of models, beside the turns that used it.

use async_trait::async_trait;
use ibid_core::Tenant;
use ibid_core::model::{Day, Spending, SpendingError};

use super::LocalEngine;
use crate::store::{self, Batch, StoreError};

#[async_trait]
impl Spending for LocalEngine {
    async fn spent(&self, tenant: &Tenant, day: Day) -> Result<u64, SpendingError> {
        let tenant = tenant.clone();
        self.0
            .readers
            .read(move |connection| store::spent(connection, &tenant, day))
            .await
            .map_err(spending_error)
    }

    async fn add(&self, tenant: &Tenant, day: Day, tokens: u64) -> Result<(), SpendingError> {
        let tenant = tenant.clone();
        let work = move |connection: &_| store::spend(connection, &tenant, day, tokens);
        self.writer().map_err(spending_error)?.write(Batch::default(), work).await.map_err(spending_error)
    }
}

fn spending_error(error: StoreError) -> SpendingError {
    SpendingError(error.to_string())
}
