//! Puts a graph together and refuses the ones that cannot run or cannot end.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::error::NodeError;
use crate::graph::{Exit, Graph, Node, NodeKind, Parts, RouteFn, Target};
use crate::retry::RetryPolicy;
use crate::state::State;
use crate::topology::{Bound, START, Topology, TopologyEdge, TopologyNode, TopologyNodeKind};
use crate::validate::{BuildError, GraphProblem, check};

/// Collects the parts of a graph; [`build`](GraphBuilder::build) checks them together.
///
/// ```
/// use std::sync::Arc;
/// use ibid_graph::{Context, END, Graph, NodeError, START, State};
///
/// #[derive(Clone, serde::Serialize)]
/// struct Count(u32);
///
/// impl State for Count {
///     type Update = u32;
///     fn apply(&mut self, update: u32) {
///         self.0 += update;
///     }
/// }
///
/// async fn double(state: Arc<Count>, _context: Context) -> Result<u32, NodeError> {
///     Ok(state.0)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let graph = Graph::builder("doubling")
///     .node("double", double)
///     .edge(START, "double")
///     .branch("double", |state: &Count| if state.0 < 100 { "double" } else { END }, ["double", END])
///     .at_most("double", 5, END)
///     .build()?;
/// assert_eq!(graph.run(Count(3)).await?.0, 96);
/// # Ok(())
/// # }
/// ```
pub struct GraphBuilder<S: State> {
    name: String,
    version: u32,
    nodes: Vec<(String, NodeKind<S>, TopologyNodeKind)>,
    former_names: Vec<(String, String)>,
    exits: Vec<(String, ExitSpec<S>)>,
    bounds: Vec<(String, Bound)>,
    time_limits: Vec<(String, Duration)>,
    retries: Vec<(String, RetryPolicy)>,
}

enum ExitSpec<S> {
    Edge(String),
    Branch(Arc<RouteFn<S>>, Vec<String>),
}

impl<S: State> Graph<S> {
    /// Begins a graph.
    pub fn builder(name: impl Into<String>) -> GraphBuilder<S> {
        GraphBuilder {
            name: name.into(),
            version: 1,
            nodes: Vec::new(),
            former_names: Vec::new(),
            exits: Vec::new(),
            bounds: Vec::new(),
            time_limits: Vec::new(),
            retries: Vec::new(),
        }
    }
}

impl<S: State> GraphBuilder<S> {
    /// Declares a version, 1 unless said. Raise it when the records of unfinished runs must not be
    /// continued although they would still fit; such turns then begin again.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Adds a node that works: it reads the state and returns what changes.
    #[must_use]
    pub fn node<F, R>(mut self, name: &str, work: F) -> Self
    where
        F: Fn(Arc<S>, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<S::Update, NodeError>> + Send + 'static,
    {
        let work = NodeKind::Work(Arc::new(move |state, context| Box::pin(work(state, context))));
        self.nodes.push((name.to_owned(), work, TopologyNodeKind::Work));
        self
    }

    /// Adds a node that asks a person and pauses the run until the answer comes. The question is a
    /// function of the state, the update a function of state and answer, so nothing runs twice.
    #[must_use]
    pub fn interrupt<Q, A, F, G>(mut self, name: &str, question: F, answer: G) -> Self
    where
        Q: Serialize,
        A: DeserializeOwned,
        F: Fn(&S) -> Q + Send + Sync + 'static,
        G: Fn(&S, A) -> S::Update + Send + Sync + 'static,
    {
        let ask = NodeKind::Interrupt {
            question: Box::new(move |state| {
                serde_json::to_value(question(state)).unwrap_or_else(|error| Value::String(error.to_string()))
            }),
            answer: Box::new(move |state, given| Ok(answer(state, A::deserialize(given)?))),
        };
        self.nodes.push((name.to_owned(), ask, TopologyNodeKind::Interrupt));
        self
    }

    /// Adds a graph as a node. `begin` makes its state from this one, `finish` makes this state's update
    /// from its last one. Its steps are steps of the run, named `name/inner`.
    #[must_use]
    pub fn graph<T, F, G>(mut self, name: &str, inner: &Graph<T>, begin: F, finish: G) -> Self
    where
        T: State,
        F: Fn(&S) -> T + Send + Sync + 'static,
        G: Fn(&T) -> S::Update + Send + Sync + 'static,
    {
        let program = inner.compile(move |outer: Arc<S>| Ok(begin(&outer)), finish);
        let topology = TopologyNodeKind::Graph(Box::new(inner.topology().clone()));
        self.nodes.push((name.to_owned(), NodeKind::Graph(program), topology));
        self
    }

    /// Declares what a node was called before. Runs that were begun under the old name go on with their finished steps.
    #[must_use]
    pub fn former_name(mut self, node: &str, former: &str) -> Self {
        self.former_names.push((node.to_owned(), former.to_owned()));
        self
    }

    /// Leads from `from` to `to`, always.
    #[must_use]
    pub fn edge(mut self, from: &str, to: &str) -> Self {
        self.exits.push((from.to_owned(), ExitSpec::Edge(to.to_owned())));
        self
    }

    /// Leads from `from` to the one of `targets` that `route` names. A route depends on the state alone.
    #[must_use]
    pub fn branch<'a>(
        mut self,
        from: &str,
        route: impl Fn(&S) -> &'static str + Send + Sync + 'static,
        targets: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let targets = targets.into_iter().map(str::to_owned).collect();
        self.exits.push((from.to_owned(), ExitSpec::Branch(Arc::new(route), targets)));
        self
    }

