//! What `build()` refuses, so that every graph that exists ends.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use crate::shape::{END, START, Shape};

/// What is wrong with a graph: as much as can be told at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// Name of the graph.
    pub graph: String,
    /// What is wrong with it, never empty.
    pub problems: Vec<Problem>,
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
pub enum Problem {
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
pub(crate) fn check(shape: &Shape) -> Vec<Problem> {
    let mut problems = names(shape);
    if problems.is_empty() {
        problems.extend(bounds(shape));
    }
    if problems.is_empty() {
        problems.extend(exits(shape));
        problems.extend(reachability(shape));
        problems.extend(cycles(shape));
    }
    problems
}

fn names(shape: &Shape) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut known = HashSet::new();
    for node in &shape.nodes {
        let name = node.name.as_str();
        let reserved = name.is_empty() || name == START || name == END || name.contains('/');
        if reserved || !known.insert(name) {
            problems.push(Problem::Name(node.name.clone()));
        }
    }
    let mut require = |name: &str, special: &str, what: String| {
        if name != special && !known.contains(name) {
            problems.push(Problem::Unknown { what, name: name.to_owned() });
        }
    };
    for edge in &shape.edges {
        require(&edge.from, START, format!("the edge to `{}`", edge.to));
        require(&edge.to, END, format!("the edge from `{}`", edge.from));
    }
    for node in &shape.nodes {
        if let Some(bound) = &node.bound {
            require(&bound.otherwise, END, format!("the bound of `{}`", node.name));
        }
    }
    problems
}

fn bounds(shape: &Shape) -> Vec<Problem> {
    let mut problems = Vec::new();
    for node in &shape.nodes {
        let Some(bound) = &node.bound else { continue };
        if bound.visits == 0 {
            problems.push(Problem::BoundOfZero(node.name.clone()));
        }
        let mut passed = HashSet::from([node.name.as_str()]);
        let mut next = Some(bound);
        while let Some(bound) = next {
            if !passed.insert(&bound.otherwise) {
                problems.push(Problem::CircularBound(node.name.clone()));
                break;
            }
            next = shape.bound(&bound.otherwise);
        }
    }
    problems
}

fn exits(shape: &Shape) -> Vec<Problem> {
    let sources = std::iter::once(START).chain(shape.nodes.iter().map(|node| node.name.as_str()));
    sources
        .filter(|source| !shape.edges.iter().any(|edge| edge.from == *source))
        .map(|source| Problem::NoExit(source.to_owned()))
        .collect()
}

fn reachability(shape: &Shape) -> Vec<Problem> {
    let from_start = closure(START, |name| shape.successors(name));
    let to_end = closure(END, |name| {
        let sources = shape.nodes.iter().map(|node| node.name.as_str());
        sources.filter(|source| shape.successors(source).contains(&name)).collect()
    });
    let mut problems = Vec::new();
    for node in &shape.nodes {
        if !from_start.contains(node.name.as_str()) {
            problems.push(Problem::Unreachable(node.name.clone()));
        }
        if !to_end.contains(node.name.as_str()) {
            problems.push(Problem::NoEnd(node.name.clone()));
        }
    }
    problems
}

/// A graph ends if the nodes without a bound form no cycle: then only finitely many steps lie between
/// two visits of bounded nodes, and there are finitely many such visits.
fn cycles(shape: &Shape) -> Vec<Problem> {
    let unbounded = |name: &&str| *name != END && shape.bound(name).is_none();
    let mut reported: HashSet<BTreeSet<&str>> = HashSet::new();
    let mut problems = Vec::new();
    for node in shape.nodes.iter().filter(|node| node.bound.is_none()) {
        let mut path = vec![node.name.as_str()];
        let mut open = vec![shape.successors(&node.name)];
        let mut seen = HashSet::new();
        while let Some(choices) = open.last_mut() {
            let Some(next) = choices.pop() else {
                open.pop();
                path.pop();
                continue;
            };
            if next == node.name {
                if reported.insert(path.iter().copied().collect()) {
                    problems.push(Problem::UnboundedCycle(written(&path)));
                }
                break;
            }
            if unbounded(&next) && seen.insert(next) {
                path.push(next);
                open.push(shape.successors(next));
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
