//! What the engine can run: graphs by name. Graphs of turns and of jobs differ in what they begin and end with; inside the
//! engine both are one kind.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use ibid_core::{JobInput, Message, TurnInput};
use ibid_graph::{
    CompiledGraph, Next, Record, ResumeError, RunCursor, Task, Topology, Update, Version, WalkError,
};
use serde_json::Value;

/// A graph that answers a turn. Its result is what it says, also when it was stopped half-way.
pub type TurnGraph = Arc<dyn CompiledGraph<TurnInput, Vec<Message>>>;

/// A graph that does a job. Its result is what came of it, also when it was stopped half-way.
pub type JobGraph = Arc<dyn CompiledGraph<JobInput, Value>>;

/// What a run begins with.
pub(super) enum RunInput {
    Turn(TurnInput),
    Job(JobInput),
}

/// What a run ends with.
pub(super) enum RunOutput {
    Messages(Vec<Message>),
    Result(Value),
}

pub(super) type RunGraph = Arc<dyn CompiledGraph<RunInput, RunOutput>>;

/// A graph that the engine can run.
#[derive(Clone)]
pub struct GraphEntry {
    pub(super) graph: RunGraph,
    pub(super) history: usize,
}

impl GraphEntry {
    /// How many earlier messages a turn begins with unless said otherwise.
    pub const HISTORY: usize = 50;

    /// A graph that answers turns, with the usual window of history.
    pub fn turn(graph: TurnGraph) -> Self {
        Self { graph: Arc::new(Turns(graph)), history: Self::HISTORY }
    }

    /// A graph that does jobs.
    pub fn job(graph: JobGraph) -> Self {
        Self { graph: Arc::new(Jobs(graph)), history: 0 }
    }

    /// With so many earlier messages at the beginning of a turn.
    #[must_use]
    pub fn with_history(mut self, messages: usize) -> Self {
        self.history = messages;
        self
    }

    /// The plan of the graph.
    pub fn topology(&self) -> &Topology {
        self.graph.topology()
    }
}

/// All graphs that an engine can run, by name. Cheap to clone; all clones are one, so that whoever holds one can put
/// another graph in the place of one while the engine runs. Runs that have begun keep theirs.
#[derive(Clone, Default)]
pub struct Graphs(Arc<RwLock<HashMap<String, (GraphEntry, Version)>>>);

impl Graphs {
    /// Puts a graph in the place of the one that had its name.
    pub fn set(&self, name: &str, entry: GraphEntry) {
        let version = entry.topology().version();
        let mut graphs = self.0.write().unwrap_or_else(PoisonError::into_inner);
        graphs.insert(name.to_owned(), (entry, version));
    }

    /// Takes a graph away.
    pub fn remove(&self, name: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    fn entry(&self, name: &str) -> Option<(GraphEntry, Version)> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub(super) fn get(&self, name: &str) -> Option<GraphEntry> {
        self.entry(name).map(|(entry, _)| entry)
    }

    pub(super) fn version(&self, name: &str) -> Option<Version> {
        self.entry(name).map(|(_, version)| version)
    }

    pub(super) fn history(&self, name: &str) -> usize {
        self.get(name).map_or(0, |entry| entry.history)
    }
}

impl FromIterator<(String, GraphEntry)> for Graphs {
    fn from_iter<T: IntoIterator<Item = (String, GraphEntry)>>(graphs: T) -> Self {
        let all = Self::default();
        for (name, entry) in graphs {
            all.set(&name, entry);
        }
        all
    }
}

struct Turns(TurnGraph);

impl CompiledGraph<RunInput, RunOutput> for Turns {
    fn topology(&self) -> &Topology {
        self.0.topology()
    }

    fn start(&self, input: RunInput) -> Result<Box<dyn RunCursor<RunOutput>>, WalkError> {
        match input {
            RunInput::Turn(input) => {
                Ok(Box::new(Mapped { cursor: self.0.start(input)?, output: RunOutput::Messages }))
            }
            RunInput::Job(_) => Err(unfit(self.topology(), "it answers turns and does no jobs")),
        }
    }
}

struct Jobs(JobGraph);

impl CompiledGraph<RunInput, RunOutput> for Jobs {
    fn topology(&self) -> &Topology {
        self.0.topology()
    }

    fn start(&self, input: RunInput) -> Result<Box<dyn RunCursor<RunOutput>>, WalkError> {
        match input {
            RunInput::Job(input) => {
                Ok(Box::new(Mapped { cursor: self.0.start(input)?, output: RunOutput::Result }))
            }
            RunInput::Turn(_) => Err(unfit(self.topology(), "it does jobs and answers no turns")),
        }
    }
}

fn unfit(topology: &Topology, why: &str) -> WalkError {
    WalkError::InvalidInput { graph: topology.name.clone(), source: why.into() }
}

/// A cursor whose result becomes that of a run.
struct Mapped<O> {
    cursor: Box<dyn RunCursor<O>>,
    output: fn(O) -> RunOutput,
}

impl<O> RunCursor<RunOutput> for Mapped<O> {
    fn next(&self) -> Next {
        self.cursor.next()
    }

    fn task(&self) -> Option<Task> {
        self.cursor.task()
    }

    fn resume(&self, answer: &Value) -> Result<Update, ResumeError> {
        self.cursor.resume(answer)
    }

    fn apply(&mut self, update: Update) -> Result<(), WalkError> {
        self.cursor.apply(update)
    }

    fn replay(&mut self, record: &Record) -> Result<(), WalkError> {
        self.cursor.replay(record)
    }

    fn decode(&self, json: &str) -> Result<Update, serde_json::Error> {
        self.cursor.decode(json)
    }

    fn state(&self) -> Result<Value, serde_json::Error> {
        self.cursor.state()
    }

    fn output(&self) -> RunOutput {
        (self.output)(self.cursor.output())
    }
}
