//! What the engine can run: graphs by name. Graphs of turns and of jobs differ in what they begin and end with; inside the
//! engine both are one kind.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use ibid_core::{JobInput, Message, ThreadId, TurnInput};
use ibid_graph::{
    CompiledGraph, Next, Record, ResumeError, RunCursor, Task, Topology, Update, Version, WalkError,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A graph that answers a turn. Its result is what it says, also when it was stopped half-way.
pub type TurnGraph = Arc<dyn CompiledGraph<TurnInput, Vec<Message>>>;

/// A graph that does a job. Its result is what came of it, also when it was stopped half-way.
pub type JobGraph = Arc<dyn CompiledGraph<JobInput, Value>>;

/// What a run begins with.
pub(crate) enum RunInput {
    Turn(TurnInput),
    Job(JobInput),
}

/// What a run ends with.
pub(crate) enum RunOutput {
    Messages(Vec<Message>),
    Result(Value),
}

pub(crate) type RunGraph = Arc<dyn CompiledGraph<RunInput, RunOutput>>;

/// Whether a run is a turn of a conversation or a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunKind {
    Turn,
    Job,
}

/// A graph that the engine can run.
#[derive(Clone)]
pub struct GraphEntry {
    pub(crate) graph: RunGraph,
    pub(crate) history: usize,
    kind: RunKind,
    variant: Option<(String, f64)>,
}

impl GraphEntry {
    /// How many earlier messages a turn begins with unless said otherwise.
    pub const HISTORY: usize = 50;

    /// A graph that answers turns, with the usual window of history.
    pub fn turn(graph: TurnGraph) -> Self {
        Self { graph: Arc::new(Turns(graph)), history: Self::HISTORY, kind: RunKind::Turn, variant: None }
    }

    /// A graph that does jobs.
    pub fn job(graph: JobGraph) -> Self {
        Self { graph: Arc::new(Jobs(graph)), history: 0, kind: RunKind::Job, variant: None }
    }

    /// With so many earlier messages at the beginning of a turn.
    #[must_use]
    pub fn with_history(mut self, messages: usize) -> Self {
        self.history = messages;
        self
    }

    /// With another graph that answers a share of the threads in the place of this one. A thread is always answered by the same.
    #[must_use]
    pub fn with_variant(mut self, graph: &str, share: f64) -> Self {
        self.variant = Some((graph.to_owned(), share));
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

    pub(crate) fn get(&self, name: &str) -> Option<GraphEntry> {
        self.entry(name).map(|(entry, _)| entry)
    }

    /// The graph that answers a thread: the one that is asked, or its variant.
    pub(crate) fn answering(&self, name: &str, thread: ThreadId) -> String {
        let variant = self.get(name).and_then(|entry| entry.variant);
        let chosen =
            variant.filter(|(other, share)| position_of(name, thread) < *share && self.get(other).is_some());
        chosen.map_or_else(|| name.to_owned(), |(other, _)| other)
    }

    pub(crate) fn version(&self, name: &str) -> Option<Version> {
        self.entry(name).map(|(_, version)| version)
    }

    /// The names of all of them.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Whether there are graphs for runs of a kind.
    pub(crate) fn run(&self, kind: RunKind) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().any(|(entry, _)| entry.kind == kind)
    }

    pub(crate) fn history(&self, name: &str) -> usize {
        self.get(name).map_or(0, |entry| entry.history)
    }
}

/// Where a thread stands among those of a graph, from 0 to 1: the same for ever, on every machine.
fn position_of(graph: &str, thread: ThreadId) -> f64 {
    let hash = Sha256::digest([graph.as_bytes(), thread.as_bytes()].concat());
    let number = hash.iter().take(6).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    number as f64 / (1_u64 << 48) as f64
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

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_graph::{END, Graph, START, State};

    #[derive(Clone, serde::Serialize)]
    struct Nothing;

    impl State for Nothing {
        type Update = ();
        fn apply(&mut self, (): ()) {}
    }

    fn entry() -> GraphEntry {
        let graph = Graph::<Nothing>::builder("one").node("one", async |_, _| Ok(()));
        let graph = graph.edge(START, "one").edge("one", END).build().unwrap();
        GraphEntry::turn(graph.compile(|_: TurnInput| Ok(Nothing), |_: &Nothing| Vec::new()))
    }

    #[test]
    fn a_share_of_the_threads_is_answered_by_the_variant_and_stays_with_it() {
        let entries = [("usual", entry().with_variant("new", 0.2)), ("new", entry())];
        let graphs: Graphs = entries.into_iter().map(|(name, entry)| (name.to_owned(), entry)).collect();
        let threads: Vec<ThreadId> = (0..2000).map(|_| ThreadId::new()).collect();
        let answered = |thread: &&ThreadId| graphs.answering("usual", **thread) == "new";
        let count = threads.iter().filter(answered).count();
        assert!((320..480).contains(&count), "{count} of 2000");
        assert_eq!(threads.iter().filter(answered).count(), count, "the same threads as before");
        assert_eq!(graphs.answering("new", threads[0]), "new");
        graphs.remove("new");
        assert!(threads.iter().all(|thread| graphs.answering("usual", *thread) == "usual"));
    }
}
