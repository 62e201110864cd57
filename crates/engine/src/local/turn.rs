//! Running one turn or job: from its input, over the steps that are recorded, to its end.

use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ibid_core::trace::{self, RunSpan};
use ibid_core::{JobInput, Message, TurnInput, error_chain};
use ibid_graph::{
    Ending, EventKind, Record, RunCursor, RunError, RunHost, StepError, StepEvent, Version, WalkError,
    run_unflushed,
};
use tracing::Instrument;

use super::LocalEngine;
use super::graphs::{RunGraph, RunInput, RunOutput};
use super::journal::LocalJournal;
use super::live::LiveRun;
use super::measure::TurnSink;
use super::reading::read_input;
use super::slots::TenantSlot;
use super::suspects::Admission;
use super::work::{Input, Outcome, Started};
use crate::error::Error;
use crate::store::{self, JournalSummary, RunCommit, RunRow, StoreError};

/// Why a run could not be brought to where it stopped.
enum Unprepared {
    /// The file failed, which may pass.
    Store(StoreError),
    /// There is no such graph, or the run does not fit it.
    Graph(Error),
}

impl From<StoreError> for Unprepared {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Error> for Unprepared {
    fn from(error: Error) -> Self {
        Self::Graph(error)
    }
}

impl From<WalkError> for Unprepared {
    fn from(error: WalkError) -> Self {
        Self::Graph(error.into())
    }
}

/// How long to wait before a turn is taken up again when the store failed, at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

type Cursor = Box<dyn RunCursor<RunOutput>>;

impl LocalEngine {
    /// Works on a turn until it ends or waits for a person, unless a task is at it already.
    pub(super) fn take_up(&self, turn: Started, live: LiveRun) {
        if live.claim() {
            let span = trace::run_span(&RunSpan {
                run: turn.run,
                thread: (!turn.is_job()).then_some(turn.thread),
                graph: &turn.graph,
                tenant: &live.tenant,
                parent: turn.trace,
            });
            self.spawn(self.clone().work(turn, live).instrument(span));
        }
    }

    /// Waits until few enough others are worked on. A turn that is stopped does not wait.
    async fn slot(&self, live: &LiveRun) -> Option<TenantSlot> {
        let slots = self.0.slots.clone()?;
        live.cancel.run_until_cancelled(slots.wait(&live.tenant)).await?
    }

