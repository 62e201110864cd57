//! Who can answer: programs by name.

use std::collections::HashMap;
use std::sync::Arc;

use ibid_core::{Message, TurnInput};
use ibid_graph::{Program, Version};

/// A graph that answers a turn. Its result is what it says, also when it was stopped half-way.
pub type TurnProgram = Arc<dyn Program<TurnInput, Vec<Message>>>;

/// One that can answer.
#[derive(Clone)]
pub struct Assistant {
    /// Its graph.
    pub program: TurnProgram,
    /// How many earlier messages a turn begins with.
    pub history: usize,
}

impl Assistant {
    /// How many earlier messages a turn begins with unless said otherwise.
    pub const HISTORY: usize = 50;

    /// An assistant with the usual window of history.
    pub fn new(program: TurnProgram) -> Self {
        Self { program, history: Self::HISTORY }
    }
}

/// All that can answer, by name.
#[derive(Clone, Default)]
pub struct Assistants(Arc<HashMap<String, (Assistant, Version)>>);

impl Assistants {
    /// The one of that name.
    pub fn get(&self, name: &str) -> Option<&Assistant> {
        self.0.get(name).map(|(assistant, _)| assistant)
    }

    /// The version of its graph.
    pub(super) fn version(&self, name: &str) -> Option<Version> {
        self.0.get(name).map(|(_, version)| *version)
    }

    pub(super) fn window(&self, name: &str) -> usize {
        self.get(name).map_or(0, |assistant| assistant.history)
    }

    /// Their names, in order.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.0.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}

impl FromIterator<(String, Assistant)> for Assistants {
    fn from_iter<T: IntoIterator<Item = (String, Assistant)>>(assistants: T) -> Self {
        let versioned = assistants.into_iter().map(|(name, assistant)| {
            let version = assistant.program.shape().version();
            (name, (assistant, version))
        });
        Self(Arc::new(versioned.collect()))
    }
}
