//! What `build()` refuses, so that every graph that exists ends.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use crate::topology::{END, START, Topology};

/// What is wrong with a graph: as much as can be told at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// Name of the graph.
    pub graph: String,
    /// What is wrong with it, never empty.
    pub problems: Vec<GraphProblem>,
}

impl std::error::Error for BuildError {}

impl fmt::Display for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the graph `{}` cannot be built: ", self.graph)?;
        for (position, problem) in self.problems.iter().enumerate() {
            let separator = if position == 0 { "" } else { "; " };
            write!(formatter, "{separator}{problem}")?;
        }
        Ok(())
    }
}

/// One thing that is wrong with a graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphProblem {
    /// A name that cannot be a node's.
    #[error(
        "`{0}` cannot be the name of a node (it is empty, START, END, taken already, or contains a slash)"
    )]
    Name(String),
    /// An edge, branch, bound or setting names a node that there is not.
    #[error("{what} names `{name}`, which is not a node")]
    Unknown {
        /// Which part of the graph.
        what: String,
        /// The name that it gives.
        name: String,
    },
    /// A node has no way out, or START has none.
    #[error("nothing leads on from `{0}`; give it an edge or a branch")]
    NoExit(String),
    /// A node has more than one edge or branch.
    #[error("`{0}` has more than one way out; use one edge, or one branch with all targets")]
    SeveralExits(String),
    /// A branch without targets.
    #[error("the branch after `{0}` names no target")]
    EmptyBranch(String),
    /// No way from START leads there.
    #[error("`{0}` cannot be reached from START")]
    Unreachable(String),
    /// No way from there leads to END.
    #[error("END cannot be reached from `{0}`")]
    NoEnd(String),
    /// A cycle that nothing bounds.
    #[error("the cycle {0} has no bound; give one of its nodes `at_most`")]
    UnboundedCycle(String),
    /// A setting for work on a node that does none itself.
    #[error("`{node}` has {what}, but it does no work itself")]
    NoWork {
        /// Which setting.
        what: String,
        /// The node.
        node: String,
    },
    /// A bound of zero visits.
    #[error("`{0}` is bounded to no visit at all")]
    BoundOfZero(String),
    /// Bounds that send each other on for ever.
    #[error("the bound of `{0}` leads back to itself")]
    CircularBound(String),
}

/// Checks what can be seen in the plan alone. Names are known to exist when the deeper checks run.
pub(crate) fn check(topology: &Topology) -> Vec<GraphProblem> {
    let mut problems = names(topology);
    if problems.is_empty() {
        problems.extend(bounds(topology));
    }
    if problems.is_empty() {
        problems.extend(exits(topology));
        problems.extend(reachability(topology));
        problems.extend(cycles(topology));
    }
    problems
}

fn names(topology: &Topology) -> Vec<GraphProblem> {
    let mut problems = Vec::new();
    let mut known = HashSet::new();
    for node in &topology.nodes {
        let name = node.name.as_str();
        let reserved = name.is_empty() || name == START || name == END || name.contains('/');
        if reserved || !known.insert(name) {
            problems.push(GraphProblem::Name(node.name.clone()));
        }
    }
    let mut require = |name: &str, special: &str, what: String| {
        if name != special && !known.contains(name) {
            problems.push(GraphProblem::Unknown { what, name: name.to_owned() });
        }
    };
    for edge in &topology.edges {
        require(&edge.from, START, format!("the edge to `{}`", edge.to));
        require(&edge.to, END, format!("the edge from `{}`", edge.from));
    }
    for node in &topology.nodes {
        if let Some(bound) = &node.bound {
            require(&bound.otherwise, END, format!("the bound of `{}`", node.name));
        }
    }
    problems
}

fn bounds(topology: &Topology) -> Vec<GraphProblem> {
    let mut problems = Vec::new();
    for node in &topology.nodes {
        let Some(bound) = &node.bound else { continue };
        if bound.visits == 0 {
            problems.push(GraphProblem::BoundOfZero(node.name.clone()));
        }
        let mut passed = HashSet::from([node.name.as_str()]);
        let mut next = Some(bound);
        while let Some(bound) = next {
            if !passed.insert(&bound.otherwise) {
                problems.push(GraphProblem::CircularBound(node.name.clone()));
                break;
            }
            next = topology.bound(&bound.otherwise);
        }
    }
    problems
}

fn exits(topology: &Topology) -> Vec<GraphProblem> {
    let sources = std::iter::once(START).chain(topology.nodes.iter().map(|node| node.name.as_str()));
    sources
        .filter(|source| !topology.edges.iter().any(|edge| edge.from == *source))
        .map(|source| GraphProblem::NoExit(source.to_owned()))
        .collect()
}

fn reachability(topology: &Topology) -> Vec<GraphProblem> {
    let from_start = closure(START, |name| topology.successors(name));
    let to_end = closure(END, |name| {
        let sources = topology.nodes.iter().map(|node| node.name.as_str());
        sources.filter(|source| topology.successors(source).contains(&name)).collect()
    });
    let mut problems = Vec::new();
    for node in &topology.nodes {
        if !from_start.contains(node.name.as_str()) {
            problems.push(GraphProblem::Unreachable(node.name.clone()));
        }
        if !to_end.contains(node.name.as_str()) {
            problems.push(GraphProblem::NoEnd(node.name.clone()));
        }
    }
    problems
}

/// A graph ends if the nodes without a bound form no cycle: then only finitely many steps lie between
/// two visits of bounded nodes, and there are finitely many such visits.
fn cycles(topology: &Topology) -> Vec<GraphProblem> {
    let unbounded = |name: &&str| *name != END && topology.bound(name).is_none();
    let mut reported: HashSet<BTreeSet<&str>> = HashSet::new();
    let mut problems = Vec::new();
    for node in topology.nodes.iter().filter(|node| node.bound.is_none()) {
        let mut path = vec![node.name.as_str()];
        let mut open = vec![topology.successors(&node.name)];
        let mut seen = HashSet::new();
        while let Some(choices) = open.last_mut() {
            let Some(next) = choices.pop() else {
                open.pop();
                path.pop();
                continue;
            };
            if next == node.name {
                if reported.insert(path.iter().copied().collect()) {
                    problems.push(GraphProblem::UnboundedCycle(written(&path)));
                }
                break;
            }
            if unbounded(&next) && seen.insert(next) {
                path.push(next);
                open.push(topology.successors(next));
            }
        }
    }
    problems
}

fn written(path: &[&str]) -> String {
    let way = path.iter().chain(path.first()).map(|name| format!("`{name}`"));
    way.collect::<Vec<_>>().join(" → ")
}

fn closure<'a>(from: &'a str, next: impl Fn(&str) -> Vec<&'a str>) -> HashSet<&'a str> {
    let mut reached = HashSet::from([from]);
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        open.extend(next(name).into_iter().filter(|name| reached.insert(name)));
    }
    reached
}
