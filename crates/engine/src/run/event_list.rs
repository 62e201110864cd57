//! Events as they are stored: lists in JSON, each with the number of its last event.

use std::collections::BTreeMap;

use ibid_core::{RunId, TurnEvent};
use ibid_graph::{EventKind, StepEvent};

use crate::facts::TurnMeasures;
use crate::store::StoreError;
use crate::types::Event;

/// Events as a list.
pub(crate) fn list(events: &[&StepEvent]) -> Result<String, StoreError> {
    serde_json::to_string(events).map_err(StoreError::damaged)
}

/// Adds what stands in a list to others.
pub(crate) fn join(all: &mut String, list: &str) {
    let inside = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(list);
    if !all.is_empty() && !inside.is_empty() {
        all.push(',');
    }
    all.push_str(inside);
}

/// A list of events of which the last has the number `last`.
pub(crate) fn numbered(run: RunId, last: u64, list: &str) -> Result<Vec<Event>, StoreError> {
    let events = parse(list)?;
    let first = last + 1 - events.len() as u64;
    Ok((first..).zip(events).map(|(seq, what)| Event { run, seq, what }).collect())
}

fn parse(events: &str) -> Result<Vec<StepEvent>, StoreError> {
    serde_json::from_str(events).map_err(StoreError::damaged)
}

/// What the events of an unfinished run say of how far it came.
#[derive(Default)]
pub(crate) struct JournalSummary {
    /// The highest attempt at each step.
    pub(crate) attempts: BTreeMap<u32, u32>,
    /// What its models used.
    pub(crate) measures: TurnMeasures,
}

impl JournalSummary {
    /// Takes a list of its events in.
    pub(crate) fn add(&mut self, list: &str) -> Result<(), StoreError> {
        for event in parse(list)? {
            let seen = self.attempts.entry(event.step).or_default();
            *seen = event.attempt.max(*seen);
            if let EventKind::Custom { name, value } = event.kind
                && let TurnEvent::ModelUsage(used) = TurnEvent::from_custom(&name, value)
            {
                self.measures.add_usage(used);
            }
        }
        Ok(())
    }
}
