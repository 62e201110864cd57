//! Threads and their messages: begin, note, add, copy, delete, read.

use std::ops::Range;

use ibid_core::trace::TraceParent;
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId};
use serde_json::{Map, Value};
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresEngine;
use super::bound::{Bound, bind};
use super::database::{Connection, Database};
use super::rows::{find_thread, own_thread, run_id};
use crate::error::Error;
use crate::run::{Stopping, check_length, check_metadata, encode, encode_all};
use crate::store::{StoreError, ThreadRow, ThreadUse, titled};
use crate::types::{Lifetime, MOST_WINDOW_BYTES, MessageWindow, Thread, ThreadMessage, ThreadUpdate};

/// Text as Postgres can keep it, which has no place for a zero byte.
pub(super) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// An object as Postgres can search in it, likewise.
fn searchable(object: &Map<String, Value>) -> Result<String, StoreError> {
    Ok(encode(object)?.replace("\\u0000", "\\ufffd"))
}

const BEGIN: &str = "
    INSERT INTO threads (id, tenant, title, created_ms, updated_ms, metadata, owner, corpora, labels, temporary)
    VALUES ($1, $2, $3, now_ms(), now_ms(), $4::jsonb, $5, $6::jsonb, $7::jsonb, $8)
    ON CONFLICT (id) DO NOTHING RETURNING key";

/// Messages join a thread without a turn: they belong to a run that has ended as it began.
const ADD: &str = "
    WITH thread AS (
        UPDATE threads SET messages = messages + cardinality($2::text[]), updated_ms = greatest(updated_ms, now_ms()),
            title = CASE title WHEN '' THEN $3 ELSE title END
        WHERE key = $1 RETURNING key, tenant, messages),
    run AS (
        INSERT INTO runs (id, thread, tenant, graph, version, status, queue_position, options, metadata, scope, stream_modes,
            traceparent, created_ms, ended_ms, journal_day, history_from, history_to, input_to)
        SELECT $4, key, tenant, '', '', 'done',
            (SELECT coalesce(max(queue_position), 0) + 1 FROM runs WHERE runs.thread = thread.key), '{}', '{}', $5, '[]',
            $6, now_ms(), now_ms(), day_of(now_ms()), messages - cardinality($2::text[]), messages - cardinality($2::text[]), messages
        FROM thread RETURNING key, thread, history_to)
    INSERT INTO messages (thread, position, run, body)
    SELECT run.thread, run.history_to + said.number - 1, run.key, said.body
    FROM run, unnest($2::text[]) WITH ORDINALITY AS said (body, number)";

/// A thread with the conversation of another, up to a position; it may quote what that one could.
const COPY: &str = "
    WITH source AS (SELECT key, title, metadata, corpora, labels FROM threads WHERE key = $1),
    copied AS (SELECT count(*) AS messages FROM messages WHERE thread = $1 AND position < $2),
    thread AS (
        INSERT INTO threads (id, tenant, title, messages, created_ms, updated_ms, metadata, owner, corpora, labels)
        SELECT $3, $4, title, copied.messages, now_ms(), now_ms(), metadata, $5, corpora, labels FROM source, copied
        RETURNING key, tenant, messages),
    said AS (
        INSERT INTO messages (thread, position, run, body)
        SELECT thread.key, position, run, body FROM messages, thread WHERE messages.thread = $1 AND position < $2)
    INSERT INTO runs (id, thread, tenant, graph, version, status, queue_position, options, metadata, scope, stream_modes,
        traceparent, created_ms, ended_ms, journal_day, input_to)
    SELECT $6, key, tenant, '', '', 'done', 1, '{}', '{}', $7, '[]', $8, now_ms(), now_ms(), day_of(now_ms()), messages
    FROM thread WHERE messages > 0 AND $6 IS NOT NULL";

/// Deletes threads with everything in them; says which workers had runs of them.
const DELETE: &str = "
    WITH gone AS (DELETE FROM runs WHERE thread = ANY($1::bigint[]) RETURNING key, id, owner, ended_ms, journal_day),
    journals AS (DELETE FROM journal USING gone WHERE journal.run = gone.key AND journal.day = gone.journal_day),
    packed AS (DELETE FROM traces USING gone WHERE traces.run = gone.key AND traces.day = day_of(gone.ended_ms)),
    rated AS (DELETE FROM feedback USING gone WHERE feedback.run = gone.key),
    said AS (DELETE FROM messages WHERE thread = ANY($1::bigint[])),
    threads AS (DELETE FROM threads WHERE key = ANY($1::bigint[]))
    SELECT id, owner FROM gone WHERE ended_ms IS NULL";

