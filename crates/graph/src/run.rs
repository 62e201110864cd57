//! The effectful part of running: performs what comes next, has it written down, and goes on.

use futures_util::FutureExt;
use serde_json::Value;

use crate::context::Host;
use crate::error::{RunError, StepError, Terminal};
use crate::event::{Kind, StepEvent};
use crate::journal::{Asked, Journal, Taken};
use crate::program::{Course, Next};
use crate::record::StepRef;
use crate::task::Performed;

/// How a run came to rest.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// It reached END.
    Finished,
    /// It was stopped. What it had is in the course.
    Stopped,
    /// It waits for a person. Running the course again, with the answer in the journal, goes on.
    Asked {
        /// The step that the answer will finish.
        step: StepRef,
        /// What is asked.
        question: Value,
    },
}

/// Runs a course until it ends, is stopped, or waits for a person. Steps that the journal has are
/// replayed; every other one is performed and written down before the next begins.
///
/// # Errors
/// Fails when a step fails for good, or when the journal does.
pub async fn run<O>(
    course: &mut dyn Course<O>,
    journal: &mut dyn Journal,
    host: &Host,
) -> Result<Ending, RunError> {
    let ending = run_unsettled(course, journal, host).await?;
    journal.settle().await.map_err(StepError::from)?;
    Ok(ending)
}

/// As [`run`], but leaves it to the caller to have the last step [settled](Journal::settle).
///
/// # Errors
/// Fails when a step fails for good, or when the journal does.
pub async fn run_unsettled<O>(
    course: &mut dyn Course<O>,
    journal: &mut dyn Journal,
    host: &Host,
) -> Result<Ending, RunError> {
    loop {
        if let Some(task) = course.task() {
            let (step, own) = (task.step().clone(), host.clone());
            let perform = move |attempts| async move {
                if own.cancel.is_cancelled() {
                    return Err(StepError::Stopped);
                }
                task.perform(own, attempts).await
            };
            match journal.step(&step, Box::new(move |attempts| perform(attempts).boxed())).await {
                Ok(taken) => take(course, taken, &step, journal, host)?,
                Err(StepError::Stopped) => return Ok(Ending::Stopped),
                Err(error) => return Err(error.into()),
            }
            continue;
        }
        let Next::Ask { step, question } = course.next() else {
            // A node that was stopped may have been the last one; what it gave back is not the whole.
            return Ok(if host.cancel.is_cancelled() { Ending::Stopped } else { Ending::Finished });
        };
        match journal.ask(&step, &question).await.map_err(StepError::from)? {
            Asked::Waiting if host.cancel.is_cancelled() => return Ok(Ending::Stopped),
            Asked::Waiting => return Ok(Ending::Asked { step, question }),
            Asked::Recorded(record) => course.replay(&record)?,
            Asked::Answer(answer) => {
                let change = course.answer(&answer).map_err(|error| StepError::Failed {
                    node: step.node.to_string(),
                    attempts: 1,
                    error: Terminal::new(error.to_string()).into(),
                })?;
                let given = async { Ok(Performed { change, attempt: 1, milliseconds: 0 }) };
                let taken = journal.step(&step, Box::new(|_| given.boxed())).await?;
                take(course, taken, &step, journal, host)?;
            }
        }
    }
}

fn take<O>(
    course: &mut dyn Course<O>,
    taken: Taken,
    step: &StepRef,
    journal: &dyn Journal,
    host: &Host,
) -> Result<(), RunError> {
    match taken {
        Taken::Recorded(record) => course.replay(&record)?,
        Taken::Performed(Performed { change, attempt, milliseconds }) => {
            if !journal.tells_finished() {
                host.sink.emit(StepEvent {
                    step: step.number,
                    attempt,
                    kind: Kind::Finished { milliseconds },
                });
            }
            course.apply(change)?;
        }
    }
    Ok(())
}