    /// Bounds the visits of a node in one run; whoever would visit it once more goes to `otherwise`.
    /// Every cycle needs such a node.
    #[must_use]
    pub fn at_most(mut self, node: &str, visits: u32, otherwise: &str) -> Self {
        self.bounds.push((node.to_owned(), Bound { visits, otherwise: otherwise.to_owned() }));
        self
    }

    /// Limits the time of one attempt at a node. An attempt that takes longer has failed and may be retried.
    #[must_use]
    pub fn time_limit(mut self, node: &str, limit: Duration) -> Self {
        self.time_limits.push((node.to_owned(), limit));
        self
    }

    /// Tries a node again when it fails with [`Retryable`](crate::Retryable).
    #[must_use]
    pub fn retry(mut self, node: &str, policy: RetryPolicy) -> Self {
        self.retries.push((node.to_owned(), policy));
        self
    }

    /// Checks the graph and makes it.
    ///
    /// # Errors
    /// Names every problem: an unknown target, a node that cannot be reached or from which END cannot
    /// be reached, a cycle without a bound, and the like.
    pub fn build(self) -> Result<Graph<S>, BuildError> {
        let mut problems = self.loose_settings();
        problems.extend(self.exit_problems());
        let topology = self.topology();
        problems.extend(check(&topology));
        if !problems.is_empty() {
            return Err(BuildError { graph: self.name, problems });
        }
        Ok(self.assemble(topology))
    }

    fn loose_settings(&self) -> Vec<GraphProblem> {
        let settings = self.bounds.iter().map(|(name, _)| ("a bound", name));
        let settings = settings.chain(self.time_limits.iter().map(|(name, _)| ("a time limit", name)));
        let settings = settings.chain(self.former_names.iter().map(|(name, _)| ("a former name", name)));
        let settings = settings.chain(self.retries.iter().map(|(name, _)| ("a retry policy", name)));
        let mut problems = Vec::new();
        for (what, name) in settings {
            let kind = self.nodes.iter().find(|(node, ..)| node == name).map(|(.., kind)| kind);
            match kind {
                None => problems.push(GraphProblem::Unknown { what: what.to_owned(), name: name.clone() }),
                Some(TopologyNodeKind::Interrupt | TopologyNodeKind::Graph(_))
                    if !["a bound", "a former name"].contains(&what) =>
                {
                    problems.push(GraphProblem::NoWork { what: what.to_owned(), node: name.clone() });
                }
                Some(_) => {}
            }
        }
        problems
    }

    fn exit_problems(&self) -> Vec<GraphProblem> {
        let mut problems = Vec::new();
        for (position, (from, way)) in self.exits.iter().enumerate() {
            let earlier = self.exits[..position].iter().filter(|(other, _)| other == from).count();
            if earlier == 1 {
                problems.push(GraphProblem::SeveralExits(from.clone()));
            }
            if matches!(way, ExitSpec::Branch(_, targets) if targets.is_empty()) {
                problems.push(GraphProblem::EmptyBranch(from.clone()));
            }
        }
        problems
    }

    fn topology(&self) -> Topology {
        let bound = |name: &str| {
            self.bounds.iter().rev().find(|(node, _)| node == name).map(|(_, bound)| bound.clone())
        };
        let nodes = self.nodes.iter().map(|(name, _, kind)| TopologyNode {
            name: name.clone(),
            kind: kind.clone(),
            bound: bound(name),
        });
        let edge = |from: &String, to: &String, conditional| TopologyEdge {
            from: from.clone(),
            to: to.clone(),
            conditional,
        };
        let edges = self.exits.iter().flat_map(|(from, way)| match way {
            ExitSpec::Edge(to) => vec![edge(from, to, false)],
            ExitSpec::Branch(_, targets) => targets.iter().map(|to| edge(from, to, true)).collect(),
        });
        Topology {
            name: self.name.clone(),
            declared_version: self.version,
            nodes: nodes.collect(),
            edges: edges.collect(),
        }
    }

    /// Turns names into indices. The checks have passed, so every name is known; END stands for itself.
    fn assemble(self, topology: Topology) -> Graph<S> {
        let target = |name: &str| {
            let index = topology.nodes.iter().position(|node| node.name == name);
            index.map_or(Target::End, Target::Node)
        };
        let exit = |from: &str| match self.exits.iter().find(|(source, _)| source == from) {
            None => Exit::To(Target::End),
            Some((_, ExitSpec::Edge(to))) => Exit::To(target(to)),
            Some((_, ExitSpec::Branch(route, targets))) => Exit::Branch {
                route: route.clone(),
                targets: targets.iter().map(|name| (name.clone(), target(name))).collect(),
            },
        };
        let start = exit(START);
        let nodes = self.nodes.into_iter().map(|(name, kind, _)| Node {
            kind,
            exit: exit(&name),
            bound: topology.bound(&name).map(|bound| (bound.visits, target(&bound.otherwise))),
            time_limit: setting(&self.time_limits, &name),
            retry: setting(&self.retries, &name).unwrap_or_default(),
            former_names: self
                .former_names
                .iter()
                .filter(|(node, _)| *node == name)
                .map(|(_, former)| former.clone())
                .collect(),
            name: name.into(),
        });
        let nodes = nodes.collect();
        Graph(Arc::new(Parts { start, nodes, topology }))
    }
}

fn setting<T: Copy>(settings: &[(String, T)], name: &str) -> Option<T> {
    settings.iter().rev().find(|(node, _)| node == name).map(|(_, value)| *value)
}
