//! Keys that were made while a server runs. Only their hashes are kept.

use std::num::NonZeroU32;

use ibid_core::{Scope, Tenant};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::StoreError;
use crate::run::{encode, millis, now_ms, time};
use crate::types::ApiKey;

const COLUMNS: &str = "name, scope, role, per_minute, created_by, created_ms, expires_ms";

/// Keeps a key; false if its tenant has one of that name.
pub(crate) fn add_api_key(
    connection: &Connection,
    hash: &[u8; 32],
    key: &ApiKey,
) -> Result<bool, StoreError> {
    let sql = format!(
        "INSERT OR IGNORE INTO api_keys (hash, tenant, {COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
    );
    let values = params![
        hash,
        key.scope.tenant().as_str(),
        key.name,
        encode(&key.scope)?,
        key.role.as_str(),
        key.per_minute,
        key.created_by,
        millis(key.created),
        key.expires.map(millis)
    ];
    Ok(connection.prepare_cached(&sql)?.execute(values)? == 1)
}

/// The key that has a hash, of any tenant.
pub(crate) fn find_api_key(connection: &Connection, hash: &[u8; 32]) -> Result<Option<ApiKey>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM api_keys WHERE hash = ?1 AND deleted_ms IS NULL");
    let found = connection.prepare_cached(&sql)?.query_row([hash], read).optional()?;
    found.transpose()
}

/// The keys of the scope's tenant, by name.
pub(crate) fn list_api_keys(connection: &Connection, scope: &Scope) -> Result<Vec<ApiKey>, StoreError> {
    let sql =
        format!("SELECT {COLUMNS} FROM api_keys WHERE tenant = ?1 AND deleted_ms IS NULL ORDER BY name");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([scope.tenant().as_str()], read)?;
    rows.map(|row| row?).collect()
}

/// The tenants that a key was ever made for.
pub(crate) fn api_key_tenants(connection: &Connection) -> Result<Vec<Tenant>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT DISTINCT tenant FROM api_keys ORDER BY tenant")?;
    let tenants = statement.query_map([], |row| row.get::<_, String>(0))?;
    tenants.map(|tenant| tenant?.parse().map_err(StoreError::damaged)).collect()
}

/// Deletes a key of the scope's tenant; false if there was none.
pub(crate) fn delete_api_key(connection: &Connection, scope: &Scope, name: &str) -> Result<bool, StoreError> {
    let sql = "UPDATE api_keys SET deleted_ms = ?3 WHERE tenant = ?1 AND name = ?2 AND deleted_ms IS NULL";
    Ok(connection.prepare_cached(sql)?.execute(params![scope.tenant().as_str(), name, now_ms()])? == 1)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Result<ApiKey, StoreError>> {
    let (scope, role): (String, String) = (row.get(1)?, row.get(2)?);
    let (name, created_by) = (row.get(0)?, row.get(4)?);
    let per_minute: Option<u32> = row.get(3)?;
    let (created, expires) = (time(row.get(5)?), row.get::<_, Option<_>>(6)?.map(time));
    let key = || {
        let scope = serde_json::from_str(&scope).map_err(StoreError::damaged)?;
        let role = role.parse().map_err(StoreError::damaged)?;
        let per_minute = per_minute.and_then(NonZeroU32::new);
        Ok(ApiKey { name, scope, role, per_minute, created_by, created, expires })
    };
    Ok(key())
}
