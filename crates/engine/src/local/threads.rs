//! What can be done to a thread besides submitting a turn to it: begin, note, add, copy, delete. Each is one
//! commit.

use ibid_core::{Message, RunId, Scope, ThreadId};
use rusqlite::Connection;
use serde_json::{Map, Value};

use super::LocalEngine;
use crate::error::Error;
use crate::store::{self, Batch, Stopping, StoreError, ThreadRow, encode, encode_all};
use crate::types::{Lifetime, Thread};

impl LocalEngine {
    pub(super) async fn begin(
        &self,
        scope: Scope,
        thread: ThreadId,
        metadata: &Map<String, Value>,
        lifetime: Lifetime,
    ) -> Result<(Thread, bool), Error> {
        let metadata = encode(metadata)?;
        let begin = move |connection: &Connection| {
            if let Some(row) = store::find_thread(connection, &scope, thread)? {
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

    pub(super) async fn note(
        &self,
        scope: Scope,
        thread: ThreadId,
        metadata: Map<String, Value>,
    ) -> Result<Thread, Error> {
        let note = move |connection: &Connection| {
            let Some(mut row) = store::find_thread(connection, &scope, thread)? else { return Ok(None) };
            row.thread.metadata.extend(metadata.clone());
            store::set_metadata(connection, row.key, &row.thread.metadata)?;
            Ok(Some(found(connection, &scope, thread)?.thread))
        };
        let noted = self.writer()?.write(Batch::default(), note).await?;
        noted.ok_or(Error::UnknownThread(thread))
    }

    pub(super) async fn add(
        &self,
        scope: Scope,
        thread: ThreadId,
        messages: &[Message],
    ) -> Result<RunId, Error> {
        let Some(first) = messages.first() else { return Err(Error::NoMessage) };
        let (title, messages, run) = (first.text.clone(), encode_all(messages)?, RunId::new());
        let add = move |connection: &Connection| {
            let Some(row) = store::find_thread(connection, &scope, thread)? else {
                return Ok(Err(Error::UnknownThread(thread)));
            };
            if let Some(active) = store::active_of_thread(connection, row.key)? {
                return Ok(Err(Error::Busy(active.id)));
            }
            store::touch_thread(connection, row.key, &title)?;
            let positions = store::append_messages(connection, row.key, 0, &messages)?;
            store::add_ended(connection, &scope, run, row.key, positions)?;
            Ok(Ok(run))
        };
        self.writer()?.write(Batch::default(), add).await?
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
            let Some(row) = store::find_thread(connection, &scope, thread)? else { return Ok(None) };
            let key = store::copy_thread(connection, &scope, row.key, before, copy)?;
            let copied = found(connection, &scope, copy)?.thread;
            if copied.messages > 0 {
                let positions = 0..i64::try_from(copied.messages).unwrap_or(i64::MAX);
                store::add_ended(connection, &scope, run, key, positions)?;
            }
            Ok(Some(copied))
        };
        let copied = self.writer()?.write(Batch::default(), work).await?;
        copied.ok_or(Error::UnknownThread(thread))
    }

    pub(super) async fn delete(&self, scope: Scope, thread: ThreadId) -> Result<(), Error> {
        let delete = move |connection: &_| {
            let Some(row) = store::find_thread(connection, &scope, thread)? else { return Ok(None) };
            let runs = store::unfinished_of_thread(connection, row.key)?;
            store::delete_thread(connection, row.key)?;
            Ok(Some(runs))
        };
        let engine = self.clone();
        let then = move |runs: Option<Vec<store::RunRow>>| {
            for run in runs.ok_or(Error::UnknownThread(thread))? {
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
    store::find_thread(connection, scope, thread)?.ok_or(StoreError::Gone)
}
