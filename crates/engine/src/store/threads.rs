//! Threads and their messages.

use std::collections::BTreeSet;

use ibid_core::{Corpus, Label, Message, RunId, Scope, Tenant, ThreadId};
use rusqlite::types::Value as Bound;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params, params_from_iter};

use super::error::StoreError;
use super::pending_events::fold_all_into_journal;
use super::visibility::{ThreadUse, visible};
use crate::run::{encode, now_ms, object, time};
use crate::types::{MOST_WINDOW_BYTES, MessageWindow, Thread, ThreadMessage, ThreadStatus};

/// How much of the first message becomes the title.
const TITLE_LETTERS: usize = 80;

/// A thread as it is stored.
pub(crate) struct ThreadRow {
    pub(crate) key: i64,
    pub(crate) thread: Thread,
    pub(crate) corpora: Option<String>,
    pub(crate) labels: String,
}

impl ThreadRow {
    /// What a turn in it may see of what its caller may see: no more than the thread could from its beginning.
    pub(crate) fn limit(&self, scope: &Scope) -> Result<Scope, StoreError> {
        let labels: BTreeSet<Label> = serde_json::from_str(&self.labels).map_err(StoreError::damaged)?;
        let mut own = Scope::of(scope.tenant().clone()).holding(labels);
        if let Some(corpora) = &self.corpora {
            own = own.within(serde_json::from_str::<BTreeSet<Corpus>>(corpora).map_err(StoreError::damaged)?);
        }
        Ok(scope.clone().limited_to(&own))
    }
}

pub(super) const COLUMNS: &str =
    "key, id, title, messages, created_ms, updated_ms, metadata, owner, shared, corpora, labels";

/// What a thread is doing: told by the run that it works on, else by its last one.
pub(super) const STATUS: &str = "coalesce(
    (SELECT CASE runs.status WHEN 'waiting' THEN 'waiting' ELSE 'busy' END FROM runs
     WHERE runs.thread = threads.key AND ended_ms IS NULL ORDER BY queue_position LIMIT 1),
    (SELECT CASE runs.status WHEN 'failed' THEN 'failed' ELSE 'idle' END FROM runs
     WHERE runs.thread = threads.key ORDER BY queue_position DESC LIMIT 1),
    'idle')";

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<ThreadRow> {
    let thread = Thread {
        id: ThreadId::from_bytes(row.get(1)?),
        title: row.get(2)?,
        messages: row.get(3)?,
        created: time(row.get(4)?),
        updated: time(row.get(5)?),
        metadata: object(row.get_ref(6)?.as_str()?),
        owner: row.get(7)?,
        shared: row.get(8)?,
        status: ThreadStatus::parse(row.get_ref(11)?.as_str()?).unwrap_or(ThreadStatus::Idle),
    };
    Ok(ThreadRow { key: row.get(0)?, thread, corpora: row.get(9)?, labels: row.get(10)? })
}

/// Finds a thread that the scope may read or change.
pub(crate) fn find_thread(
    connection: &Connection,
    scope: &Scope,
    to: ThreadUse,
    id: ThreadId,
) -> Result<Option<ThreadRow>, StoreError> {
    let (wanted, bound) = visible(scope, to, 2)?;
    let sql = format!("SELECT {COLUMNS}, {STATUS} FROM threads WHERE id = ?1 AND {wanted}");
    let values = std::iter::once(Bound::from(id.as_bytes().to_vec())).chain(bound);
    Ok(connection.prepare_cached(&sql)?.query_row(params_from_iter(values), read).optional()?)
}

/// Whether a thread of any tenant has that name.
pub(crate) fn thread_exists(connection: &Connection, id: ThreadId) -> Result<bool, StoreError> {
    Ok(connection.prepare_cached("SELECT 1 FROM threads WHERE id = ?1")?.exists([id.as_bytes()])?)
}

/// Begins a thread of the scope's caller, which may quote what the scope sees.
pub(crate) fn create_thread(
    connection: &Connection,
    scope: &Scope,
    id: ThreadId,
    title: &str,
    metadata: &str,
) -> Result<i64, StoreError> {
    let sql =
        "INSERT INTO threads (id, tenant, title, created_ms, updated_ms, metadata, owner, corpora, labels)
               VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8)";
    let corpora = scope.corpora().map(encode).transpose()?;
    let (tenant, labels) = (scope.tenant().as_str(), encode(scope.labels())?);
    let values =
        params![id.as_bytes(), tenant, titled(title), now_ms(), metadata, scope.caller(), corpora, labels];
    Ok(connection.prepare_cached(sql)?.insert(values)?)
}

/// The title that a first message gives.
pub(crate) fn titled(text: &str) -> String {
    let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(TITLE_LETTERS).collect()
}

/// Keeps a thread out of lists, and for a while only.
pub(crate) fn set_temporary(connection: &Connection, thread: i64) -> Result<(), StoreError> {
    connection.prepare_cached("UPDATE threads SET temporary = 1 WHERE key = ?1")?.execute([thread])?;
    Ok(())
}

