//! What processes do one at a time, or share, as rows that all of them see.

use std::num::NonZeroU32;
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::model::AccountShare;

use super::PostgresEngine;
use super::bound::bind;
use crate::coordination::{Coordination, MINUTE};
use crate::error::Error;
use crate::store::StoreError;

const TAKE: &str = "
    INSERT INTO leases (name, holder, until) VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3::bigint / 1000.0))
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
        WHERE leases.holder = excluded.holder OR leases.until < clock_timestamp()
    RETURNING true";

/// An allowance is kept as the time at which it will be full: $2 milliseconds later with each request, $3 ahead at most.
const ADMIT: &str = "
    INSERT INTO allowances (caller, full_ms) VALUES ($1, now_ms() + $2)
    ON CONFLICT (caller) DO UPDATE SET full_ms = greatest(allowances.full_ms, now_ms()) + $2
        WHERE greatest(allowances.full_ms, now_ms()) + $2 <= now_ms() + $3
    RETURNING true";

/// Joins the users of an account $1 as $2 for $3 milliseconds; how many others there are, how many of them come before, and how often
/// the numbers have gone round.
const JOIN: &str = "
    WITH joined AS (
        INSERT INTO account_users (account, process, until_ms) VALUES ($1, $2, now_ms() + $3)
        ON CONFLICT (account, process) DO UPDATE SET until_ms = excluded.until_ms)
    SELECT count(*), count(*) FILTER (WHERE process < $2), now_ms() / $4 FROM account_users
    WHERE account = $1 AND process <> $2 AND until_ms > now_ms()";
/// How long a process keeps its number.
const ROUND: Duration = Duration::from_secs(10);

#[async_trait]
impl Coordination for PostgresEngine {
    async fn take_lease(&self, name: &str, time: Duration) -> Result<bool, Error> {
        let rows = self.database().query(TAKE, bind![name, self.worker_id(), millis(time)]).await?;
        Ok(!rows.is_empty())
    }

    async fn end_lease(&self, name: &str) -> Result<(), Error> {
        let sql = "DELETE FROM leases WHERE name = $1 AND holder = $2";
        self.database().query(sql, bind![name, self.worker_id()]).await?;
        Ok(())
    }

    async fn admit_request(&self, caller: &str, per_minute: NonZeroU32) -> Result<Option<Duration>, Error> {
        let each = millis(MINUTE / per_minute.get());
        let admitted = self.database().once(ADMIT, bind![caller, each, millis(MINUTE)]).await?;
        if !admitted.is_empty() {
            return Ok(None);
        }
        let sql = "SELECT full_ms + $2 - $3 - now_ms() FROM allowances WHERE caller = $1";
        let found = self.database().once(sql, bind![caller, each, millis(MINUTE)]).await?;
        let wait: Option<i64> =
            found.first().map(|row| row.try_get(0)).transpose().map_err(StoreError::from)?;
        // It has filled up a little since.
        Ok(Some(Duration::from_millis(wait.unwrap_or_default().max(1).unsigned_abs())))
    }

    async fn take_share(&self, account: &str, time: Duration) -> Result<AccountShare, Error> {
        let values = bind![account, self.worker_id(), millis(time), millis(ROUND)];
        let found = self.database().query(JOIN, values).await?;
        let row = found.first().ok_or(StoreError::Gone)?;
        let number = |column: usize| row.try_get::<_, i64>(column).map_err(StoreError::from);
        let (others, before, round) = (number(0)?, number(1)?, number(2)?);
        let index = (before + round).rem_euclid(others + 1);
        let count = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(AccountShare { index: count(index), of: count(others + 1) })
    }

    async fn end_share(&self, account: &str) -> Result<(), Error> {
        let sql = "DELETE FROM account_users WHERE account = $1 AND process = $2";
        self.database().query(sql, bind![account, self.worker_id()]).await?;
        Ok(())
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
