//! Keys that were made while a server runs, datasets, and what tenants have used of models.

use std::num::NonZeroU32;

use async_trait::async_trait;
use ibid_core::model::{Day, Spending, SpendingError};
use ibid_core::{Scope, Tenant};
use serde_json::Value;
use tokio_postgres::Row;

use super::PostgresEngine;
use super::bound::bind;
use super::threads::storable;
use super::visibility::Condition;
use crate::run::{encode, millis, time};
use crate::store::StoreError;
use crate::types::ApiKey;

const COLUMNS: &str = "name, scope, role, per_minute, created_by, created_ms, expires_ms";

/// How many days of spending are kept, for whoever wants to look back.
const KEPT_DAYS: i64 = 400;

impl PostgresEngine {
    /// Keeps a key; false if its tenant has one of that name.
    pub(super) async fn insert_key(&self, hash: [u8; 32], key: &ApiKey) -> Result<bool, StoreError> {
        let sql = format!(
            "INSERT INTO api_keys (hash, tenant, {COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT DO NOTHING RETURNING 1"
        );
        let values = bind![
            hash.to_vec(),
            key.scope.tenant(),
            key.name.as_str(),
            encode(&key.scope)?,
            key.role.as_str(),
            key.per_minute.map(|most| i64::from(most.get())),
            key.created_by.as_str(),
            millis(key.created),
            key.expires.map(millis)
        ];
        Ok(!self.database().once(&sql, values).await?.is_empty())
    }

    pub(super) async fn find_key(&self, hash: [u8; 32]) -> Result<Option<ApiKey>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM api_keys WHERE hash = $1 AND deleted_ms IS NULL");
        self.database().first(&sql, bind![hash.to_vec()]).await?.as_ref().map(read_key).transpose()
    }

    pub(super) async fn list_keys(&self, scope: &Scope) -> Result<Vec<ApiKey>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM api_keys WHERE tenant = $1 AND deleted_ms IS NULL ORDER BY name");
        self.database().query(&sql, bind![scope.tenant()]).await?.iter().map(read_key).collect()
    }

    pub(super) async fn key_tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        let rows =
            self.database().query("SELECT DISTINCT tenant FROM api_keys ORDER BY tenant", bind![]).await?;
        rows.iter().map(|row| row.try_get::<_, &str>(0)?.parse().map_err(StoreError::damaged)).collect()
    }

    pub(super) async fn delete_key(&self, scope: &Scope, name: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE api_keys SET deleted_ms = now_ms()
                   WHERE tenant = $1 AND name = $2 AND deleted_ms IS NULL RETURNING 1";
        Ok(!self.database().once(sql, bind![scope.tenant(), name]).await?.is_empty())
    }

    /// Keeps a question of a dataset; one that has its id is replaced, where it stands.
    pub(super) async fn put_item(
        &self,
        scope: &Scope,
        dataset: &str,
        id: &str,
        content: &Value,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO dataset_items (tenant, dataset, id, content, corpora, labels)
                   VALUES ($1, $2, $3, $4, $5::jsonb, $6::jsonb)
                   ON CONFLICT (tenant, dataset, id) DO UPDATE SET
                       content = excluded.content, corpora = excluded.corpora, labels = excluded.labels";
        let corpora = scope.corpora().map(encode).transpose()?;
        let (id, content, labels) = (storable(id), encode(content)?, encode(scope.labels())?);
        self.database().query(sql, bind![scope.tenant(), dataset, id, content, corpora, labels]).await?;
        Ok(())
    }

    /// Deletes a question of a dataset, or all of them that may be seen; says how many there were.
    pub(super) async fn delete_items(
        &self,
        scope: &Scope,
        dataset: &str,
        id: Option<&str>,
    ) -> Result<usize, StoreError> {
        let values = bind![scope.tenant(), dataset, id].to_vec();
        let mut wanted = Condition::new("tenant = $1 AND dataset = $2 AND ($3 IS NULL OR id = $3)", values);
        wanted.covered(scope, "dataset_items")?;
        let sql = format!("DELETE FROM dataset_items WHERE {} RETURNING 1", wanted.sql);
        Ok(self.database().once(&sql, &wanted.values).await?.len())
    }

    /// The questions of a dataset that may be seen, in the order in which they were picked.
    pub(super) async fn read_items(&self, scope: &Scope, dataset: &str) -> Result<Vec<Value>, StoreError> {
        let mut wanted =
            Condition::new("tenant = $1 AND dataset = $2", bind![scope.tenant(), dataset].to_vec());
        wanted.covered(scope, "dataset_items")?;
        let sql = format!("SELECT content FROM dataset_items WHERE {} ORDER BY key", wanted.sql);
        let rows = self.database().query(&sql, &wanted.values).await?;
        rows.iter().map(|row| serde_json::from_str(row.try_get(0)?).map_err(StoreError::damaged)).collect()
    }

    /// The datasets by name, with how many questions of each may be seen.
    pub(super) async fn list_datasets(&self, scope: &Scope) -> Result<Vec<(String, u64)>, StoreError> {
        let mut wanted = Condition::new("tenant = $1", bind![scope.tenant()].to_vec());
        wanted.covered(scope, "dataset_items")?;
        let sql = format!(
            "SELECT dataset, count(*) FROM dataset_items WHERE {} GROUP BY dataset ORDER BY dataset",
            wanted.sql
        );
        let rows = self.database().query(&sql, &wanted.values).await?;
        let read = |row: &Row| Ok((row.try_get(0)?, row.try_get::<_, i64>(1)?.unsigned_abs()));
        rows.iter().map(read).collect()
    }
}

fn read_key(row: &Row) -> Result<ApiKey, StoreError> {
    let per_minute: Option<i64> = row.try_get(3)?;
    Ok(ApiKey {
        name: row.try_get(0)?,
        scope: serde_json::from_str(row.try_get(1)?).map_err(StoreError::damaged)?,
        role: row.try_get::<_, &str>(2)?.parse().map_err(StoreError::damaged)?,
        per_minute: per_minute.and_then(|most| NonZeroU32::new(u32::try_from(most).ok()?)),
        created_by: row.try_get(4)?,
        created: time(row.try_get(5)?),
        expires: row.try_get::<_, Option<_>>(6)?.map(time),
    })
}

#[async_trait]
impl Spending for PostgresEngine {
    async fn spent(&self, tenant: &Tenant, day: Day) -> Result<u64, SpendingError> {
        let sql = "SELECT tokens FROM spending WHERE tenant = $1 AND day = $2";
        let found = self.database().first(sql, bind![tenant, number(day.number())]).await.map_err(failed)?;
        let tokens: Option<i64> =
            found.map(|row| row.try_get(0)).transpose().map_err(|error| failed(error.into()))?;
        Ok(tokens.unwrap_or_default().unsigned_abs())
    }

    async fn add(&self, tenant: &Tenant, day: Day, tokens: u64) -> Result<(), SpendingError> {
        let sql = "WITH old AS (DELETE FROM spending WHERE tenant = $1 AND day < $2 - $4)
                   INSERT INTO spending (tenant, day, tokens) VALUES ($1, $2, $3)
                   ON CONFLICT (tenant, day) DO UPDATE SET tokens = spending.tokens + excluded.tokens";
        let values = bind![tenant, number(day.number()), number(tokens), KEPT_DAYS];
        self.database().once(sql, values).await.map_err(failed)?;
        Ok(())
    }
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn failed(error: StoreError) -> SpendingError {
    SpendingError(error.to_string())
}
