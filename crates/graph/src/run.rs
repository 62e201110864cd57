//! The effectful part of running: performs what comes next, has it written down, and goes on.

use futures_util::FutureExt;
use serde_json::Value;

use crate::compiled::{Next, RunCursor};
use crate::context::RunHost;
use crate::error::{RunError, StepError, Terminal};
use crate::event::{EventKind, StepEvent};
use crate::journal::{Interrupted, Journal, StepOutcome};
use crate::record::StepRef;
use crate::task::Performed;

/// How a run came to rest.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// It reached END.
    Finished,
    /// It was stopped. What it had is in the cursor.
    Stopped,
    /// It waits for a person. Running the cursor again, with the answer in the journal, goes on.
    Interrupted {
        /// The step that the answer will finish.
        step: StepRef,
        /// What is asked.
        question: Value,
    },
}

/// Runs a cursor until it ends, is stopped, or waits for a person. Steps that the journal has are
/// replayed; every other one is performed and written down before the next begins.
///
/// # Errors
/// Fails when a step fails for good, or when the journal does.
pub async fn run<O>(
    cursor: &mut dyn RunCursor<O>,
    journal: &mut dyn Journal,
    host: &RunHost,
) -> Result<Ending, RunError> {
    let ending = run_unflushed(cursor, journal, host).await?;
    journal.flush().await.map_err(StepError::from)?;
    Ok(ending)
}

/// As [`run`], but leaves it to the caller to have the last step [flushed](Journal::flush).
///
/// # Errors
/// Fails when a step fails for good, or when the journal does.
pub async fn run_unflushed<O>(
    cursor: &mut dyn RunCursor<O>,
    journal: &mut dyn Journal,
    host: &RunHost,
) -> Result<Ending, RunError> {
    loop {
        if let Some(task) = cursor.task() {
            let (step, own) = (task.step().clone(), host.clone());
            let perform = move |attempts| async move {
                if own.cancel.is_cancelled() {
                    return Err(StepError::Stopped);
                }
                task.perform(own, attempts).await
            };
            match journal.step(&step, Box::new(move |attempts| perform(attempts).boxed())).await {
                Ok(taken) => take(cursor, taken, &step, journal, host)?,
                Err(StepError::Stopped) => return Ok(Ending::Stopped),
                Err(error) => return Err(error.into()),
            }
            continue;
        }
        let Next::Interrupt { step, question } = cursor.next() else {
            // A node that was stopped may have been the last one; what it gave back is not the whole.
            return Ok(if host.cancel.is_cancelled() { Ending::Stopped } else { Ending::Finished });
        };
        match journal.interrupt(&step, &question).await.map_err(StepError::from)? {
            Interrupted::Waiting if host.cancel.is_cancelled() => return Ok(Ending::Stopped),
            Interrupted::Waiting => return Ok(Ending::Interrupted { step, question }),
            Interrupted::Recorded(record) => cursor.replay(&record)?,
            Interrupted::Answer(answer) => {
                let update = cursor.resume(&answer).map_err(|error| StepError::Failed {
                    node: step.node.to_string(),
                    attempts: 1,
                    error: Terminal::new(error.to_string()).into(),
                })?;
                let given = async { Ok(Performed { update, attempt: 1, milliseconds: 0 }) };
                let taken = journal.step(&step, Box::new(|_| given.boxed())).await?;
                take(cursor, taken, &step, journal, host)?;
            }
        }
    }
}

fn take<O>(
    cursor: &mut dyn RunCursor<O>,
    taken: StepOutcome,
    step: &StepRef,
    journal: &dyn Journal,
    host: &RunHost,
) -> Result<(), RunError> {
    match taken {
        StepOutcome::Recorded(record) => cursor.replay(&record)?,
        StepOutcome::Performed(Performed { update, attempt, milliseconds }) => {
            if !journal.emits_step_finished() {
                host.sink.emit(StepEvent {
                    step: step.number,
                    attempt,
                    kind: EventKind::StepFinished { milliseconds },
                });
            }
            cursor.apply(update)?;
        }
    }
    Ok(())
}
