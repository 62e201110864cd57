//! What can be done to a thread besides submitting a turn to it: begin, note, add, copy, delete. Each is one
//! commit.

use ibid_core::{Message, RunId, Scope, ThreadId};
use rusqlite::Connection;
use serde_json::{Map, Value};

use super::LocalEngine;
use super::reading::own_thread;
use crate::error::Error;
use crate::run::{RunRow, Stopping, check_length, check_metadata, encode, encode_all};
use crate::store::{self, Batch, StoreError, ThreadRow, ThreadUse};
use crate::types::{Lifetime, Thread, ThreadUpdate};

impl LocalEngine {
    pub(super) async fn begin(
        &self,
        scope: Scope,
        thread: ThreadId,
        metadata: &Map<String, Value>,
        lifetime: Lifetime,
    ) -> Result<(Thread, bool), Error> {
        let metadata = encode(metadata)?;
        check_metadata(metadata.len())?;
        let begin = move |connection: &Connection| {
            if let Some(row) = store::find_thread(connection, &scope, ThreadUse::Read, thread)? {
                return Ok(Some((row.thread, false)));
            }
            if store::thread_exists(connection, thread)? {
                return Ok(None);
            }
            let key = store::create_thread(connection, &scope, thread, "", &metadata)?;
            if lifetime == Lifetime::Temporary {
                store::set_temporary(connection, key)?;
            }
            Ok(Some((found(connection, &scope, thread)?.thread, true)))
        };
        let begun = self.writer()?.write(Batch::default(), begin).await?;
        begun.ok_or(Error::UnknownThread(thread))
    }

    pub(super) async fn update(
        &self,
        scope: Scope,
        thread: ThreadId,
        update: ThreadUpdate,
    ) -> Result<Thread, Error> {
        let write = move |connection: &Connection| {
            let mut row = match own_thread(connection, &scope, thread)? {
                Ok(row) => row,
                Err(error) => return Ok(Err(error)),
            };
            row.thread.metadata.extend(update.metadata.clone());
            if let Err(error) = check_metadata(encode(&row.thread.metadata)?.len()) {
                return Ok(Err(error));
            }
            if let Some(shared) = update.shared {
                store::set_shared(connection, row.key, shared)?;
            }
            store::set_metadata(connection, row.key, &row.thread.metadata)?;
            Ok(Ok(found(connection, &scope, thread)?.thread))
        };
        self.writer()?.write(Batch::default(), write).await?
    }

    pub(super) async fn add(
        &self,
        scope: Scope,
        thread: ThreadId,
        messages: &[Message],
    ) -> Result<RunId, Error> {
        let Some(first) = messages.first() else { return Err(Error::NoMessage) };
        check_length(messages)?;
        let (title, messages, run) = (first.text.clone(), encode_all(messages)?, RunId::new());
        let bytes = messages.iter().map(String::len).sum();
        let add = move |connection: &Connection| {
            let row = match own_thread(connection, &scope, thread)? {
                Ok(row) => row,
                Err(error) => return Ok(Err(error)),
            };
            if let Some(active) = store::active_of_thread(connection, row.key)? {
                return Ok(Err(Error::Busy(active.id)));
            }
            store::touch_thread(connection, row.key, &title)?;
            let positions = store::append_messages(connection, row.key, 0, &messages)?;
            store::add_ended(connection, &row.limit(&scope)?, run, row.key, positions)?;
            Ok(Ok(run))
        };
        self.writer()?.write(Batch::of_bytes(bytes), add).await?
    }

    pub(super) async fn copy(
        &self,
        scope: Scope,
        thread: ThreadId,
        before: Option<u64>,
    ) -> Result<Thread, Error> {
        let (copy, run) = (ThreadId::new(), RunId::new());
        let before = before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
        let work = move |connection: &Connection| {
            let Some(row) = store::find_thread(connection, &scope, ThreadUse::Read, thread)? else {
                return Ok(None);
            };
            let key = store::copy_thread(connection, &scope, row.key, before, copy)?;
            let copied = found(connection, &scope, copy)?.thread;
            if copied.messages > 0 {
                let positions = 0..i64::try_from(copied.messages).unwrap_or(i64::MAX);
                store::add_ended(connection, &row.limit(&scope)?, run, key, positions)?;
            }
            Ok(Some(copied))
        };
        let copied = self.writer()?.write(Batch::default(), work).await?;
        copied.ok_or(Error::UnknownThread(thread))
    }

    pub(super) async fn delete(&self, scope: Scope, thread: ThreadId) -> Result<(), Error> {
        let delete = move |connection: &_| {
            let row = match own_thread(connection, &scope, thread)? {
                Ok(row) => row,
                Err(error) => return Ok(Err(error)),
            };
            let runs = store::unfinished_of_thread(connection, row.key)?;
            store::delete_thread(connection, row.key)?;
            Ok(Ok(runs))
        };
        let engine = self.clone();
        let then = move |runs: Result<Vec<RunRow>, Error>| {
            for run in runs? {
                if let Some(live) = engine.0.live.remove(run.id) {
                    live.log.discard();
                    live.stop(Stopping::Rollback);
                }
            }
            Ok(())
        };
        self.writer()?.write_then(Batch::default(), delete, then).await?
    }
}

/// A thread that was just written.
fn found(connection: &Connection, scope: &Scope, thread: ThreadId) -> Result<ThreadRow, StoreError> {
    store::find_thread(connection, scope, ThreadUse::Read, thread)?.ok_or(StoreError::Gone)
}
