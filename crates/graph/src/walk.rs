//! The pure part of running: given the updates so far, where the run stands and what comes next.

use std::sync::Arc;

use serde_json::Value;

use crate::compiled::{Next, RunCursor};
use crate::error::{ResumeError, WalkError};
use crate::graph::{Exit, Graph, Node, NodeKind, Target};
use crate::record::{Record, StepRef, Update};
use crate::state::State;
use crate::task::Task;
use crate::topology::START;

/// A position in a graph with the state there. Feeding it the records of a run, in order, gives the
/// state after any of its steps; from there it can go on differently, which is a fork.
///
/// ```
/// # use std::sync::Arc;
/// # use ibid_graph::{Context, END, Graph, Next, NodeError, Record, START, State};
/// # #[derive(Clone, serde::Serialize)]
/// # struct Words(Vec<String>);
/// # impl State for Words {
/// #     type Update = String;
/// #     fn apply(&mut self, update: String) { self.0.push(update); }
/// # }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let graph = Graph::builder("greeting")
/// #     .node("greet", async |_: Arc<Words>, _: Context| -> Result<String, NodeError> { Ok("hello".into()) })
/// #     .edge(START, "greet").edge("greet", END).build()?;
/// let mut walk = graph.walk(Words(vec![]))?;
/// assert!(matches!(walk.next(), Next::Work(step) if &*step.node == "greet"));
/// walk.replay(&Record { step: 1, node: "greet".into(), update: r#""good evening""#.into() })?;
/// assert_eq!(walk.state().0, ["good evening"]);
/// assert_eq!(walk.next(), Next::End);
/// # Ok(())
/// # }
/// ```
pub struct Walk<S: State> {
    graph: Graph<S>,
    state: Arc<S>,
    at: Target,
    visits: Vec<u32>,
    steps: u32,
    inner: Option<Box<dyn RunCursor<S::Update>>>,
}

impl<S: State> Graph<S> {
    /// The pure part of a run: stands before the first step, with `state` as the beginning.
    ///
    /// # Errors
    /// Fails when a route out of START leaves the graph.
    pub fn walk(&self, state: S) -> Result<Walk<S>, WalkError> {
        let (graph, visits) = (self.clone(), vec![0; self.0.nodes.len()]);
        let mut walk = Walk { graph, state: Arc::new(state), at: Target::End, visits, steps: 0, inner: None };
        walk.leave(None)?;
        Ok(walk)
    }
}

impl<S: State> Walk<S> {
    /// The state as it is now.
    pub fn state(&self) -> &S {
        &self.state
    }

    pub(crate) fn into_state(self) -> S {
        Arc::unwrap_or_clone(self.state)
    }

    /// What comes next.
    pub fn next(&self) -> Next {
        let Some(node) = self.node() else { return Next::End };
        let step = |path| StepRef { number: self.steps + 1, node: path };
        match self.inner.as_ref().map(|inner| inner.next()) {
            Some(Next::Work(inner)) => Next::Work(step(path(node, &inner))),
            Some(Next::Interrupt { step: inner, question }) => {
                Next::Interrupt { step: step(path(node, &inner)), question }
            }
            Some(Next::End) | None => match node.question(&self.state) {
                Some(question) => Next::Interrupt { step: step(node.name.clone()), question },
                None => Next::Work(step(node.name.clone())),
            },
        }
    }

    /// The work of the next step, if the next step is work.
    pub fn task(&self) -> Option<Task> {
        let node = self.node()?;
        if let Some(inner) = &self.inner {
            let mut task = inner.task()?;
            task.step = StepRef { number: self.steps + 1, node: path(node, &task.step) };
            return Some(task);
        }
        let NodeKind::Work(work) = &node.kind else { return None };
        let (work, state) = (work.clone(), self.state.clone());
        Some(Task {
            step: StepRef { number: self.steps + 1, node: node.name.clone() },
            time_limit: node.time_limit,
            retry: node.retry,
            call: Box::new(move |context| {
                let doing = work(state.clone(), context);
                Box::pin(async move { doing.await.map(Update::new) })
            }),
        })
    }

