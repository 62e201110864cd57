//! What tenants have used of models.

use ibid_core::Tenant;
use ibid_core::model::Day;
use rusqlite::{Connection, OptionalExtension, params};

use super::error::StoreError;

/// How many days are kept, for whoever wants to look back.
const KEPT_DAYS: u64 = 400;

/// How many tokens a tenant has used on a day.
pub(crate) fn spent(connection: &Connection, tenant: &Tenant, day: Day) -> Result<u64, StoreError> {
    let sql = "SELECT tokens FROM spending WHERE tenant = ?1 AND day = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let tokens = statement.query_row(params![tenant.as_str(), day.number()], |row| row.get(0)).optional()?;
    Ok(tokens.unwrap_or(0))
}

/// Adds to it. The first use of a day drops what is too old.
pub(crate) fn spend(
    connection: &Connection,
    tenant: &Tenant,
    day: Day,
    tokens: u64,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO spending (tenant, day, tokens) VALUES (?1, ?2, ?3)
               ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens RETURNING tokens";
    let mut statement = connection.prepare_cached(sql)?;
    let total: u64 = statement.query_row(params![tenant.as_str(), day.number(), tokens], |row| row.get(0))?;
    if total == tokens {
        let oldest = day.number().saturating_sub(KEPT_DAYS);
        let mut old = connection.prepare_cached("DELETE FROM spending WHERE tenant = ?1 AND day < ?2")?;
        old.execute(params![tenant.as_str(), oldest])?;
    }
    Ok(())
}
