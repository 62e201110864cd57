//! The events of a run as what they mean: those of a turn, with the answer in the last one; those of a load, with its summary.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{Either, ready};
use futures_util::stream::BoxStream;
use ibid_core::event::{LoadEvent, RunEvent, TurnEvent};
use ibid_core::{Message, RunId, Scope};
use ibid_graph::EventKind;

use crate::engine::Engine;
use crate::error::Error;
use crate::types::{Event, MessageWindow, Run, RunStatus};

/// The events of a turn.
pub type TurnEvents = BoxStream<'static, Result<RunEvent<TurnEvent>, Error>>;
/// The events of a load.
pub type LoadEvents = BoxStream<'static, Result<RunEvent<LoadEvent>, Error>>;

/// Events of a turn after number `after` (0 for all), those that were and those to come.
///
/// # Errors
/// Fails as [`Engine::events`] does.
pub async fn turn_events(
    engine: &Arc<dyn Engine>,
    scope: &Scope,
    run: RunId,
    after: u64,
) -> Result<TurnEvents, Error> {
    let events = engine.events(scope, run, after).await?;
    let (engine, scope) = (engine.clone(), scope.clone());
    // Only the last of many events has to look anything up.
    let typed = events.then(move |event| match event {
        Ok(event) if matches!(event.what.kind, EventKind::RunEnded { .. }) => {
            let (engine, scope) = (engine.clone(), scope.clone());
            Either::Left(async move {
                let message = last_answer(&engine, &scope, run).await?;
                Ok(wrap(event, |kind| turn_event(kind, message)))
            })
        }
        Ok(event) => Either::Right(ready(Ok(wrap(event, |kind| turn_event(kind, None))))),
        Err(error) => Either::Right(ready(Err(error))),
    });
    Ok(typed.boxed())
}

/// Events of a load after number `after` (0 for all), those that were and those to come.
///
/// # Errors
/// Fails as [`Engine::events`] does.
pub async fn load_events(
    engine: &Arc<dyn Engine>,
    scope: &Scope,
    run: RunId,
    after: u64,
) -> Result<LoadEvents, Error> {
    let events = engine.events(scope, run, after).await?;
    let (engine, scope) = (engine.clone(), scope.clone());
    let typed = events.then(move |event| {
        let (engine, scope) = (engine.clone(), scope.clone());
        async move {
            let event = event?;
            let summary = match event.what.kind {
                EventKind::RunEnded { .. } => engine.job(&scope, run).await?.result,
                _ => None,
            };
            let summary = summary.and_then(|result| serde_json::from_value(result).ok());
            Ok(wrap(event, |kind| load_event(kind, summary)))
        }
    });
    Ok(typed.boxed())
}

/// The messages that a run answered with.
///
/// # Errors
/// Fails if the thread is gone.
pub async fn output_of(engine: &Arc<dyn Engine>, scope: &Scope, run: &Run) -> Result<Vec<Message>, Error> {
    if run.output.is_empty() {
        return Ok(Vec::new());
    }
    let limit = usize::try_from(run.output.end - run.output.start).unwrap_or(usize::MAX);
    let window = MessageWindow { before: Some(run.output.end), limit };
    let messages = engine.messages(scope, run.thread, window).await?;
    Ok(messages.into_iter().map(|message| message.message).collect())
}

async fn last_answer(
    engine: &Arc<dyn Engine>,
    scope: &Scope,
    run: RunId,
) -> Result<Option<Box<Message>>, Error> {
    let run = engine.run(scope, run).await?;
    Ok(output_of(engine, scope, &run).await?.pop().map(Box::new))
}

fn wrap<E>(event: Event, typed: impl FnOnce(EventKind) -> E) -> RunEvent<E> {
    let Event { run, seq, what } = event;
    RunEvent { run, seq, step: what.step, attempt: what.attempt, event: typed(what.kind) }
}

fn status_of(status: &str) -> RunStatus {
    RunStatus::parse(status).unwrap_or(RunStatus::Failed)
}

fn turn_event(kind: EventKind, message: Option<Box<Message>>) -> TurnEvent {
    match kind {
        EventKind::RunStarted { trace_id } => TurnEvent::Started { trace_id },
        EventKind::StepStarted { node } => TurnEvent::StepStarted { node: node.to_string() },
        EventKind::StepFinished { milliseconds } => TurnEvent::StepFinished { milliseconds },
        EventKind::StepRetrying { error, after_ms } => TurnEvent::StepRetrying { error, after_ms },
        EventKind::Status { text } => TurnEvent::Status { text },
        EventKind::Token { text } => TurnEvent::Token { text },
        EventKind::Custom { name, value } => TurnEvent::from_custom(&name, value),
        EventKind::Interrupted { value } => TurnEvent::Interrupted { value },
        EventKind::RunResumed => TurnEvent::Resumed,
        EventKind::RunRecovered => TurnEvent::Recovered,
        EventKind::RunRestarted { reason } => TurnEvent::Restarted { reason },
        EventKind::RunEnded { status, error } => {
            TurnEvent::Ended { status: status_of(&status), error, message }
        }
        other => TurnEvent::Custom { name: format!("{other:?}"), value: serde_json::Value::Null },
    }
}

fn load_event(kind: EventKind, summary: Option<ibid_core::load::LoadSummary>) -> LoadEvent {
    match kind {
        EventKind::RunStarted { trace_id } => LoadEvent::Started { trace_id },
        EventKind::StepStarted { node } => LoadEvent::StepStarted { node: node.to_string() },
        EventKind::StepFinished { milliseconds } => LoadEvent::StepFinished { milliseconds },
        EventKind::StepRetrying { error, after_ms } => LoadEvent::StepRetrying { error, after_ms },
        EventKind::Status { text } => LoadEvent::Status { text },
        EventKind::Custom { name, value } => LoadEvent::from_custom(&name, &value),
        EventKind::RunRecovered => LoadEvent::Recovered,
        EventKind::RunRestarted { reason } => LoadEvent::Restarted { reason },
        EventKind::RunEnded { status, error } => {
            LoadEvent::Ended { status: status_of(&status), error, summary }
        }
        other => LoadEvent::Other { name: format!("{other:?}") },
    }
}