    /// What the answer to the question being asked changes.
    ///
    /// # Errors
    /// Refuses an answer that has not the form of the question, or that nothing asked for.
    pub fn resume(&self, answer: &Value) -> Result<Update, ResumeError> {
        match (&self.inner, self.node()) {
            (Some(inner), _) => inner.resume(answer),
            (None, Some(node)) => node.answer(&self.state, answer).map(Update::new),
            (None, None) => Err(ResumeError::NotInterrupted),
        }
    }

    /// Takes what the next step changed, and moves on.
    ///
    /// # Errors
    /// Fails when a route leaves the graph, or when the update belongs to another state.
    pub fn apply(&mut self, update: Update) -> Result<(), WalkError> {
        let Target::Node(index) = self.at else { return Err(WalkError::Ended) };
        let update = match &mut self.inner {
            Some(inner) => {
                inner.apply(update)?;
                (inner.next() == Next::End).then(|| inner.output())
            }
            None => {
                let node = || self.graph.0.nodes[index].name.to_string();
                Some(update.downcast().ok_or_else(|| WalkError::ForeignUpdate { node: node() })?)
            }
        };
        self.steps += 1;
        let Some(update) = update else { return Ok(()) };
        self.inner = None;
        Arc::make_mut(&mut self.state).apply(update);
        self.leave(Some(index))
    }

    /// Takes the record of the next step, and moves on.
    ///
    /// # Errors
    /// Fails when the record is not one of the step that comes next.
    pub fn replay(&mut self, record: &Record) -> Result<(), WalkError> {
        let (Next::Work(expected) | Next::Interrupt { step: expected, .. }) = self.next() else {
            return Err(WalkError::Ended);
        };
        let known = expected.node == record.node
            || self.node().is_some_and(|node| node.former_names.iter().any(|name| **name == *record.node));
        if !known || expected.number != record.step {
            return Err(WalkError::OtherNode {
                step: record.step,
                recorded: record.node.to_string(),
                expected: expected.node.to_string(),
                at: expected.number,
            });
        }
        let update = self.decode(&record.update).map_err(|source| WalkError::Update {
            step: record.step,
            node: record.node.to_string(),
            source,
        })?;
        self.apply(update)
    }

    pub(crate) fn decode(&self, json: &str) -> Result<Update, serde_json::Error> {
        match &self.inner {
            Some(inner) => inner.decode(json),
            None => Update::from_json::<S::Update>(json),
        }
    }

    fn node(&self) -> Option<&Node<S>> {
        match self.at {
            Target::Node(index) => Some(&self.graph.0.nodes[index]),
            Target::End => None,
        }
    }

    /// Goes from a node (or from START) to the next one that works or asks, or to END.
    fn leave(&mut self, mut from: Option<usize>) -> Result<(), WalkError> {
        let graph = self.graph.clone();
        loop {
            let exit = from.map_or(&graph.0.start, |index| &graph.0.nodes[index].exit);
            self.at = self.within_bounds(self.choose(exit, from)?);
            let Target::Node(index) = self.at else { return Ok(()) };
            self.visits[index] += 1;
            let NodeKind::Graph(program) = &graph.0.nodes[index].kind else { return Ok(()) };
            let inner = program.start(self.state.clone())?;
            if inner.next() != Next::End {
                self.inner = Some(inner);
                return Ok(());
            }
            Arc::make_mut(&mut self.state).apply(inner.output());
            from = Some(index);
        }
    }

    fn choose(&self, exit: &Exit<S>, from: Option<usize>) -> Result<Target, WalkError> {
        match exit {
            Exit::To(target) => Ok(*target),
            Exit::Branch { route, targets } => {
                let name = route(&self.state);
                let found = targets.iter().find(|(target, _)| target == name);
                found.map(|(_, target)| *target).ok_or_else(|| WalkError::Route {
                    node: from.map_or(START.to_owned(), |index| self.graph.0.nodes[index].name.to_string()),
                    target: name.to_owned(),
                })
            }
        }
    }

    fn within_bounds(&self, mut target: Target) -> Target {
        while let Target::Node(index) = target {
            match self.graph.0.nodes[index].bound {
                Some((visits, otherwise)) if self.visits[index] >= visits => target = otherwise,
                _ => break,
            }
        }
        target
    }
}

fn path<S: State>(outer: &Node<S>, inner: &StepRef) -> Arc<str> {
    format!("{}/{}", outer.name, inner.node).into()
}