impl PostgresEngine {
    pub(super) async fn begin(
        &self,
        scope: &Scope,
        thread: ThreadId,
        metadata: &Map<String, Value>,
        lifetime: Lifetime,
    ) -> Result<(Thread, bool), Error> {
        let metadata = searchable(metadata)?;
        check_metadata(metadata.len())?;
        let values = new_thread(scope, thread, "", &metadata, lifetime)?;
        let begun = self.database().insist(|| async {
            let connection = self.database().connection().await?;
            let is_new = !connection.query(BEGIN, &values).await?.is_empty();
            Ok((find_thread(&connection, scope, ThreadUse::Read, thread).await?, is_new))
        });
        match begun.await? {
            (Some(row), is_new) => Ok((row.thread, is_new)),
            (None, _) => Err(Error::UnknownThread(thread)),
        }
    }

    pub(super) async fn update(
        &self,
        scope: &Scope,
        thread: ThreadId,
        update: ThreadUpdate,
    ) -> Result<Thread, Error> {
        let written = self.database().insist(|| async {
            let mut connection = self.database().connection().await?;
            connection.begin().await?;
            let lock = "SELECT key FROM threads WHERE id = $1 FOR NO KEY UPDATE";
            connection.query(lock, bind![thread]).await?;
            let mut row = match own_thread(&connection, scope, thread).await? {
                Ok(row) => row,
                Err(error) => return Ok(Err(error)),
            };
            row.thread.metadata.extend(update.metadata.clone());
            let metadata = searchable(&row.thread.metadata)?;
            if let Err(error) = check_metadata(metadata.len()) {
                return Ok(Err(error));
            }
            let sql = "UPDATE threads SET metadata = $2::jsonb, shared = $3, updated_ms = greatest(updated_ms, now_ms())
                       WHERE key = $1";
            let shared = update.shared.unwrap_or(row.thread.shared);
            connection.query(sql, bind![row.key, metadata, shared]).await?;
            let row = find_thread(&connection, scope, ThreadUse::Read, thread).await?.ok_or(StoreError::Gone)?;
            connection.commit().await?;
            Ok(Ok(row.thread))
        });
        written.await?
    }

    pub(super) async fn add(
        &self,
        scope: &Scope,
        thread: ThreadId,
        messages: &[Message],
    ) -> Result<RunId, Error> {
        let Some(first) = messages.first() else { return Err(Error::NoMessage) };
        check_length(messages)?;
        let (title, messages, run) = (storable(&titled(&first.text)), encode_all(messages)?, RunId::new());
        let added = self.database().insist(|| async {
            let mut connection = self.database().connection().await?;
            connection.begin().await?;
            connection.query("SELECT key FROM threads WHERE id = $1 FOR UPDATE", bind![thread]).await?;
            let row = match own_thread(&connection, scope, thread).await? {
                Ok(row) => row,
                Err(error) => return Ok(Err(error)),
            };
            let sql = "SELECT id, id = $2 FROM runs WHERE thread = $1 AND (ended_ms IS NULL OR id = $2)
                       ORDER BY queue_position LIMIT 1";
            if let Some(found) = connection.query(sql, bind![row.key, run]).await?.first() {
                // It may be there already, if that was not learnt of the first time.
                let is_added: bool = found.try_get(1)?;
                return Ok(if is_added { Ok(run) } else { Err(Error::Busy(run_id(found.try_get(0)?))) });
            }
            let scope = encode(&row.limit(scope)?)?;
            let trace = TraceParent::begin().to_string();
            connection.query(ADD, bind![row.key, messages.clone(), &title, run, scope, trace]).await?;
            connection.commit().await?;
            Ok(Ok(run))
        });
        added.await?
    }

    pub(super) async fn copy(
        &self,
        scope: &Scope,
        thread: ThreadId,
        before: Option<u64>,
    ) -> Result<Thread, Error> {
        let (copy, run) = (ThreadId::new(), RunId::new());
        let before = before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
        let copied = self.database().insist(|| async {
            let connection = self.database().connection().await?;
            if let Some(row) = find_thread(&connection, scope, ThreadUse::Read, copy).await? {
                return Ok(Some(row.thread));
            }
            let Some(row) = find_thread(&connection, scope, ThreadUse::Read, thread).await? else {
                return Ok(None);
            };
            copy_thread(&connection, scope, &row, before, copy, Some(run)).await?;
            Ok(find_thread(&connection, scope, ThreadUse::Read, copy).await?.map(|row| row.thread))
        });
        copied.await?.ok_or(Error::UnknownThread(thread))
    }

    pub(super) async fn delete(&self, scope: &Scope, thread: ThreadId) -> Result<(), Error> {
        let row = self
            .database()
            .insist(|| async { own_thread(&self.database().connection().await?, scope, thread).await });
        let key = row.await??.key;
        self.delete_threads(vec![key]).await?;
        Ok(())
    }

