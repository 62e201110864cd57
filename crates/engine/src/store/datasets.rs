//! Questions that were picked to compare configurations with.

use ibid_core::Scope;
use rusqlite::{Connection, params};
use serde_json::Value;

use super::error::StoreError;
use super::rows::encode;

/// Keeps a question of a dataset; one that has its id is replaced, where it stands.
pub(crate) fn put_item(
    connection: &Connection,
    scope: &Scope,
    dataset: &str,
    id: &str,
    content: &Value,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO dataset_items (tenant, dataset, id, content) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (tenant, dataset, id) DO UPDATE SET content = excluded.content";
    let values = params![scope.tenant().as_str(), dataset, id, encode(content)?];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// Deletes a question of a dataset, or all of them; says how many there were.
pub(crate) fn delete_items(
    connection: &Connection,
    scope: &Scope,
    dataset: &str,
    id: Option<&str>,
) -> Result<usize, StoreError> {
    let sql = "DELETE FROM dataset_items WHERE tenant = ?1 AND dataset = ?2 AND (?3 IS NULL OR id = ?3)";
    Ok(connection.prepare_cached(sql)?.execute(params![scope.tenant().as_str(), dataset, id])?)
}

/// The questions of a dataset, in the order in which they were picked.
pub(crate) fn read_items(
    connection: &Connection,
    scope: &Scope,
    dataset: &str,
) -> Result<Vec<Value>, StoreError> {
    let sql = "SELECT content FROM dataset_items WHERE tenant = ?1 AND dataset = ?2 ORDER BY key";
    let mut statement = connection.prepare_cached(sql)?;
    let texts = statement.query_map(params![scope.tenant().as_str(), dataset], |row| row.get(0))?;
    let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
    texts.iter().map(|text| serde_json::from_str(text).map_err(StoreError::damaged)).collect()
}

/// The datasets by name, with how many questions each has.
pub(crate) fn list_datasets(
    connection: &Connection,
    scope: &Scope,
) -> Result<Vec<(String, u64)>, StoreError> {
    let sql =
        "SELECT dataset, count(*) FROM dataset_items WHERE tenant = ?1 GROUP BY dataset ORDER BY dataset";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([scope.tenant().as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
