//! The graph itself: nodes with their code, ways out, bounds. Immutable once built, cheap to clone.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::context::Context;
use crate::error::{AnswerError, NodeError};
use crate::program::Program;
use crate::retry::RetryPolicy;
use crate::shape::{Shape, Version};
use crate::state::State;

/// A graph over the state `S`, checked by [`build`](crate::GraphBuilder::build).
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
