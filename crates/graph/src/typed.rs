//! Graphs with their state hidden, and running one without an engine.

use std::sync::Arc;

use serde_json::Value;

use crate::context::Host;
use crate::error::{AnswerError, RunError, WalkError};
use crate::graph::Graph;
use crate::journal::Unjournaled;
use crate::program::{Begin, Course, Next, Program};
use crate::record::{Change, Record};
use crate::run::{Ending, run};
use crate::shape::Shape;
use crate::state::State;
use crate::task::Task;
use crate::walk::Walk;

impl<S: State> Graph<S> {
    /// Runs the graph to its end in this process and writes nothing down.
    ///
    /// # Errors
    /// Fails when a node fails for good, when the graph asks a person, or when its code contradicts it.
    pub async fn run(&self, state: S) -> Result<S, RunError> {
        let mut course = TypedCourse { walk: self.walk(state)?, finish: Arc::new(|_: &S| ()) };
        match run(&mut course, &mut Unjournaled, &Host::default()).await? {
            Ending::Finished => Ok(course.walk.into_state()),
            Ending::Stopped => Err(RunError::Stopped),
            Ending::Asked { step, .. } => Err(RunError::Asked { node: step.node.to_string() }),
        }
    }

    /// The graph with a beginning and a result, its state hidden: what an engine runs, and what can be
    /// a node of another graph. `begin` and `finish` must depend on nothing but their arguments.
    pub fn program<I, O, B, F>(&self, begin: B, finish: F) -> Arc<dyn Program<I, O>>
    where
        I: 'static,
        O: 'static,
        B: Fn(I) -> Result<S, Begin> + Send + Sync + 'static,
        F: Fn(&S) -> O + Send + Sync + 'static,
    {
        Arc::new(TypedProgram { graph: self.clone(), begin, finish: Arc::new(finish) })
    }
}

struct TypedProgram<S: State, B, F> {
    graph: Graph<S>,
    begin: B,
    finish: Arc<F>,
}

impl<S, I, O, B, F> Program<I, O> for TypedProgram<S, B, F>
where
    S: State,
    I: 'static,
    O: 'static,
    B: Fn(I) -> Result<S, Begin> + Send + Sync,
    F: Fn(&S) -> O + Send + Sync + 'static,
{
    fn shape(&self) -> &Shape {
        self.graph.shape()
    }

    fn start(&self, input: I) -> Result<Box<dyn Course<O>>, WalkError> {
        let state = (self.begin)(input)
            .map_err(|source| WalkError::Begin { graph: self.shape().name.clone(), source })?;
        Ok(Box::new(TypedCourse { walk: self.graph.walk(state)?, finish: self.finish.clone() }))
    }
}

/// A walk with its state hidden.
struct TypedCourse<S: State, F> {
    walk: Walk<S>,
    finish: Arc<F>,
}

impl<S, O, F> Course<O> for TypedCourse<S, F>
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

    fn answer(&self, answer: &Value) -> Result<Change, AnswerError> {
        self.walk.answer(answer)
    }

    fn apply(&mut self, change: Change) -> Result<(), WalkError> {
        self.walk.apply(change)
    }

    fn replay(&mut self, record: &Record) -> Result<(), WalkError> {
        self.walk.replay(record)
    }

    fn decode(&self, json: &str) -> Result<Change, serde_json::Error> {
        self.walk.decode(json)
    }

    fn state(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self.walk.state())
    }

    fn output(&self) -> O {
        (self.finish)(self.walk.state())
    }
}
