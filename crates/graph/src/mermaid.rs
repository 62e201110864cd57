//! Draws a graph as a Mermaid flowchart.

use std::fmt::Write;

use crate::topology::{END, START, Topology, TopologyNodeKind};

impl Topology {
    /// The graph as a Mermaid flowchart: conditional edges are dotted, bounds stand in the node and
    /// lead on with a thick edge, inner graphs are framed.
    pub fn mermaid(&self) -> String {
        let mut text = String::from("flowchart TD\n");
        draw(self, "", "    ", &mut text);
        text
    }
}

fn draw(topology: &Topology, prefix: &str, indent: &str, text: &mut String) {
    // Writing to a String cannot fail.
    let id = |name: &str| format!("{prefix}{}", identifier(topology, name));
    let _ = writeln!(text, "{indent}{}([start])", id(START));
    for node in &topology.nodes {
        let label = match &node.bound {
            Some(bound) => format!("{} (at most {})", node.name, bound.visits),
            None => node.name.clone(),
        };
        let label = label.replace('"', "#quot;");
        let id = id(&node.name);
        let _ = match &node.kind {
            TopologyNodeKind::Work => writeln!(text, "{indent}{id}[\"{label}\"]"),
            TopologyNodeKind::Interrupt => writeln!(text, "{indent}{id}{{{{\"{label}\"}}}}"),
            TopologyNodeKind::Graph(inner) => {
                let _ = writeln!(text, "{indent}subgraph {id}[\"{label}\"]");
                draw(inner, &format!("{id}__"), &format!("{indent}    "), text);
                writeln!(text, "{indent}end")
            }
        };
    }
    let _ = writeln!(text, "{indent}{}([end])", id(END));
    for edge in &topology.edges {
        let arrow = if edge.conditional { "-.->" } else { "-->" };
        let _ = writeln!(text, "{indent}{} {arrow} {}", id(&edge.from), id(&edge.to));
    }
    for node in &topology.nodes {
        if let Some(bound) = &node.bound {
            let (from, to) = (id(&node.name), id(&bound.otherwise));
            let _ = writeln!(text, "{indent}{from} == after {} ==> {to}", bound.visits);
        }
    }
}

/// The name where Mermaid can read it as an identifier, else the node's position.
fn identifier(topology: &Topology, name: &str) -> String {
    const KEYWORDS: [&str; 8] =
        ["end", "graph", "flowchart", "subgraph", "style", "class", "click", "default"];
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if plain && !KEYWORDS.contains(&name) {
        return name.to_owned();
    }
    let position = topology.nodes.iter().position(|node| node.name == name);
    format!("_{}", position.unwrap_or_default())
}