/// Lets others at the tenant read a thread, or no more.
pub(crate) fn set_shared(connection: &Connection, thread: i64, shared: bool) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE threads SET shared = ?2 WHERE key = ?1")?
        .execute(params![thread, shared])?;
    Ok(())
}

/// Replaces what is noted of a thread.
pub(crate) fn set_metadata(
    connection: &Connection,
    thread: i64,
    metadata: &serde_json::Map<String, serde_json::Value>,
) -> Result<(), StoreError> {
    let sql = "UPDATE threads SET metadata = ?2, updated_ms = max(updated_ms, ?3) WHERE key = ?1";
    connection.prepare_cached(sql)?.execute(params![thread, encode(metadata)?, now_ms()])?;
    Ok(())
}

/// Notes that a thread is used now, for the order in which threads are listed; a first message names it.
pub(crate) fn touch_thread(connection: &Connection, thread: i64, title: &str) -> Result<(), StoreError> {
    let sql = "UPDATE threads SET updated_ms = max(updated_ms, ?2), 
               title = CASE title WHEN '' THEN ?3 ELSE title END WHERE key = ?1";
    connection.prepare_cached(sql)?.execute(params![thread, now_ms(), titled(title)])?;
    Ok(())
}

const WINDOW_SQL: &str = "SELECT position, body, (SELECT id FROM runs WHERE runs.key = messages.run)
     FROM messages WHERE thread = ?1 AND position < ?2 ORDER BY position DESC LIMIT ?3";

/// A window of messages, oldest first.
pub(crate) fn read_window(
    connection: &Connection,
    thread: i64,
    window: MessageWindow,
) -> Result<Vec<ThreadMessage>, StoreError> {
    let before = window.before.map_or(i64::MAX, u64::cast_signed);
    let values = [thread, before, limit(window.limit)];
    let mut found = query_messages(connection, WINDOW_SQL, values, MOST_WINDOW_BYTES)?;
    found.reverse();
    Ok(found)
}

/// The messages from one position up to another.
pub(crate) fn read_messages(
    connection: &Connection,
    thread: i64,
    from: i64,
    to: i64,
) -> Result<Vec<Message>, StoreError> {
    let sql = "SELECT position, body, NULL FROM messages
               WHERE thread = ?1 AND position >= ?2 AND position < ?3 ORDER BY position";
    let found = query_messages(connection, sql, [thread, from, to], usize::MAX)?;
    Ok(found.into_iter().map(|said| said.message).collect())
}

fn query_messages(
    connection: &Connection,
    sql: &str,
    values: [i64; 3],
    most_bytes: usize,
) -> Result<Vec<ThreadMessage>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let body = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        bytes += body.len();
        if bytes > most_bytes && !found.is_empty() {
            break;
        }
        let message = serde_json::from_str(body).map_err(StoreError::damaged)?;
        let run: Option<[u8; 16]> = row.get(2)?;
        found.push(ThreadMessage { position: row.get(0)?, run: run.map(RunId::from_bytes), message });
    }
    Ok(found)
}

fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Appends messages, already written as JSON, and returns the positions they got.
pub(crate) fn append_messages(
    connection: &Connection,
    thread: i64,
    run: i64,
    messages: &[String],
) -> Result<std::ops::Range<i64>, StoreError> {
    let sql = "UPDATE threads SET messages = messages + ?2 WHERE key = ?1 RETURNING messages";
    let end: i64 =
        connection.prepare_cached(sql)?.query_row(params![thread, messages.len()], |row| row.get(0))?;
    let start = end - limit(messages.len());
    let sql = "INSERT INTO messages (thread, position, run, body) VALUES (?1, ?2, ?3, ?4)";
    let mut statement = connection.prepare_cached(sql)?;
    for (position, message) in (start..).zip(messages) {
        statement.execute(params![thread, position, run, message])?;
    }
    Ok(start..end)
}

/// Takes back every message from a position on.
pub(crate) fn forget_messages(connection: &Connection, thread: i64, from: i64) -> Result<(), StoreError> {
    let sql = "DELETE FROM messages WHERE thread = ?1 AND position >= ?2";
    connection.prepare_cached(sql)?.execute([thread, from])?;
    connection.prepare_cached("UPDATE threads SET messages = ?2 WHERE key = ?1")?.execute([thread, from])?;
    Ok(())
}