    /// Deletes threads, and stops what is worked on in them.
    pub(super) async fn delete_threads(&self, keys: Vec<i64>) -> Result<(), StoreError> {
        let rows = self.database().query(DELETE, bind![keys]).await?;
        for row in &rows {
            let (run, owner): (Uuid, Option<Uuid>) = (row.try_get(0)?, row.try_get(1)?);
            self.stop_working_on(run_id(run), Some(Stopping::Rollback));
            self.hint_owner(owner, run_id(run));
        }
        Ok(())
    }

    /// Deletes everything of a tenant; says how many threads it had.
    ///
    /// # Errors
    /// Fails when the database does. Doing it again goes on where it failed.
    pub async fn purge_tenant(&self, tenant: &Tenant) -> Result<usize, Error> {
        let mut count = 0;
        loop {
            let sql = "SELECT key, is_queue FROM threads WHERE tenant = $1 LIMIT 100";
            let rows = self.database().query(sql, bind![tenant]).await?;
            let found = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
            let found: Vec<(i64, bool)> = found.collect::<Result<_, StoreError>>()?;
            if found.is_empty() {
                break;
            }
            count += found.iter().filter(|(_, is_queue)| !is_queue).count();
            self.delete_threads(found.into_iter().map(|(key, _)| key).collect()).await?;
        }
        for table in ["spending", "turn_facts", "dataset_items", "api_keys"] {
            self.database().query(&format!("DELETE FROM {table} WHERE tenant = $1"), bind![tenant]).await?;
        }
        Ok(count)
    }

    /// A window of a thread's messages, oldest first.
    pub(super) async fn read_window(
        &self,
        thread: i64,
        window: MessageWindow,
    ) -> Result<Vec<ThreadMessage>, StoreError> {
        let sql = "SELECT position, body, (SELECT id FROM runs WHERE runs.key = messages.run) FROM messages
                   WHERE thread = $1 AND position < $2 AND position >= (
                       SELECT coalesce(min(position), 0) FROM (
                           SELECT position, sum(octet_length(body)) OVER (ORDER BY position DESC) AS bytes,
                               row_number() OVER (ORDER BY position DESC) AS number
                           FROM (SELECT position, body FROM messages WHERE thread = $1 AND position < $2
                                 ORDER BY position DESC LIMIT $3) AS newest) AS counted
                       WHERE bytes <= $4 OR number = 1)
                   ORDER BY position DESC LIMIT $3";
        let before = window.before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
        let limit = i64::try_from(window.limit).unwrap_or(i64::MAX);
        let rows = self.database().query(sql, bind![thread, before, limit, MOST_WINDOW_BYTES as i64]).await?;
        rows.iter().rev().map(read_message).collect()
    }
}

fn read_message(row: &Row) -> Result<ThreadMessage, StoreError> {
    let (position, run): (i64, Option<Uuid>) = (row.try_get(0)?, row.try_get(2)?);
    Ok(ThreadMessage { position: position.unsigned_abs(), run: run.map(run_id), message: message(row, 1)? })
}

/// What a new thread of the scope's caller begins with, which may quote what the scope sees.
pub(super) fn new_thread(
    scope: &Scope,
    id: ThreadId,
    title: &str,
    metadata: &str,
    lifetime: Lifetime,
) -> Result<Vec<Bound>, StoreError> {
    let corpora = scope.corpora().map(encode).transpose()?;
    let (labels, temporary) = (encode(scope.labels())?, lifetime == Lifetime::Temporary);
    let title = storable(&titled(title));
    Ok(bind![id, scope.tenant(), title, metadata, scope.caller(), corpora, labels, temporary].to_vec())
}

/// Begins a thread with the conversation of another up to a position, in a run that has ended if one is named.
pub(super) async fn copy_thread(
    connection: &Connection,
    scope: &Scope,
    row: &ThreadRow,
    before: i64,
    copy: ThreadId,
    run: Option<RunId>,
) -> Result<(), StoreError> {
    let (seen, trace) = (encode(&row.limit(scope)?)?, TraceParent::begin().to_string());
    let values = bind![row.key, before, copy, scope.tenant(), scope.caller(), run.map(uuid_of), seen, trace];
    connection.query(COPY, values).await.map(drop)
}

/// The messages from one position up to another.
pub(super) async fn read_messages(
    database: &Database,
    thread: i64,
    range: Range<i64>,
) -> Result<Vec<Message>, StoreError> {
    if range.is_empty() {
        return Ok(Vec::new());
    }
    let sql =
        "SELECT body FROM messages WHERE thread = $1 AND position >= $2 AND position < $3 ORDER BY position";
    let rows = database.query(sql, bind![thread, range.start, range.end]).await?;
    rows.iter().map(|row| message(row, 0)).collect()
}

fn uuid_of(run: RunId) -> Uuid {
    Uuid::from_bytes(*run.as_bytes())
}

fn message(row: &Row, column: usize) -> Result<Message, StoreError> {
    serde_json::from_str(row.try_get(column)?).map_err(StoreError::damaged)
}
