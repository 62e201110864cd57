//! The graph itself: nodes with their code, ways out, bounds. Immutable once built, cheap to clone.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::builder::GraphBuilder;
use crate::context::{Context, Host};
use crate::error::{AnswerError, NodeError, RunError, WalkError};
use crate::journal::Unjournaled;
use crate::program::{Begin, Program, TypedProgram};
use crate::retry::RetryPolicy;
use crate::run::{Ending, run};
use crate::shape::{Shape, Version};
use crate::state::State;
use crate::walk::{TypedCourse, Walk};

/// A graph over the state `S`, checked by [`GraphBuilder::build`].
pub struct Graph<S: State>(pub(crate) Arc<Parts<S>>);

pub(crate) struct Parts<S: State> {
    pub(crate) shape: Shape,
    pub(crate) start: Exit<S>,
    pub(crate) nodes: Vec<Node<S>>,
}

pub(crate) struct Node<S: State> {
    pub(crate) name: Arc<str>,
    pub(crate) kind: NodeKind<S>,
    pub(crate) exit: Exit<S>,
    pub(crate) bound: Option<(u32, Target)>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) retry: RetryPolicy,
}

pub(crate) type WorkFn<S> =
    dyn Fn(Arc<S>, Context) -> BoxFuture<'static, Result<<S as State>::Change, NodeError>> + Send + Sync;
pub(crate) type RouteFn<S> = dyn Fn(&S) -> &'static str + Send + Sync;
pub(crate) type QuestionFn<S> = dyn Fn(&S) -> Value + Send + Sync;
pub(crate) type AnswerFn<S> =
    dyn Fn(&S, &Value) -> Result<<S as State>::Change, serde_json::Error> + Send + Sync;

pub(crate) enum NodeKind<S: State> {
    Work(Arc<WorkFn<S>>),
    Ask { question: Box<QuestionFn<S>>, answer: Box<AnswerFn<S>> },
    Graph(Arc<dyn Program<Arc<S>, S::Change>>),
}

#[derive(Clone, Copy)]
pub(crate) enum Target {
    Node(usize),
    End,
}

pub(crate) enum Exit<S> {
    To(Target),
    Branch { route: Arc<RouteFn<S>>, targets: Vec<(String, Target)> },
}

impl<S: State> Clone for Graph<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: State> Graph<S> {
    /// Begins a graph.
    pub fn builder(name: impl Into<String>) -> GraphBuilder<S> {
        GraphBuilder::new(name.into())
    }

    /// The plan of the graph.
    pub fn shape(&self) -> &Shape {
        &self.0.shape
    }

    /// The version that a run of this graph remembers.
    pub fn version(&self) -> Version {
        self.0.shape.version()
    }

    /// The graph as a Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        self.0.shape.mermaid()
    }

    /// The pure part of a run: stands before the first step, with `state` as the beginning.
    ///
    /// # Errors
    /// Fails when a route out of START leaves the graph.
    pub fn walk(&self, state: S) -> Result<Walk<S>, WalkError> {
        Walk::new(self.clone(), state)
    }

    /// Runs the graph to its end in this process and writes nothing down.
    ///
    /// # Errors
    /// Fails when a node fails for good, when the graph asks a person, or when its code contradicts it.
    pub async fn run(&self, state: S) -> Result<S, RunError> {
        let mut course = TypedCourse::new(self.walk(state)?, Arc::new(|state: &S| state.clone()));
        match run(&mut course, &mut Unjournaled, &Host::default()).await? {
            Ending::Finished => Ok(course.into_state()),
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
        Arc::new(TypedProgram::new(self.clone(), begin, finish))
    }
}

impl<S: State> Node<S> {
    pub(crate) fn question(&self, state: &S) -> Option<Value> {
        match &self.kind {
            NodeKind::Ask { question, .. } => Some(question(state)),
            _ => None,
        }
    }

    pub(crate) fn answer(&self, state: &S, given: &Value) -> Result<S::Change, AnswerError> {
        let NodeKind::Ask { answer, .. } = &self.kind else { return Err(AnswerError::NothingAsked) };
        answer(state, given).map_err(|source| AnswerError::Form { node: self.name.to_string(), source })
    }
}