/// Begins a thread with the conversation of another up to a position, and returns its key.
pub(crate) fn copy_thread(
    connection: &Connection,
    scope: &Scope,
    from: i64,
    before: i64,
    to: ThreadId,
) -> Result<i64, StoreError> {
    let mut statement = connection.prepare_cached("SELECT title, metadata FROM threads WHERE key = ?1")?;
    let (title, metadata): (String, String) =
        statement.query_row([from], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let key = create_thread(connection, scope, to, &title, &metadata)?;
    // It may quote what the other could.
    let sql = "UPDATE threads SET (corpora, labels) = (SELECT corpora, labels FROM threads WHERE key = ?1) WHERE key = ?2";
    connection.prepare_cached(sql)?.execute([from, key])?;
    let sql = "INSERT INTO messages (thread, position, run, body)
               SELECT ?3, position, run, body FROM messages WHERE thread = ?1 AND position < ?2";
    let copied = connection.prepare_cached(sql)?.execute([from, before, key])?;
    let sql = "UPDATE threads SET messages = ?2 WHERE key = ?1";
    connection.prepare_cached(sql)?.execute([key, limit(copied)])?;
    Ok(key)
}

/// Deletes a thread with everything in it.
pub(crate) fn delete_thread(connection: &Connection, thread: i64) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM journal WHERE run IN (SELECT key FROM runs WHERE thread = ?1)",
        "DELETE FROM traces WHERE run IN (SELECT key FROM runs WHERE thread = ?1)",
        "DELETE FROM feedback WHERE run IN (SELECT key FROM runs WHERE thread = ?1)",
        "DELETE FROM runs WHERE thread = ?1",
        "DELETE FROM messages WHERE thread = ?1",
        "DELETE FROM threads WHERE key = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([thread])?;
    }
    Ok(())
}

/// Deletes some threads that are temporary, have not been used since a time and do not work; returns how many.
pub(crate) fn drop_temporary_before(
    connection: &Connection,
    ms: i64,
    at_most: usize,
) -> Result<usize, StoreError> {
    drop_idle(connection, "temporary = 1 AND updated_ms < ?1", params![ms, limit(at_most)])
}

/// Deletes some threads of a tenant that have not been used since a time and do not work; returns how many.
pub(crate) fn drop_threads_before(
    connection: &Connection,
    tenant: &Tenant,
    ms: i64,
    at_most: usize,
) -> Result<usize, StoreError> {
    drop_idle(connection, "updated_ms < ?1 AND tenant = ?3", params![ms, limit(at_most), tenant.as_str()])
}

fn drop_idle(connection: &Connection, which: &str, values: &[&dyn ToSql]) -> Result<usize, StoreError> {
    let sql = format!(
        "SELECT key FROM threads WHERE {which}
         AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.thread = threads.key AND ended_ms IS NULL) LIMIT ?2"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let keys = statement.query_map(values, |row| row.get(0))?;
    let keys: Vec<i64> = keys.collect::<Result<_, _>>()?;
    keys.iter().try_for_each(|key| delete_thread(connection, *key))?;
    Ok(keys.len())
}

/// The tenants that have threads.
pub(crate) fn tenants(connection: &Connection) -> Result<Vec<Tenant>, StoreError> {
    // From one to the next in the index, since each may have very many.
    let sql = "SELECT min(tenant) FROM threads WHERE tenant > ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let (mut tenants, mut last) = (Vec::new(), String::new());
    while let Some(next) = statement.query_row([&last], |row| row.get::<_, Option<String>>(0))? {
        tenants.push(next.parse().map_err(StoreError::damaged)?);
        last = next;
    }
    Ok(tenants)
}

/// Deletes everything of a tenant; returns how many threads it had.
pub(crate) fn delete_tenant(connection: &Connection, tenant: &Tenant) -> Result<usize, StoreError> {
    let mut statement = connection.prepare("SELECT key FROM threads WHERE tenant = ?1")?;
    let keys = statement.query_map([tenant.as_str()], |row| row.get(0))?;
    let keys: Vec<i64> = keys.collect::<Result<_, _>>()?;
    fold_all_into_journal(connection)?;
    keys.iter().try_for_each(|key| delete_thread(connection, *key))?;
    for table in ["spending", "turn_facts", "dataset_items", "api_keys"] {
        connection.execute(&format!("DELETE FROM {table} WHERE tenant = ?1"), [tenant.as_str()])?;
    }
    Ok(keys.len())
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::super::file::open_for_writing;
    use super::*;

    /// How many instructions SQLite needs for a window of 20 messages of a thread of `count`.
    fn instructions(connection: &Connection, count: usize) -> i32 {
        let scope = Scope::of(Tenant::local());
        let thread = create_thread(connection, &scope, ThreadId::new(), "long", "{}").unwrap();
        let message = serde_json::to_string(&Message::user("x".repeat(500))).unwrap();
        append_messages(connection, thread, 0, &vec![message; count]).unwrap();
        let window = MessageWindow { before: None, limit: 20 };
        assert_eq!(read_window(connection, thread, window).unwrap().len(), 20);
        let statement = connection.prepare_cached(WINDOW_SQL).unwrap();
        statement.reset_status(StatementStatus::VmStep);
        drop(statement);
        read_window(connection, thread, window).unwrap();
        let statement = connection.prepare_cached(WINDOW_SQL).unwrap();
        assert_eq!(statement.get_status(StatementStatus::FullscanStep), 0);
        statement.get_status(StatementStatus::VmStep)
    }

    #[test]
    fn opening_a_long_thread_reads_only_the_window() {
        let folder = tempfile::tempdir().unwrap();
        let connection = open_for_writing(&folder.path().join("engine.db")).unwrap();
        let short = instructions(&connection, 40);
        let long = instructions(&connection, 1000);
        assert!(short > 20, "the measurement must see the reading, it saw {short}");
        assert_eq!(long, short, "a longer thread must not cost more");
    }
}
