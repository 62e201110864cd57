//! The plan of a graph without its code: names, edges and bounds. It is what is checked, drawn and
//! fingerprinted.

use std::fmt;
use std::str::FromStr;

/// Where every run begins. The source of the first edge.
pub const START: &str = "START";
/// Where every run ends. A target, never a source.
pub const END: &str = "END";

/// The plan of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// Name of the graph.
    pub name: String,
    /// What the author declares with [`version`](crate::GraphBuilder::version).
    pub declared_version: u32,
    /// The nodes, in the order in which they were added.
    pub nodes: Vec<TopologyNode>,
    /// The ways between them.
    pub edges: Vec<TopologyEdge>,
}

/// A node of a [`Topology`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyNode {
    /// Name of the node.
    pub name: String,
    /// What kind of node.
    pub kind: TopologyNodeKind,
    /// The most visits, and where a further visit goes instead.
    pub bound: Option<Bound>,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopologyNodeKind {
    /// It works.
    Work,
    /// It asks a person.
    Interrupt,
    /// It is a graph of its own.
    Graph(Box<Topology>),
}

/// The most visits of a node in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// How many visits.
    pub visits: u32,
    /// Where a further visit goes instead.
    pub otherwise: String,
}

/// An edge of a [`Topology`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyEdge {
    /// Where it starts: a node or [`START`].
    pub from: String,
    /// Where it leads: a node or [`END`].
    pub to: String,
    /// Whether a route decides if it is taken.
    pub conditional: bool,
}

impl Topology {
    /// The version of this plan, which a run remembers.
    pub fn version(&self) -> Version {
        Version { declared: self.declared(), fingerprint: fnv1a(&format!("{self:?}")) }
    }

    /// What is declared, with the graphs inside. Versions are only ever raised, so their sum tells.
    fn declared(&self) -> u32 {
        let inner = self.nodes.iter().filter_map(|node| match &node.kind {
            TopologyNodeKind::Graph(inner) => Some(inner.declared()),
            TopologyNodeKind::Work | TopologyNodeKind::Interrupt => None,
        });
        self.declared_version.saturating_add(inner.fold(0, u32::saturating_add))
    }

    /// Where a step may lead from `from`, with redirections of bounded nodes.
    pub(crate) fn successors<'a>(&'a self, from: &str) -> Vec<&'a str> {
        let mut found: Vec<&str> = Vec::new();
        let mut open: Vec<&str> =
            self.edges.iter().filter(|edge| edge.from == from).map(|edge| edge.to.as_str()).collect();
        while let Some(name) = open.pop() {
            if found.contains(&name) {
                continue;
            }
            found.push(name);
            open.extend(self.bound(name).map(|bound| bound.otherwise.as_str()));
        }
        found
    }

    pub(crate) fn bound(&self, name: &str) -> Option<&Bound> {
        self.nodes.iter().find(|node| node.name == name)?.bound.as_ref()
    }
}

/// Which plan a run was begun with: what the author declared, and a fingerprint of the topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Raised by the author when old records must not be continued; that of the graph and of the graphs
    /// inside it, added up.
    pub declared: u32,
    /// Changes with any name, edge or bound.
    pub fingerprint: u64,
}

impl Version {
    /// Whether records made under `self` may be tried on a graph of version `now`. A changed topology
    /// alone does not forbid it: each record is held against the graph when it is replayed.
    pub fn may_continue_as(&self, now: &Self) -> bool {
        self.declared == now.declared
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{:016x}", self.declared, self.fingerprint)
    }
}

impl FromStr for Version {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (declared, fingerprint) = text.split_once('-').ok_or(InvalidVersion)?;
        Ok(Self {
            declared: declared.parse().map_err(|_| InvalidVersion)?,
            fingerprint: u64::from_str_radix(fingerprint, 16).map_err(|_| InvalidVersion)?,
        })
    }
}

/// The text is not a graph's version.
#[derive(Debug, thiserror::Error)]
#[error("not a graph version: expected a number, a hyphen and 16 hexadecimal digits")]
pub struct InvalidVersion;

/// FNV-1a: stable over releases and machines, which the standard hasher is not.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
