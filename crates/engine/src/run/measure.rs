//! What is counted and kept of runs: for metrics, for traces, and for whoever looks after many turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ibid_core::answer::QuoteMatch;
use ibid_core::event::TurnEvent;
use ibid_core::{AnswerMetadata, metric, trace};
use ibid_graph::{EventKind, EventSink, StepEvent};
use tracing::Span;

use super::live::LiveRun;
use super::log::Sink;
use super::work::Started;
use crate::facts::TurnMeasures;
use crate::types::RunStatus;

/// Where the events of a run go, with an eye on the first word of its answer and on what its models use.
pub(crate) struct TurnSink {
    sink: Sink,
    live: LiveRun,
    graph: String,
    spoken: AtomicBool,
}

impl TurnSink {
    pub(crate) fn new(turn: &Started, live: &LiveRun) -> Self {
        let spoken = AtomicBool::new(turn.is_job());
        Self { sink: Sink(Arc::clone(&live.log)), live: live.clone(), graph: turn.graph.clone(), spoken }
    }
}

impl EventSink for TurnSink {
    fn emit(&self, event: StepEvent) {
        match &event.kind {
            EventKind::StepStarted { .. } => self.live.passed(event.step),
            EventKind::Token { .. } if !self.spoken.swap(true, Ordering::Relaxed) => {
                if let Some(elapsed) = self.live.elapsed() {
                    metric::first_word(&self.graph, elapsed);
                    self.live.measures().first_word_ms = Some(milliseconds(elapsed));
                }
            }
            EventKind::Custom { name, value } if TurnEvent::is_usage(name) => {
                if let TurnEvent::ModelUsage(used) = TurnEvent::from_custom(name, value.clone()) {
                    self.live.measures().add_usage(used);
                }
            }
            _ => {}
        }
        self.sink.emit(event);
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// What was measured of a turn that ends with an answer, or without one.
pub(crate) fn measured(live: &LiveRun, answer: Option<&AnswerMetadata>) -> TurnMeasures {
    let mut measures = live.measures().clone();
    measures.took_ms = live.elapsed().map(milliseconds);
    if let Some(answer) = answer {
        measures.outcome = Some(answer.outcome());
        measures.quotes = [QuoteMatch::Exact, QuoteMatch::Fuzzy, QuoteMatch::NotFound].map(|kind| {
            let found = answer.citations.iter().filter(|citation| citation.found == kind).count();
            u32::try_from(found).unwrap_or(u32::MAX)
        });
        measures.warnings = answer.warnings.iter().map(|warning| warning.kind).collect();
        measures.rounds = u32::try_from(answer.research.len()).unwrap_or(u32::MAX);
    }
    measures
}

/// A run ended, in the span of its own.
pub(crate) fn run_ended(
    turn: &Started,
    live: &LiveRun,
    status: RunStatus,
    error: Option<&str>,
    answer: Option<&AnswerMetadata>,
) {
    if let Some(error) = error {
        trace::failed(&Span::current(), &error);
    }
    if let Some(answer) = answer.filter(|_| status != RunStatus::RolledBack) {
        metric::answered(&turn.graph, answer);
    }
    if turn.is_job() {
        metric::job_ended(&turn.graph, status.as_str());
    } else {
        metric::turn_ended(&turn.graph, &live.tenant, status.as_str(), live.elapsed());
    }
}
