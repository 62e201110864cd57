//! How a run ends or pauses: one commit for its output, its status, its last event, and the start of the run that waits
//! behind it.

use ibid_graph::{EventKind, StepEvent};
use rusqlite::Connection;
use serde_json::Value;

use super::LocalEngine;
use crate::run::{
    Conclusion, Graphs, LiveRun, Outcome, RunCommit, RunRow, Started, Stopping, measured, run_ended,
};
use crate::store::{self, RunEnd, StoreError};
use crate::types::RunStatus;

impl LocalEngine {
    pub(super) async fn conclude(
        &self,
        turn: &Started,
        live: &LiveRun,
        outcome: Outcome,
    ) -> Result<(), StoreError> {
        let conclusion = match Conclusion::of(outcome)? {
            Ok(conclusion) => conclusion,
            Err((step, question)) => return self.pause(turn, live, step, question).await,
        };
        let Conclusion { status, error, unflushed, said, result, answer } = conclusion;
        let failure = error.clone();
        let measures = (!turn.is_job()).then(|| measured(live, answer.as_deref()));
        let (tenant, assistant) = (live.tenant.clone(), turn.graph.clone());
        let (key, run, thread) = (turn.key, turn.run, turn.thread_key);
        let graphs = self.0.graphs.clone();
        let end = move |connection: &Connection| {
            // Who rolls a turn back wants it forgotten, however far it came meanwhile.
            let rolled_back = store::stopping_of(connection, key)? == Some(Stopping::Rollback);
            let status = if rolled_back { RunStatus::RolledBack } else { status };
            let unflushed = unflushed.clone().filter(|_| !rolled_back);
            let mut end = RunEnd { error: error.as_deref(), ..RunEnd::default() };
            if rolled_back {
                store::forget_run(connection, key)?;
            } else if !said.is_empty() {
                end.output = store::append_messages(connection, thread, key, &said)?;
            } else {
                end.result = result.as_deref();
            }
            store::end_run(connection, key, status, &end)?;
            if let Some(measures) = measures.as_ref().filter(|_| !rolled_back) {
                store::add_facts(connection, key, &tenant, &assistant, status, measures)?;
            }
            let ended = EventKind::RunEnded { status: status.as_str().to_owned(), error: error.clone() };
            let (finished, record) = unflushed.map(|last| (last.finished, last.record)).unzip();
            let events = finished.into_iter().chain([StepEvent::of_run(ended)]).collect();
            let next = start_next(connection, thread, &graphs)?;
            Ok(RunCommit { value: (next, status), events, record })
        };
        let (next, status) = self.writer()?.write_run(&live.log, end).await?;
        self.0.live.remove(run);
        run_ended(turn, live, status, failure.as_deref(), answer.as_deref());
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
        live.stop_clock();
        let (key, run, own) = (turn.key, turn.run, live.clone());
        let version = self.0.graphs.version(&turn.graph).map(|version| version.to_string());
        let version = version.unwrap_or_default();
        let wait = move |connection: &_| {
            store::set_waiting(connection, key, step, &question.to_string(), &version)?;
            let kind = EventKind::Interrupted { value: question.clone() };
            // Given back before anyone can learn of the question: the answer may come at once.
            own.release();
            let row = store::find_any_run(connection, run)?;
            Ok(RunCommit::with_events(row, vec![StepEvent { step, attempt: 1, kind }]))
        };
        let row = self.writer()?.write_run(&live.log, wait).await?;
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
fn start_next(connection: &Connection, thread: i64, graphs: &Graphs) -> Result<Option<RunRow>, StoreError> {
    let Some(next) = store::active_of_thread(connection, thread)? else { return Ok(None) };
    let input = store::queued_input(connection, next.key)?;
    store::start_run(connection, next.key, thread, &input, graphs.history(&next.graph))?;
    store::find_any_run(connection, next.id)
}
