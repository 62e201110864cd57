//! The reference: one connection that writes the rows of a six-step turn in the same tables and the
//! same number of commits, with nothing around it.

use std::path::Path;

use rusqlite::{Connection, params};

const SCHEMA: &str = include_str!("../../crates/engine/migrations/0001_threads_and_runs.sql");

/// Bare SQLite with the engine's schema and settings.
pub(crate) struct Bare {
    connection: Connection,
    next: u64,
}

impl Bare {
    /// Makes the file at `path`, with one thread in it.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        connection.set_prepared_statement_cache_capacity(64);
        let sql = "INSERT INTO threads (id, tenant, title, created_ms, updated_ms) VALUES (zeroblob(16), 'local', 'go', 0, 0)";
        connection.execute(sql, [])?;
        Ok(Self { connection, next: 1 })
    }

    /// Writes some turns: one commit to take the turn, one for each step, the last one with the end.
    pub(crate) fn turns(&mut self, count: usize) -> anyhow::Result<()> {
        for _ in 0..count {
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> anyhow::Result<()> {
        let number = self.next;
        self.next += 1;
        let mut id = [0u8; 16];
        id[8..].copy_from_slice(&number.to_be_bytes());
        let transaction = self.connection.transaction()?;
        let sql = "INSERT INTO runs (id, thread, graph, version, status, place, options, created_ms)
                   VALUES (?1, 1, 'six', '1-0123456789abcdef', 'running', ?2, '{}', 0)";
        let run = transaction.prepare_cached(sql)?.insert(params![id, number])?;
        message(&transaction, run, number * 2, r#"{"role":"user","text":"go"}"#)?;
        transaction.commit()?;
        for step in 1..=5u32 {
            let transaction = self.connection.transaction()?;
            let record = Some((step, "three", "null"));
            journal(
                &transaction,
                run,
                step * 2,
                record,
                r#"[{"step":3,"attempt":1,"kind":"started","node":"three"},{"step":3,"attempt":1,"kind":"finished"}]"#,
            )?;
            transaction.commit()?;
        }
        let transaction = self.connection.transaction()?;
        message(&transaction, run, number * 2 + 1, r#"{"role":"assistant","text":"done"}"#)?;
        transaction
            .prepare_cached("UPDATE runs SET status = 'done', ended_ms = 1 WHERE key = ?1")?
            .execute([run])?;
        journal(
            &transaction,
            run,
            13,
            Some((6, "three", "null")),
            r#"[{"step":3,"attempt":1,"kind":"started","node":"three"},{"step":3,"attempt":1,"kind":"finished"},{"step":0,"attempt":0,"kind":"ended","status":"done"}]"#,
        )?;
        Ok(transaction.commit()?)
    }
}

fn message(connection: &Connection, run: i64, position: u64, body: &str) -> anyhow::Result<()> {
    let sql = "UPDATE threads SET messages = messages + 1, updated_ms = ?1 WHERE key = 1";
    connection.prepare_cached(sql)?.execute([position])?;
    let sql = "INSERT INTO messages (thread, position, run, body) VALUES (1, ?1, ?2, ?3)";
    connection.prepare_cached(sql)?.execute(params![position, run, body])?;
    Ok(())
}

fn journal(
    connection: &Connection,
    run: i64,
    last: u32,
    record: Option<(u32, &str, &str)>,
    events: &str,
) -> anyhow::Result<()> {
    let sql = "INSERT INTO journal (run, last, step, node, change, events) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (step, node, change) =
        record.map_or((None, None, None), |(step, node, change)| (Some(step), Some(node), Some(change)));
    connection.prepare_cached(sql)?.execute(params![run, last, step, node, change, events])?;
    Ok(())
}
