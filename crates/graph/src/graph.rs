//! The graph itself: nodes with their code, ways out, bounds. Immutable once built, cheap to clone.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::compiled::CompiledGraph;
use crate::context::Context;
use crate::error::{NodeError, ResumeError};
use crate::retry::RetryPolicy;
use crate::state::State;
use crate::topology::{Topology, Version};

/// A graph over the state `S`, checked by [`build`](crate::GraphBuilder::build).
pub struct Graph<S: State>(pub(crate) Arc<Parts<S>>);

pub(crate) struct Parts<S: State> {
    pub(crate) topology: Topology,
    pub(crate) start: Exit<S>,
    pub(crate) nodes: Vec<Node<S>>,
}

pub(crate) struct Node<S: State> {
    pub(crate) name: Arc<str>,
    /// What it was called before, in records of earlier versions.
    pub(crate) former_names: Vec<String>,
    pub(crate) kind: NodeKind<S>,
    pub(crate) exit: Exit<S>,
    pub(crate) bound: Option<(u32, Target)>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) retry: RetryPolicy,
}

pub(crate) type WorkFn<S> =
    dyn Fn(Arc<S>, Context) -> BoxFuture<'static, Result<<S as State>::Update, NodeError>> + Send + Sync;
pub(crate) type RouteFn<S> = dyn Fn(&S) -> &'static str + Send + Sync;
pub(crate) type QuestionFn<S> = dyn Fn(&S) -> Value + Send + Sync;
pub(crate) type AnswerFn<S> =
    dyn Fn(&S, &Value) -> Result<<S as State>::Update, serde_json::Error> + Send + Sync;

pub(crate) enum NodeKind<S: State> {
    Work(Arc<WorkFn<S>>),
    Interrupt { question: Box<QuestionFn<S>>, answer: Box<AnswerFn<S>> },
    Graph(Arc<dyn CompiledGraph<Arc<S>, S::Update>>),
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
    pub fn topology(&self) -> &Topology {
        &self.0.topology
    }

    /// The version that a run of this graph remembers.
    pub fn version(&self) -> Version {
        self.0.topology.version()
    }

    /// The graph as a Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        self.0.topology.mermaid()
    }
}

impl<S: State> Node<S> {
    pub(crate) fn question(&self, state: &S) -> Option<Value> {
        match &self.kind {
            NodeKind::Interrupt { question, .. } => Some(question(state)),
            _ => None,
        }
    }

    pub(crate) fn answer(&self, state: &S, given: &Value) -> Result<S::Update, ResumeError> {
        let NodeKind::Interrupt { answer, .. } = &self.kind else { return Err(ResumeError::NotInterrupted) };
        answer(state, given).map_err(|source| ResumeError::Form { node: self.name.to_string(), source })
    }
}
