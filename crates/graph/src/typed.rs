//! Graphs with their state hidden, and running one without an engine.

use std::sync::Arc;

use serde_json::Value;

use crate::compiled::{CompiledGraph, InvalidInput, Next, RunCursor};
use crate::context::RunHost;
use crate::error::{ResumeError, RunError, WalkError};
use crate::graph::Graph;
use crate::journal::NoJournal;
use crate::record::{Record, Update};
use crate::run::{Ending, run};
use crate::state::State;
use crate::task::Task;
use crate::topology::Topology;
use crate::walk::Walk;

impl<S: State> Graph<S> {
    /// Runs the graph to its end in this process and writes nothing down.
    ///
    /// # Errors
    /// Fails when a node fails for good, when the graph asks a person, or when its code contradicts it.
    pub async fn run(&self, state: S) -> Result<S, RunError> {
        let mut cursor = TypedCursor { walk: self.walk(state)?, finish: Arc::new(|_: &S| ()) };
        match run(&mut cursor, &mut NoJournal, &RunHost::default()).await? {
            Ending::Finished => Ok(cursor.walk.into_state()),
            Ending::Stopped => Err(RunError::Stopped),
            Ending::Interrupted { step, .. } => Err(RunError::Interrupted { node: step.node.to_string() }),
        }
    }

    /// The graph with a beginning and a result, its state hidden: what an engine runs, and what can be
    /// a node of another graph. `begin` and `finish` must depend on nothing but their arguments.
    pub fn compile<I, O, B, F>(&self, begin: B, finish: F) -> Arc<dyn CompiledGraph<I, O>>
    where
        I: 'static,
        O: 'static,
        B: Fn(I) -> Result<S, InvalidInput> + Send + Sync + 'static,
        F: Fn(&S) -> O + Send + Sync + 'static,
    {
        Arc::new(TypedGraph { graph: self.clone(), begin, finish: Arc::new(finish) })
    }
}

struct TypedGraph<S: State, B, F> {
    graph: Graph<S>,
    begin: B,
    finish: Arc<F>,
}

impl<S, I, O, B, F> CompiledGraph<I, O> for TypedGraph<S, B, F>
where
    S: State,
    I: 'static,
    O: 'static,
    B: Fn(I) -> Result<S, InvalidInput> + Send + Sync,
    F: Fn(&S) -> O + Send + Sync + 'static,
{
    fn topology(&self) -> &Topology {
        self.graph.topology()
    }

    fn start(&self, input: I) -> Result<Box<dyn RunCursor<O>>, WalkError> {
        let state = (self.begin)(input)
            .map_err(|source| WalkError::InvalidInput { graph: self.topology().name.clone(), source })?;
        Ok(Box::new(TypedCursor { walk: self.graph.walk(state)?, finish: self.finish.clone() }))
    }
}

/// A walk with its state hidden.
struct TypedCursor<S: State, F> {
    walk: Walk<S>,
    finish: Arc<F>,
}

impl<S, O, F> RunCursor<O> for TypedCursor<S, F>
where
    S: State,
    F: Fn(&S) -> O + Send + Sync,
{
    fn next(&self) -> Next {
        self.walk.next()
    }

    fn task(&self) -> Option<Task> {
        self.walk.task()
    }

    fn resume(&self, answer: &Value) -> Result<Update, ResumeError> {
        self.walk.resume(answer)
    }

    fn apply(&mut self, update: Update) -> Result<(), WalkError> {
        self.walk.apply(update)
    }

    fn replay(&mut self, record: &Record) -> Result<(), WalkError> {
        self.walk.replay(record)
    }

    fn decode(&self, json: &str) -> Result<Update, serde_json::Error> {
        self.walk.decode(json)
    }

    fn state(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self.walk.state())
    }

    fn output(&self) -> O {
        (self.finish)(self.walk.state())
    }
}
