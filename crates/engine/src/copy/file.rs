//! The side of a file.

use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};

use super::tables::Table;
use super::value::{Row, Value, storable};
use super::{AT_ONCE, FileKind, Side};
use crate::store::{self, Lock, StoreError};

/// An engine's file, which no engine uses meanwhile.
pub(super) struct FileSide {
    connection: Connection,
    kind: FileKind,
    _lock: Lock,
}

impl FileSide {
    pub(super) fn open(path: &Path, kind: FileKind) -> Result<Self, StoreError> {
        let path: PathBuf = path.to_owned();
        let lock = Lock::take(&path)?;
        Ok(Self { connection: store::open_for_writing(&path)?, kind, _lock: lock })
    }
}

impl Side for FileSide {
    async fn threads_after(&mut self, after: i64) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT key FROM threads WHERE key > ?1 ORDER BY key LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let keys = statement.query_map((after, AT_ONCE), |row| row.get(0))?;
        Ok(keys.collect::<Result<_, _>>()?)
    }

    async fn read(&mut self, table: &Table, threads: &[i64]) -> Result<Vec<Row>, StoreError> {
        // Of loads, only their threads are kept in a file of their own.
        if threads.is_empty() && self.kind == FileKind::Loads {
            return Ok(Vec::new());
        }
        let mut statement = self.connection.prepare_cached(&table.file_sql())?;
        let keys = serde_json::to_string(threads).map_err(StoreError::damaged)?;
        let given: &[&str] = if threads.is_empty() { &[] } else { &[&keys] };
        let mut rows = statement.query(params_from_iter(given))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let values = table.columns.iter().enumerate().map(|(column, (name, kind))| {
                Ok(match row.get_ref(column)? {
                    ValueRef::Null => Value::Null,
                    ValueRef::Integer(number) => Value::Int(number),
                    ValueRef::Text(text) => {
                        let text = std::str::from_utf8(text).map_err(StoreError::damaged)?;
                        Value::Text(storable(text.to_owned(), *kind))
                    }
                    ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
                    ValueRef::Real(_) => {
                        return Err(StoreError::Damaged(format!("{name} is no whole number")));
                    }
                })
            });
            found.push(values.collect::<Result<Row, StoreError>>()?);
        }
        Ok(found)
    }

    async fn write(&mut self, table: &Table, rows: Vec<Row>) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(table.file_write)?;
        for row in rows {
            let values = row.into_iter().map(|value| match value {
                Value::Null => rusqlite::types::Value::Null,
                Value::Int(number) => number.into(),
                Value::Text(text) => text.into(),
                Value::Bytes(bytes) => bytes.into(),
            });
            statement.execute(params_from_iter(values))?;
        }
        Ok(())
    }

    async fn begin(&mut self) -> Result<(), StoreError> {
        Ok(self.connection.execute_batch("BEGIN IMMEDIATE")?)
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    async fn is_empty(&mut self) -> Result<bool, StoreError> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM threads) AND NOT EXISTS (SELECT 1 FROM api_keys)";
        Ok(self.connection.query_row(sql, [], |row| row.get(0))?)
    }
}
