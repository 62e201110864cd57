//! How a turn comes to rest: one commit for its messages, its status, its last event, and the start of
//! the turn that waits behind it.

use ibid_graph::{Kind, StepEvent};
use rusqlite::Connection;
use serde_json::Value;

use super::LocalEngine;
use super::assistants::Assistants;
use super::live::LiveRun;
use super::work::{Outcome, Started};
use crate::nouns::RunStatus;
use crate::store::{self, Batch, RunRow, Stopping, StoreError, encode_all};

impl LocalEngine {
    pub(super) async fn conclude(
        &self,
        turn: &Started,
        live: &LiveRun,
        outcome: Outcome,
    ) -> Result<(), StoreError> {
        let (status, said, unsettled, error) = match outcome {
            Outcome::Asked { step, question } => return self.pause(turn, live, step, question).await,
            Outcome::Done(said, unsettled) => (RunStatus::Done, said, unsettled, None),
            Outcome::Stopped(said, unsettled) => (RunStatus::Stopped, said, unsettled, None),
            Outcome::Failed(error, unsettled) => (RunStatus::Failed, Vec::new(), unsettled, Some(error)),
        };
        tracing::info!(status = status.as_str(), error = error.as_deref(), "the turn ended");
        let said = encode_all(&said)?;
        let (key, run, thread) = (turn.key, turn.run, turn.thread_key);
        let (log, assistants) = (live.log.clone(), self.0.assistants.clone());
        let end = move |connection: &Connection| {
            // Who rolls a turn back wants it forgotten, however far it came meanwhile.
            let rolled_back = store::stopping_of(connection, key)? == Some(Stopping::Rollback);
            let status = if rolled_back { RunStatus::RolledBack } else { status };
            let unsettled = unsettled.clone().filter(|_| !rolled_back);
            if rolled_back {
                store::forget_run(connection, key)?;
            } else if !said.is_empty() {
                store::append_messages(connection, thread, key, &said)?;
            }
            store::end_run(connection, key, status, error.as_deref())?;
            let ended = Kind::Ended { status: status.as_str().to_owned(), error: error.clone() };
            let (finished, record) = unsettled.map(|last| (last.finished, last.record)).unzip();
            log.close_with(finished.into_iter().chain([StepEvent::of_run(ended)]).collect(), record);
            start_next(connection, thread, &assistants)
        };
        let next = self.writer()?.write(Batch::of(&live.log), end).await?;
        self.0.live.remove(run);
        if let Some(next) = next
            && let Some(live) = self.0.live.get(next.id)
        {
            self.take_up(next.into(), live);
        }
        Ok(())
    }

    /// Lets a turn wait for a person.
    async fn pause(
        &self,
        turn: &Started,
        live: &LiveRun,
        step: u32,
        question: Value,
    ) -> Result<(), StoreError> {
        let (key, run, own) = (turn.key, turn.run, live.clone());
        let version = self.0.assistants.version(&turn.assistant).map(|version| version.to_string());
        let version = version.unwrap_or_default();
        let wait = move |connection: &_| {
            store::set_waiting(connection, key, step, &question.to_string(), &version)?;
            let kind = Kind::Asked { question: question.clone() };
            own.log.close_with(vec![StepEvent { step, attempt: 1, kind }], None);
            // Given back before anyone can learn of the question: the answer may come at once.
            own.release();
            store::find_any_run(connection, run)
        };
        let row = self.writer()?.write(Batch::of(&live.log), wait).await?;
        // A stop may have come while the turn was on its way to rest.
        if let Some(row) = row
            && live.stopping().is_some()
        {
            self.take_up(row.into(), live.clone());
        }
        Ok(())
    }
}

/// Starts the turn that waits behind the one that ended.
fn start_next(
    connection: &Connection,
    thread: i64,
    assistants: &Assistants,
) -> Result<Option<RunRow>, StoreError> {
    let Some(next) = store::active_of_thread(connection, thread)? else { return Ok(None) };
    let input = store::queued_input(connection, next.key)?;
    store::start_run(connection, next.key, thread, &input, assistants.window(&next.graph))?;
    store::find_any_run(connection, next.id)
}
