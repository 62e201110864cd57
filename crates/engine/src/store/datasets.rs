//! Questions that were picked to compare configurations with. Each may quote what whoever picked it saw.

use ibid_core::Scope;
use rusqlite::types::Value as Bound;
use rusqlite::{Connection, params, params_from_iter};
use serde_json::Value;

use super::error::StoreError;
use super::visibility::covered;
use crate::run::encode;

/// Keeps a question of a dataset; one that has its id is replaced, where it stands.
pub(crate) fn put_item(
    connection: &Connection,
    scope: &Scope,
    dataset: &str,
    id: &str,
    content: &Value,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO dataset_items (tenant, dataset, id, content, corpora, labels) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
               ON CONFLICT (tenant, dataset, id) DO UPDATE SET
                   content = excluded.content, corpora = excluded.corpora, labels = excluded.labels";
    let corpora = scope.corpora().map(encode).transpose()?;
    let (tenant, labels) = (scope.tenant().as_str(), encode(scope.labels())?);
    connection.prepare_cached(sql)?.execute(params![
        tenant,
        dataset,
        id,
        encode(content)?,
        corpora,
        labels
    ])?;
    Ok(())
}

/// Deletes a question of a dataset, or all of them that may be seen; says how many there were.
pub(crate) fn delete_items(
    connection: &Connection,
    scope: &Scope,
    dataset: &str,
    id: Option<&str>,
) -> Result<usize, StoreError> {
    let (seen, bound) = covered(scope, "dataset_items", 4)?;
    let sql = format!(
        "DELETE FROM dataset_items WHERE tenant = ?1 AND dataset = ?2 AND (?3 IS NULL OR id = ?3) AND {seen}"
    );
    let id = id.map(str::to_owned);
    let values = [tenant(scope), dataset.to_owned().into(), id.into()].into_iter().chain(bound);
    Ok(connection.prepare_cached(&sql)?.execute(params_from_iter(values))?)
}

/// The questions of a dataset that may be seen, in the order in which they were picked.
pub(crate) fn read_items(
    connection: &Connection,
    scope: &Scope,
    dataset: &str,
) -> Result<Vec<Value>, StoreError> {
    let (seen, bound) = covered(scope, "dataset_items", 3)?;
    let sql = format!(
        "SELECT content FROM dataset_items WHERE tenant = ?1 AND dataset = ?2 AND {seen} ORDER BY key"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let values = [tenant(scope), dataset.to_owned().into()].into_iter().chain(bound);
    let texts = statement.query_map(params_from_iter(values), |row| row.get(0))?;
    let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
    texts.iter().map(|text| serde_json::from_str(text).map_err(StoreError::damaged)).collect()
}

/// The datasets by name, with how many questions of each may be seen.
pub(crate) fn list_datasets(
    connection: &Connection,
    scope: &Scope,
) -> Result<Vec<(String, u64)>, StoreError> {
    let (seen, bound) = covered(scope, "dataset_items", 2)?;
    let sql = format!(
        "SELECT dataset, count(*) FROM dataset_items WHERE tenant = ?1 AND {seen} GROUP BY dataset ORDER BY dataset"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let values = std::iter::once(tenant(scope)).chain(bound);
    let rows = statement.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn tenant(scope: &Scope) -> Bound {
    scope.tenant().as_str().to_owned().into()
}
