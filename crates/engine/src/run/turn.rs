//! Running one turn or job: from its input, over the steps that are recorded, to its end.

use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use ibid_core::{AnswerMetadata, JobInput, Message, TurnInput, error_chain};
use ibid_graph::{
    Ending, Record, RunCursor, RunError, RunHost, StepError, Version, WalkError, run_unflushed,
};

use super::drain::DrainGate;
use super::event_list::JournalSummary;
use super::graphs::{GraphEntry, Graphs, RunGraph, RunInput, RunOutput};
use super::journal::{RunJournal, StepWriter, Unflushed};
use super::live::LiveRun;
use super::measure::TurnSink;
use super::rows::{RunRow, encode, encode_all};
use super::work::{Input, Outcome, Started};
use crate::error::Error;
use crate::store::StoreError;
use crate::types::RunStatus;

/// What running a run needs of the engine that keeps it.
#[async_trait]
pub(crate) trait RunStore: StepWriter + Clone {
    /// The graphs that it runs.
    fn graphs(&self) -> &Graphs;

    /// Whether steps may begin.
    fn drain(&self) -> &Arc<DrainGate>;

    /// How long a stopped node may take to give back what it has.
    fn stop_grace(&self) -> Duration;

    /// The messages of a thread from one position up to another.
    async fn history(&self, thread: i64, range: Range<i64>) -> Result<Vec<Message>, StoreError>;

    /// What a started run began with, and its finished steps.
    async fn stored(&self, row: &RunRow) -> Result<(RunInput, Vec<Record>), StoreError>;

    /// What the events of a run say of how far it came.
    async fn summary(&self, row: &RunRow) -> Result<JournalSummary, StoreError>;

    /// Forgets the steps of a run, which begins again with its graph as it is now.
    async fn restart(
        &self,
        row: &RunRow,
        live: &LiveRun,
        version: Version,
        reason: String,
    ) -> Result<(), StoreError>;

    /// The graph of a name.
    fn graph(&self, name: &str) -> Result<GraphEntry, Error> {
        self.graphs().get(name).ok_or_else(|| Error::UnknownAssistant(name.to_owned()))
    }
}

