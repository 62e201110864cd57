//! The side of a database.

use uuid::Uuid;

use super::tables::Table;
use super::value::{Kind, Row, Value};
use super::{AT_ONCE, FileKind, Side};
use crate::postgres::{Bound, Connection, PostgresEngine};
use crate::store::StoreError;

/// A database, over one connection.
pub(super) struct DatabaseSide {
    connection: Connection,
    engine: PostgresEngine,
    kind: FileKind,
}

impl DatabaseSide {
    pub(super) async fn of(engine: &PostgresEngine, kind: FileKind) -> Result<Self, StoreError> {
        Ok(Self { connection: engine.connection().await?, engine: engine.clone(), kind })
    }

    fn is_queue(&self) -> bool {
        self.kind == FileKind::Loads
    }
}

impl Side for DatabaseSide {
    async fn threads_after(&mut self, after: i64) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT key FROM threads WHERE key > $1 AND is_queue = $2 ORDER BY key LIMIT $3";
        let values = [after.into(), self.is_queue().into(), (AT_ONCE as i64).into()];
        let rows = self.connection.query(sql, &values).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    async fn read(&mut self, table: &Table, threads: &[i64]) -> Result<Vec<Row>, StoreError> {
        if threads.is_empty() && self.is_queue() {
            return Ok(Vec::new());
        }
        let keys = [Bound::from(threads.to_vec())];
        let given = if threads.is_empty() { &[][..] } else { &keys[..] };
        let rows = self.connection.query(table.database_read, given).await?;
        let read = |row: &tokio_postgres::Row| {
            let values = table.columns.iter().enumerate().map(|(column, (_, kind))| {
                Ok(match kind {
                    Kind::Int => row.try_get::<_, Option<i64>>(column)?.map_or(Value::Null, Value::Int),
                    Kind::Text | Kind::Json => {
                        row.try_get::<_, Option<String>>(column)?.map_or(Value::Null, Value::Text)
                    }
                    Kind::Id => {
                        let id: Option<Uuid> = row.try_get(column)?;
                        id.map_or(Value::Null, |id| Value::Bytes(id.as_bytes().to_vec()))
                    }
                    Kind::Bytes => {
                        row.try_get::<_, Option<Vec<u8>>>(column)?.map_or(Value::Null, Value::Bytes)
                    }
                })
            });
            values.collect::<Result<Row, StoreError>>()
        };
        rows.iter().map(read).collect()
    }

    async fn write(&mut self, table: &Table, rows: Vec<Row>) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut columns: Vec<Vec<Value>> = table.columns.iter().map(|_| Vec::new()).collect();
        for row in rows {
            for (column, value) in columns.iter_mut().zip(row) {
                column.push(value);
            }
        }
        let kinds = table.columns.iter().map(|(_, kind)| kind);
        let bound: Vec<Bound> =
            columns.into_iter().zip(kinds).map(|(values, kind)| array(values, *kind)).collect();
        let parameters: Vec<String> = table
            .columns
            .iter()
            .enumerate()
            .map(|(column, (_, kind))| format!("${}::{}[]", column + 1, type_of(*kind)))
            .collect();
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let sql = format!(
            "WITH new AS (SELECT * FROM unnest({}) WITH ORDINALITY AS new ({}, number)) {}",
            parameters.join(", "),
            names.join(", "),
            table.database_write.replace("{is_queue}", if self.is_queue() { "true" } else { "false" })
        );
        self.connection.query(&sql, &bound).await?;
        Ok(())
    }

    async fn begin(&mut self) -> Result<(), StoreError> {
        self.connection.begin().await
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        self.connection.commit().await
    }

    async fn is_empty(&mut self) -> Result<bool, StoreError> {
        // Traces are kept by the day on which their turns ended, which may be some time ago.
        self.engine.make_partitions_back(self.engine.trace_days()).await?;
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM threads WHERE is_queue = $1) AND ($1 OR NOT EXISTS (SELECT 1 FROM api_keys))";
        let rows = self.connection.query(sql, &[self.is_queue().into()]).await?;
        Ok(rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
    }
}

const fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "bigint",
        Kind::Text | Kind::Json => "text",
        Kind::Id => "uuid",
        Kind::Bytes => "bytea",
    }
}

/// The values of a column, of which each is of the column's kind or none.
fn array(values: Vec<Value>, kind: Kind) -> Bound {
    match kind {
        Kind::Int => {
            let number = |value| if let Value::Int(number) = value { Some(number) } else { None };
            Bound::Ints(values.into_iter().map(number).collect())
        }
        Kind::Text | Kind::Json => {
            let text = |value| if let Value::Text(text) = value { Some(text) } else { None };
            Bound::Texts(values.into_iter().map(text).collect())
        }
        Kind::Id => {
            let id = |value| match value {
                Value::Bytes(bytes) => Uuid::from_slice(&bytes).ok(),
                _ => None,
            };
            Bound::Ids(values.into_iter().map(id).collect())
        }
        Kind::Bytes => {
            let bytes = |value| if let Value::Bytes(bytes) = value { Some(bytes) } else { None };
            Bound::Blobs(values.into_iter().map(bytes).collect())
        }
    }
}