    async fn work(self, mut turn: Started, live: LiveRun) {
        let admitted = self.admit(&turn, &live).await;
        let _slot = self.slot(&live).await;
        if live.log.is_new() {
            let trace_id = turn.trace.map(|trace| trace.trace_id());
            live.log.add(StepEvent::of_run(EventKind::RunStarted { trace_id }));
        }
        let set_aside = match admitted {
            Ok(Admission::SetAside(why)) => Ok(Some(why)),
            Ok(Admission::Counted(attempt)) => self.count_attempt(attempt).await.map(|()| None),
            Ok(Admission::Free) => Ok(None),
            Err(error) => Err(error),
        };
        let set_aside = set_aside.unwrap_or_else(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "a turn was not counted as taken up");
            None
        });
        self.work_until_it_rests(&mut turn, &live, set_aside).await;
        live.leave_lane();
    }

    async fn work_until_it_rests(&self, turn: &mut Started, live: &LiveRun, set_aside: Option<String>) {
        let mut pause = Duration::from_secs(1);
        loop {
            let came = match &set_aside {
                Some(why) => Ok(Outcome::Failed(why.clone(), None)),
                None => self.run_turn(turn, live).await,
            };
            let worked = match came {
                Ok(outcome) => self.conclude(turn, live, outcome).await,
                Err(error) => Err(error),
            };
            let Err(error) = worked else { return };
            live.claim();
            // Nothing is lost: what is written down stays, and the turn is taken up from there.
            loop {
                if live.log.is_discarded() {
                    return;
                }
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the turn is taken up again in {pause:?}"
                );
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                if let Ok(row) = self.read_again(turn, live).await {
                    let Some(row) = row else { return };
                    *turn = Started { left: false, ..row.into() };
                    break;
                }
            }
        }
    }

    /// What is stored of a turn, after all that it told stands in its journal: which attempts it made is read from there.
    async fn read_again(&self, turn: &Started, live: &LiveRun) -> Result<Option<RunRow>, StoreError> {
        let recovered =
            |_: &_| Ok(RunCommit::with_events((), vec![StepEvent::of_run(EventKind::RunRecovered)]));
        self.writer()?.write_run(&live.log, recovered).await?;
        let run = turn.run;
        self.0.readers.read(move |connection| store::find_any_run(connection, run)).await
    }

    /// Runs a turn as far as it goes. Fails only if the store does, and only in a way that may pass.
    async fn run_turn(&self, turn: &mut Started, live: &LiveRun) -> Result<Outcome, StoreError> {
        let (cursor, journal) = match caught(self.prepare(turn, live)).await {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(Unprepared::Store(error))) if !matches!(error, StoreError::Damaged(_)) => {
                return Err(error);
            }
            Ok(Err(Unprepared::Store(error))) => return Ok(Outcome::Failed(error_chain(&error), None)),
            Ok(Err(Unprepared::Graph(error))) => return Ok(Outcome::Failed(error_chain(&error), None)),
            Err(panic) => return Ok(Outcome::Failed(panic, None)),
        };
        let host = RunHost {
            sink: Arc::new(TurnSink::new(turn, live)),
            cancel: live.cancel.clone(),
            grace: self.0.settings.stop_grace,
        };
        let outcome = caught(go(cursor, journal, &host)).await;
        outcome.unwrap_or_else(|panic| Ok(Outcome::Failed(panic, None)))
    }

    /// Stands where the turn stopped, with the journal from there on.
    async fn prepare(
        &self,
        turn: &mut Started,
        live: &LiveRun,
    ) -> Result<(Cursor, LocalJournal), Unprepared> {
        let graph = &self.graph(&turn.graph)?.graph;
        match &mut turn.input {
            Input::Turn { scope, messages, options, history } => {
                let input = TurnInput {
                    thread: turn.thread,
                    run: turn.run,
                    scope: scope.clone(),
                    history: self.history(turn.thread_key, history.clone()).await?,
                    messages: std::mem::take(messages),
                    options: std::mem::take(options),
                };
                Ok((graph.start(RunInput::Turn(input))?, self.journal(&turn.graph, live, Vec::new())?))
            }
            Input::Job { scope, request } => {
                let input = JobInput { run: turn.run, scope: scope.clone(), request: request.clone() };
                Ok((graph.start(RunInput::Job(input))?, self.journal(&turn.graph, live, Vec::new())?))
            }
            Input::Stored(row) => self.prepare_stored(graph, row, turn.left, live).await,
        }
    }

    fn journal(&self, graph: &str, live: &LiveRun, records: Vec<Record>) -> Result<LocalJournal, StoreError> {
        let (graph, drain) = (graph.to_owned(), self.0.drain.clone());
        Ok(LocalJournal::new(self.writer()?, live.log.clone(), graph, records, drain))
    }

    /// Replays what is recorded of a run, or begins it again if that no longer fits.
    async fn prepare_stored(
        &self,
        graph: &RunGraph,
        row: &RunRow,
        left: bool,
        live: &LiveRun,
    ) -> Result<(Cursor, LocalJournal), Unprepared> {
        let own = row.clone();
        let read = move |connection: &_| {
            let (input, records) = read_input(connection, &own)?;
            Ok((input, records, store::summary(connection, own.key)?))
        };
        let (input, records, JournalSummary { attempts, measures }) = self.0.readers.read(read).await?;
        live.measured_before(measures);
        let mut cursor = graph.start(input)?;
        let mut journal = self.journal(&row.graph, live, records)?;
        journal.count_attempts(attempts);
        let now = graph.topology().version();
        if let Err(misfit) = replay(&mut *cursor, journal.records(), &row.version, now) {
            let key = row.key;
            let restart = move |connection: &_| {
                store::restart_run(connection, key, &now.to_string())?;
                let restarted = EventKind::RunRestarted { reason: misfit.clone() };
                Ok(RunCommit::with_events((), vec![StepEvent::of_run(restarted)]))
            };
            self.writer()?.write_run(&live.log, restart).await?;
            journal.forget_records();
            let own = row.clone();
            let (input, _) = self.0.readers.read(move |connection| read_input(connection, &own)).await?;
            return Ok((graph.start(input)?, journal));
        }
        if let (Some(step), Some(answer)) = (row.interrupted_step, &row.resume_value) {
            journal.take_answer(step, serde_json::from_str(answer).map_err(StoreError::damaged)?);
        }
        if left {
            live.log.add(StepEvent::of_run(EventKind::RunRecovered));
        }
        Ok((cursor, journal))
    }

    async fn history(&self, thread: i64, range: Range<i64>) -> Result<Vec<Message>, StoreError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let read = move |connection: &_| store::read_messages(connection, thread, range.start, range.end);
        self.0.readers.read(read).await
    }
}

/// Runs a cursor until it rests.
async fn go(mut cursor: Cursor, mut journal: LocalJournal, host: &RunHost) -> Result<Outcome, StoreError> {
    match run_unflushed(&mut *cursor, &mut journal, host).await {
        Ok(Ending::Finished) => Ok(Outcome::Done(cursor.output(), journal.take_unflushed())),
        Ok(Ending::Stopped) => Ok(Outcome::Stopped(cursor.output(), journal.take_unflushed())),
        Ok(Ending::Interrupted { step, question }) => {
            Ok(Outcome::Interrupted { step: step.number, question })
        }
        Err(RunError::Step(StepError::Journal(error))) => {
            Err(StoreError::Unwritten { source: Box::new(error) })
        }
        Err(error) => Ok(Outcome::Failed(error_chain(&error), journal.take_unflushed())),
    }
}

/// The code of a graph may panic in a route, an `apply` or anywhere else. That must end its turn, and not
/// leave the thread waiting for ever.
async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        format!("the graph's own code panicked: {text}")
    })
}

/// Brings a cursor to where the records end, or says why they do not fit it.
fn replay(
    cursor: &mut dyn RunCursor<RunOutput>,
    records: &[Record],
    version: &str,
    now: Version,
) -> Result<(), String> {
    if let Ok(then) = version.parse::<Version>()
        && !then.may_continue_as(&now)
    {
        return Err(format!(
            "the graph is now version {} and the turn began with {}",
            now.declared, then.declared
        ));
    }
    let replayed: Result<(), WalkError> = records.iter().try_for_each(|record| cursor.replay(record));
    replayed.map_err(|error| error_chain(&error))
}