/// Why a run could not be brought to where it stopped.
enum Unprepared {
    /// The store failed, which may pass.
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

type Cursor = Box<dyn RunCursor<RunOutput>>;

/// Runs a turn as far as it goes. Fails only if the store does, and only in a way that may pass.
pub(crate) async fn run_turn<S: RunStore>(
    store: &S,
    turn: &mut Started,
    live: &LiveRun,
) -> Result<Outcome, StoreError> {
    let (cursor, journal) = match caught(prepare(store, turn, live)).await {
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
        grace: store.stop_grace(),
    };
    let outcome = caught(go(cursor, journal, &host)).await;
    outcome.unwrap_or_else(|panic| Ok(Outcome::Failed(panic, None)))
}

/// Stands where the turn stopped, with the journal from there on.
async fn prepare<S: RunStore>(
    store: &S,
    turn: &mut Started,
    live: &LiveRun,
) -> Result<(Cursor, RunJournal<S>), Unprepared> {
    let graph = &store.graph(&turn.graph)?.graph;
    match &mut turn.input {
        Input::Turn { scope, messages, options, history } => {
            let history = if history.is_empty() {
                Vec::new()
            } else {
                store.history(turn.thread_key, history.clone()).await?
            };
            let input = TurnInput {
                thread: turn.thread,
                run: turn.run,
                scope: scope.clone(),
                history,
                messages: std::mem::take(messages),
                options: std::mem::take(options),
            };
            Ok((graph.start(RunInput::Turn(input))?, journal(store, &turn.graph, live, Vec::new())))
        }
        Input::Job { scope, request } => {
            let input = JobInput { run: turn.run, scope: scope.clone(), request: request.clone() };
            Ok((graph.start(RunInput::Job(input))?, journal(store, &turn.graph, live, Vec::new())))
        }
        Input::Stored(row) => prepare_stored(store, graph, row, turn.left, live).await,
    }
}

fn journal<S: RunStore>(store: &S, graph: &str, live: &LiveRun, records: Vec<Record>) -> RunJournal<S> {
    RunJournal::new(store.clone(), live.log.clone(), graph.to_owned(), records, store.drain().clone())
}

/// Replays what is recorded of a run, or begins it again if that no longer fits.
async fn prepare_stored<S: RunStore>(
    store: &S,
    graph: &RunGraph,
    row: &RunRow,
    left: bool,
    live: &LiveRun,
) -> Result<(Cursor, RunJournal<S>), Unprepared> {
    let (input, records) = store.stored(row).await?;
    let JournalSummary { attempts, measures } = store.summary(row).await?;
    live.measured_before(measures);
    let mut cursor = graph.start(input)?;
    let mut journal = journal(store, &row.graph, live, records);
    journal.count_attempts(attempts);
    let now = graph.topology().version();
    if let Err(misfit) = replay(&mut *cursor, journal.records(), &row.version, now) {
        store.restart(row, live, now, misfit).await?;
        journal.forget_records();
        let (input, _) = store.stored(row).await?;
        return Ok((graph.start(input)?, journal));
    }
    if let (Some(step), Some(answer)) = (row.interrupted_step, &row.resume_value) {
        journal.take_answer(step, serde_json::from_str(answer).map_err(StoreError::damaged)?);
    }
    if left {
        live.tell_recovered();
    }
    Ok((cursor, journal))
}

/// Runs a cursor until it rests.
async fn go<W: StepWriter>(
    mut cursor: Cursor,
    mut journal: RunJournal<W>,
    host: &RunHost,
) -> Result<Outcome, StoreError> {
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

/// A cursor of a graph that stands behind some steps.
pub(crate) fn replayed(graph: &GraphEntry, input: RunInput, records: &[Record]) -> Result<Cursor, Error> {
    let mut cursor = graph.graph.start(input)?;
    records.iter().try_for_each(|record| cursor.replay(record))?;
    Ok(cursor)
}

/// What is written of a run that ends.
pub(crate) struct Conclusion {
    pub(crate) status: RunStatus,
    pub(crate) error: Option<String>,
    /// The last step, if it is not written down yet.
    pub(crate) unflushed: Option<Unflushed>,
    /// The messages that it answers with, as they are stored.
    pub(crate) said: Vec<String>,
    /// What came of it, if it is a job.
    pub(crate) result: Option<String>,
    /// What is known of the answer.
    pub(crate) answer: Option<Box<AnswerMetadata>>,
}

impl Conclusion {
    /// Of a run that came so far; else the step that asks a person, and what.
    pub(crate) fn of(outcome: Outcome) -> Result<Result<Self, (u32, serde_json::Value)>, StoreError> {
        let (status, output, unflushed, error) = match outcome {
            Outcome::Interrupted { step, question } => return Ok(Err((step, question))),
            Outcome::Done(output, unflushed) => (RunStatus::Done, Some(output), unflushed, None),
            Outcome::Stopped(output, unflushed) => (RunStatus::Stopped, Some(output), unflushed, None),
            Outcome::Failed(error, unflushed) => (RunStatus::Failed, None, unflushed, Some(error)),
        };
        tracing::info!(status = status.as_str(), error = error.as_deref(), "the turn ended");
        let (said, result, answer) = match output {
            Some(RunOutput::Messages(mut messages)) => {
                let said = encode_all(&messages)?;
                (said, None, messages.pop().and_then(|message| message.metadata))
            }
            Some(RunOutput::Result(result)) => (Vec::new(), Some(encode(&result)?), None),
            None => (Vec::new(), None, None),
        };
        Ok(Ok(Self { status, error, unflushed, said, result, answer }))
    }
}
