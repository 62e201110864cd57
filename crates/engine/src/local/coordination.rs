//! One process has everything to itself.

use std::num::NonZeroU32;
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::model::AccountShare;

use super::LocalEngine;
use crate::coordination::Coordination;
use crate::error::Error;

#[async_trait]
impl Coordination for LocalEngine {
    async fn take_lease(&self, _name: &str, _time: Duration) -> Result<bool, Error> {
        Ok(true)
    }

    async fn end_lease(&self, _name: &str) -> Result<(), Error> {
        Ok(())
    }

    async fn admit_request(&self, caller: &str, per_minute: NonZeroU32) -> Result<Option<Duration>, Error> {
        Ok(self.0.allowances.take(caller, per_minute))
    }

    async fn take_share(&self, _account: &str, _time: Duration) -> Result<AccountShare, Error> {
        Ok(AccountShare::WHOLE)
    }

    async fn end_share(&self, _account: &str) -> Result<(), Error> {
        Ok(())
    }
}
