//! Looking after the tables, by one process at a time: partitions of the days to come, journals that are packed and dropped by
//! day, threads that were kept long enough.

use std::time::{Duration, SystemTime};

use ibid_core::Tenant;
use tokio_postgres::Row;

use super::PostgresEngine;
use super::bound::bind;
use super::database::Connection;
use super::schema::{days, is_maintainer, make_partitions, partitions, today};
use crate::run::millis;
use crate::run::packing::{PackedRow, PackedStep, pack};
use crate::store::StoreError;

/// How long a temporary thread is kept after it was last used.
const TEMPORARY: Duration = Duration::from_secs(600);
/// How many runs or threads are looked after at once.
const AT_ONCE: i64 = 50;

impl PostgresEngine {
    /// Looks after the tables once in a while, until the engine is closed.
    pub(super) async fn run_retention(self) {
        let pause =
            (self.settings().runs.retention / 24).clamp(Duration::from_secs(1), Duration::from_secs(600));
        loop {
            match self.maintain().await {
                Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "the tables could not be looked after"
                    );
                }
                Ok(()) => {}
            }
            self.forget_unheard();
            tokio::time::sleep(pause).await;
        }
    }

    /// Looks after the tables, unless another process does just now.
    pub(super) async fn maintain(&self) -> Result<(), StoreError> {
        let mut connection = self.database().connection().await?;
        connection.begin().await?;
        if !is_maintainer(&connection).await? {
            return Ok(());
        }
        // The lock is held by a transaction that does nothing else, for as long as this takes.
        connection.batch("SET LOCAL idle_in_transaction_session_timeout = '10min'").await?;
        let runs = &self.settings().runs;
        let mut other = self.database().connection().await?;
        other.begin().await?;
        make_partitions(&other).await?;
        other.commit().await?;
        self.pack_older_than(runs.retention).await?;
        self.drop_partitions(&mut other, "journal", runs.retention).await?;
        self.drop_partitions(&mut other, "traces", runs.trace_retention).await?;
        self.database().query("DELETE FROM allowances WHERE full_ms < now_ms()", bind![]).await?;
        self.database().query("DELETE FROM account_users WHERE until_ms < now_ms()", bind![]).await?;
        self.drop_idle("temporary AND updated_ms < $1 AND $2 <> ''", TEMPORARY, None).await?;
        for (tenant, age) in self.kept_for().await? {
            self.drop_idle("updated_ms < $1 AND tenant = $2 AND NOT is_queue", age, Some(&tenant)).await?;
        }
        connection.commit().await
    }

    /// How long the threads of each tenant are kept, where they are not for good.
    async fn kept_for(&self) -> Result<Vec<(Tenant, Duration)>, StoreError> {
        let (general, single) =
            (self.settings().runs.thread_retention, &self.settings().runs.tenant_retention);
        let mut kept: Vec<(Tenant, Duration)> =
            single.iter().map(|(tenant, age)| (tenant.clone(), *age)).collect();
        let Some(age) = general else { return Ok(kept) };
        // From one to the next in the index, since each may have very many.
        let sql = "WITH RECURSIVE tenants (tenant) AS (
                       (SELECT tenant FROM threads WHERE NOT is_queue ORDER BY tenant LIMIT 1)
                       UNION ALL
                       SELECT (SELECT threads.tenant FROM threads WHERE NOT is_queue AND threads.tenant > tenants.tenant
                               ORDER BY 1 LIMIT 1)
                       FROM tenants WHERE tenants.tenant IS NOT NULL)
                   SELECT tenant FROM tenants WHERE tenant IS NOT NULL";
        for row in self.database().query(sql, bind![]).await? {
            let tenant: Tenant = row.try_get::<_, &str>(0)?.parse().map_err(StoreError::damaged)?;
            if !single.contains_key(&tenant) {
                kept.push((tenant, age));
            }
        }
        Ok(kept)
    }

    /// Deletes threads that have not been used for a time and do not work.
    async fn drop_idle(&self, which: &str, age: Duration, tenant: Option<&Tenant>) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT key FROM threads WHERE {which}
             AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.thread = threads.key AND ended_ms IS NULL) LIMIT $3"
        );
        let tenant = tenant.map_or("any", Tenant::as_str);
        loop {
            let rows = self.database().query(&sql, bind![before(age), tenant, AT_ONCE]).await?;
            let keys: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
            if keys.is_empty() {
                return Ok(());
            }
            self.delete_threads(keys).await?;
        }
    }

    /// Packs the journals of turns that ended some time ago, if traces are kept for longer. The journals themselves go with their
    /// day.
    async fn pack_older_than(&self, age: Duration) -> Result<(), StoreError> {
        let keep_traces = self.settings().runs.trace_retention > age;
        let sql = "SELECT key, journal_day, ended_ms, request IS NULL AND status <> 'rolled_back' FROM runs
                   WHERE ended_ms IS NOT NULL AND kept = 1 AND ended_ms < $1 LIMIT $2";
        loop {
            let ended = self.database().query(sql, bind![before(age), AT_ONCE]).await?;
            if ended.is_empty() {
                return Ok(());
            }
            for row in &ended {
                let (key, day, ended_ms): (i64, i64, i64) =
                    (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
                let packed = if keep_traces && row.try_get(3)? { self.packed(key, day).await? } else { None };
                self.keep_trace(key, ended_ms, packed).await?;
            }
        }
    }

    async fn packed(&self, run: i64, day: i64) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT last, step, node, state_update, events FROM journal WHERE run = $1 AND day = $2 ORDER BY last";
        let read = |row: &Row| {
            let step = match row.try_get::<_, Option<i64>>(1)? {
                Some(number) => Some(PackedStep {
                    number: u32::try_from(number).map_err(StoreError::damaged)?,
                    node: row.try_get(2)?,
                    update: row.try_get(3)?,
                }),
                None => None,
            };
            Ok(PackedRow { last: row.try_get(0)?, step, events: row.try_get(4)? })
        };
        let rows = self.database().query(sql, bind![run, day]).await?;
        let rows = rows.iter().map(read).collect::<Result<Vec<_>, StoreError>>()?;
        // Compressing takes a while, in which no turn should wait.
        tokio::task::spawn_blocking(move || pack(rows)).await.map_err(|_| StoreError::Closed)?
    }

    async fn keep_trace(&self, run: i64, ended_ms: i64, packed: Option<Vec<u8>>) -> Result<(), StoreError> {
        let Some(packed) = packed else {
            self.database().query("UPDATE runs SET kept = 0 WHERE key = $1 AND kept = 1", bind![run]).await?;
            return Ok(());
        };
        let sql = "WITH noted AS (UPDATE runs SET kept = 2 WHERE key = $1 AND kept = 1 RETURNING key)
                   INSERT INTO traces (day, run, packed) SELECT day_of($2), key, $3 FROM noted ON CONFLICT DO NOTHING";
        self.database().query(sql, bind![run, ended_ms, packed]).await?;
        Ok(())
    }

    /// Drops the days of a table that nobody needs any more. Runs of such a day that have not ended move to today first.
    async fn drop_partitions(
        &self,
        connection: &mut Connection,
        table: &str,
        age: Duration,
    ) -> Result<(), StoreError> {
        let oldest = today(connection).await? - days(age);
        for day in partitions(connection, table).await?.into_iter().filter(|day| *day < oldest) {
            connection.begin().await?;
            connection.batch("SET LOCAL lock_timeout = '2s'").await?;
            if table == "journal" {
                move_unfinished(connection, day).await?;
            } else {
                let sql = "UPDATE runs SET kept = 0 WHERE kept = 2 AND key IN (SELECT run FROM traces WHERE day = $1)";
                connection.query(sql, bind![day]).await?;
            }
            connection.batch(&format!("DROP TABLE {table}_{day}")).await?;
            connection.commit().await?;
            tracing::info!(table, day, "a day was dropped");
        }
        Ok(())
    }
}

async fn move_unfinished(connection: &Connection, day: i64) -> Result<(), StoreError> {
    let sql = "WITH moved AS (
                   UPDATE runs SET journal_day = day_of(now_ms())
                   WHERE journal_day = $1 AND (ended_ms IS NULL OR kept = 1) RETURNING key)
               UPDATE journal SET day = day_of(now_ms()) FROM moved WHERE journal.day = $1 AND journal.run = moved.key";
    connection.query(sql, bind![day]).await.map(drop)
}

fn before(age: Duration) -> i64 {
    millis(SystemTime::now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH))
}
