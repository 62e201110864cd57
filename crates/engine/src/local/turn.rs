//! Running one turn: from its input, over the steps that are written down, to its ending.

use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ibid_core::{Message, TurnInput};
use ibid_graph::{
    Course, Ending, Host, Kind, RunError, StepError, StepEvent, Version, WalkError, run_unsettled,
};
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument;

use super::journal::LocalJournal;
use super::live::LiveRun;
use super::reading::read_turn;
use super::work::{Input, Outcome, Started};
use super::{LocalEngine, TurnProgram};
use crate::error::Error;
use crate::store::{self, Batch, RunRow, Sink, StoreError};

/// How long to wait before a turn is taken up again when the store failed, at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

type TurnCourse = Box<dyn Course<Vec<Message>>>;

impl LocalEngine {
    /// Works on a turn until it ends or waits for a person, unless a task is at it already.
    pub(super) fn take_up(&self, turn: Started, live: LiveRun) {
        if live.claim() {
            let span = tracing::info_span!("turn", thread = %turn.thread, run = %turn.run, assistant = turn.assistant);
            self.spawn(self.clone().work(turn, live).instrument(span));
        }
    }

    /// Waits until few enough others are worked on. A turn that is stopped does not wait.
    async fn place(&self, live: &LiveRun) -> Option<OwnedSemaphorePermit> {
        let places = self.0.places.clone()?;
        live.cancel.run_until_cancelled(places.acquire_owned()).await?.ok()
    }

    async fn work(self, mut turn: Started, live: LiveRun) {
        let _place = self.place(&live).await;
        let mut pause = Duration::from_secs(1);
        loop {
            let worked = match self.run_turn(&mut turn, &live).await {
                Ok(outcome) => self.conclude(&turn, &live, outcome).await,
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
                if let Ok(row) = self.read_again(&turn, &live).await {
                    let Some(row) = row else { return };
                    turn = Started { left: true, ..row.into() };
                    break;
                }
            }
        }
    }

    /// What is stored of a turn, after all that it told has been stored too.
    async fn read_again(&self, turn: &Started, live: &LiveRun) -> Result<Option<RunRow>, StoreError> {
        self.writer()?.write(Batch::of(&live.log), |_| Ok(())).await?;
        let run = turn.run;
        self.0.readers.read(move |connection| store::find_any_run(connection, run)).await
    }

    /// Runs a turn as far as it goes. Fails only if the store does, and only in a way that may pass.
    async fn run_turn(&self, turn: &mut Started, live: &LiveRun) -> Result<Outcome, StoreError> {
        let (course, journal) = match caught(self.prepare(turn, live)).await {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(Error::Store(error))) if !matches!(error, StoreError::Damaged(_)) => return Err(error),
            Ok(Err(error)) => return Ok(Outcome::Failed(told(&error), None)),
            Err(panic) => return Ok(Outcome::Failed(panic, None)),
        };
        let host = Host {
            sink: Arc::new(Sink(live.log.clone())),
            cancel: live.cancel.clone(),
            grace: self.0.settings.stop_grace,
        };
        let outcome = caught(go(course, journal, &host)).await;
        outcome.unwrap_or_else(|panic| Ok(Outcome::Failed(panic, None)))
    }

    /// Stands where the turn stopped, with the journal from there on.
    async fn prepare(&self, turn: &mut Started, live: &LiveRun) -> Result<(TurnCourse, LocalJournal), Error> {
        let program = &self.assistant(&turn.assistant)?.program;
        match &mut turn.input {
            Input::Here { scope, messages, options, history } => {
                let input = TurnInput {
                    thread: turn.thread,
                    run: turn.run,
                    scope: scope.clone(),
                    history: self.history(turn.thread_key, history.clone()).await?,
                    messages: std::mem::take(messages),
                    options: std::mem::take(options),
                };
                let journal =
                    LocalJournal::new(self.writer()?, live.log.clone(), Vec::new(), self.0.rest.clone());
                Ok((program.start(input)?, journal))
            }
            Input::Stored(row) => self.prepare_stored(program, row, turn.left, live).await,
        }
    }

    /// Replays what is written down of a turn, or begins it again if that no longer fits.
    async fn prepare_stored(
        &self,
        program: &TurnProgram,
        row: &RunRow,
        left: bool,
        live: &LiveRun,
    ) -> Result<(TurnCourse, LocalJournal), Error> {
        let own = row.clone();
        let read = move |connection: &_| {
            let (input, records) = read_turn(connection, &own)?;
            Ok((input, records, store::attempts_made(connection, own.key)?))
        };
        let (input, records, attempts) = self.0.readers.read(read).await?;
        let mut course = program.start(input.clone())?;
        let mut journal = LocalJournal::new(self.writer()?, live.log.clone(), records, self.0.rest.clone());
        journal.count_attempts(attempts);
        let now = program.shape().version();
        if let Err(misfit) = replay(&mut *course, journal.records(), &row.version, now) {
            let (key, log) = (row.key, live.log.clone());
            let restart = move |connection: &_| {
                let restarted = Kind::Restarted { reason: misfit.clone() };
                log.close_with(vec![StepEvent::of_run(restarted)], None);
                store::restart_run(connection, key, &now.to_string())
            };
            self.writer()?.write(Batch::of(&live.log), restart).await?;
            journal.forget_records();
            return Ok((program.start(input)?, journal));
        }
        if let (Some(step), Some(answer)) = (row.asked_step, &row.answer) {
            journal.take_answer(step, serde_json::from_str(answer).map_err(StoreError::damaged)?);
        }
        if left {
            live.log.add(StepEvent::of_run(Kind::Resumed));
        }
        Ok((course, journal))
    }

    async fn history(&self, thread: i64, range: Range<i64>) -> Result<Vec<Message>, StoreError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let read = move |connection: &_| store::read_messages(connection, thread, range.start, range.end);
        self.0.readers.read(read).await
    }
}

/// Runs a course until it rests.
async fn go(mut course: TurnCourse, mut journal: LocalJournal, host: &Host) -> Result<Outcome, StoreError> {
    match run_unsettled(&mut *course, &mut journal, host).await {
        Ok(Ending::Finished) => Ok(Outcome::Done(course.output(), journal.take_unsettled())),
        Ok(Ending::Stopped) => Ok(Outcome::Stopped(course.output(), journal.take_unsettled())),
        Ok(Ending::Asked { step, question }) => Ok(Outcome::Asked { step: step.number, question }),
        Err(RunError::Step(StepError::Journal(error))) => {
            Err(StoreError::Unwritten { source: Box::new(error) })
        }
        Err(error) => Ok(Outcome::Failed(told(&error), journal.take_unsettled())),
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

/// Brings a course to where the records end, or says why they do not fit it.
fn replay(
    course: &mut dyn Course<Vec<Message>>,
    records: &[ibid_graph::Record],
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
    let replayed: Result<(), WalkError> = records.iter().try_for_each(|record| course.replay(record));
    replayed.map_err(|error| told(&error))
}

/// An error with everything underneath it.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
