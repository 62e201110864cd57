//! The tables, brought up to date beside processes of the version before, and their partitions.

use std::time::Duration;

use tokio_postgres::Row;

use super::bound::bind;
use super::database::{Connection, Database};
use super::fault::PostgresError;
use crate::store::StoreError;

/// Migrations in their order, each with the oldest version of the schema whose processes may go on working beside it. Never edit
/// one that was released: add another.
const MIGRATIONS: [(&str, i64); 1] = [(include_str!("../../migrations-postgres/0001_engine.sql"), 1)];

/// So many days ahead have partitions.
const DAYS_AHEAD: i64 = 7;

const DAY_MS: i64 = 86_400_000;

/// The tables that are kept by day.
const BY_DAY: [&str; 2] = ["journal", "traces"];

/// Any number that no other program is likely to take for a lock.
const MIGRATION_LOCK: i64 = 0x6962_6964_0000_0001;
const MAINTENANCE_LOCK: i64 = 0x6962_6964_0000_0002;

/// Brings the schema up to date. Processes that begin at once wait for each other.
pub(super) async fn migrate(database: &Database) -> Result<(), StoreError> {
    let mut connection = database.connection().await?;
    connection.begin().await?;
    connection.query("SELECT pg_advisory_xact_lock($1)", bind![MIGRATION_LOCK]).await?;
    let known = MIGRATIONS.len() as i64;
    let sql = "CREATE TABLE IF NOT EXISTS ibid_schema (version bigint NOT NULL, oldest bigint NOT NULL)";
    connection.batch(sql).await?;
    let (version, oldest) = stored_version(&connection).await?;
    if oldest > known {
        return Err(PostgresError::TooNew { found: version, known }.into());
    }
    for (number, (migration, oldest)) in (1_i64..).zip(MIGRATIONS).skip(usize::try_from(version).unwrap_or(0))
    {
        connection.batch(migration).await?;
        connection.batch("DELETE FROM ibid_schema").await?;
        connection.query("INSERT INTO ibid_schema VALUES ($1, $2)", bind![number, oldest]).await?;
    }
    make_partitions(&connection).await?;
    connection.commit().await
}

/// Makes the schema in an empty database; else it must be the one that this version knows.
pub(super) async fn expect_current(database: &Database) -> Result<(), StoreError> {
    let connection = database.connection().await?;
    let there = connection.query("SELECT to_regclass('ibid_schema') IS NOT NULL", bind![]).await?;
    if !there.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(false) {
        drop(connection);
        return migrate(database).await;
    }
    let (found, oldest) = stored_version(&connection).await?;
    let known = MIGRATIONS.len() as i64;
    match found {
        _ if oldest > known => Err(PostgresError::TooNew { found, known }.into()),
        _ if found < known => Err(PostgresError::TooOld { found, known }.into()),
        _ => Ok(()),
    }
}

/// The version of the schema, and the oldest one whose processes may go on working with it.
async fn stored_version(connection: &Connection) -> Result<(i64, i64), StoreError> {
    let found = connection.query("SELECT version, oldest FROM ibid_schema", bind![]).await?;
    Ok(match found.first() {
        Some(row) => (row.try_get(0)?, row.try_get(1)?),
        None => (0, 0),
    })
}

/// Makes the partitions of the days to come. One is made apart and attached then, which keeps nobody waiting.
pub(super) async fn make_partitions(connection: &Connection) -> Result<(), StoreError> {
    make_partitions_since(connection, 1).await
}

/// The same, and those of so many days back.
pub(super) async fn make_partitions_since(connection: &Connection, back: i64) -> Result<(), StoreError> {
    let today = today(connection).await?;
    for table in BY_DAY {
        let present = partitions(connection, table).await?;
        for day in (today - back..=today + DAYS_AHEAD).filter(|day| !present.contains(day)) {
            let sql = format!(
                "CREATE TABLE {table}_{day} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
                 ALTER TABLE {table} ATTACH PARTITION {table}_{day} FOR VALUES FROM ({day}) TO ({})",
                day + 1
            );
            connection.batch(&sql).await?;
        }
    }
    Ok(())
}

/// How many days a time takes, begun ones too.
pub(super) fn days(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX) / DAY_MS + 2
}

/// The day as the database tells it, counted from 1970.
pub(super) async fn today(connection: &Connection) -> Result<i64, StoreError> {
    let rows = connection.query("SELECT day_of(now_ms())", bind![]).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
}

/// The days that a table has partitions of.
pub(super) async fn partitions(connection: &Connection, table: &str) -> Result<Vec<i64>, StoreError> {
    let sql = "SELECT substring(child.relname FROM '_(\\d+)$')::bigint FROM pg_inherits
               JOIN pg_class child ON child.oid = inhrelid WHERE inhparent = $1::regclass ORDER BY 1";
    let rows = connection.query(sql, bind![table]).await?;
    rows.iter().map(|row: &Row| Ok(row.try_get(0)?)).collect()
}

/// Whether this process looks after the tables now: one does at a time, until its transaction ends.
pub(super) async fn is_maintainer(connection: &Connection) -> Result<bool, StoreError> {
    let rows = connection.query("SELECT pg_try_advisory_xact_lock($1)", bind![MAINTENANCE_LOCK]).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
}
