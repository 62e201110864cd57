//! Draws a graph as a Mermaid flowchart.

use std::fmt::Write;

use crate::shape::{END, START, Shape, ShapeKind};

impl Shape {
    /// The graph as a Mermaid flowchart: conditional edges are dotted, bounds stand in the node and
    /// lead on with a thick edge, inner graphs are framed.
    pub fn mermaid(&self) -> String {
        let mut text = String::from("flowchart TD\n");
        draw(self, "", "    ", &mut text);
        text
    }
}

fn draw(shape: &Shape, prefix: &str, indent: &str, text: &mut String) {
    // Writing to a String cannot fail.
    let id = |name: &str| format!("{prefix}{}", identifier(shape, name));
    let _ = writeln!(text, "{indent}{}([start])", id(START));
    for node in &shape.nodes {
        let label = match &node.bound {
            Some(bound) => format!("{} (at most {})", node.name, bound.visits),
            None => node.name.clone(),
        };
        let label = label.replace('"', "#quot;");
        let id = id(&node.name);
        let _ = match &node.kind {
            ShapeKind::Work => writeln!(text, "{indent}{id}[\"{label}\"]"),
            ShapeKind::Ask => writeln!(text, "{indent}{id}{{{{\"{label}\"}}}}"),
            ShapeKind::Graph(inner) => {
                let _ = writeln!(text, "{indent}subgraph {id}[\"{label}\"]");
                draw(inner, &format!("{id}__"), &format!("{indent}    "), text);
                writeln!(text, "{indent}end")
            }
        };
    }
    let _ = writeln!(text, "{indent}{}([end])", id(END));
    for edge in &shape.edges {
        let arrow = if edge.conditional { "-.->" } else { "-->" };
        let _ = writeln!(text, "{indent}{} {arrow} {}", id(&edge.from), id(&edge.to));
    }
    for node in &shape.nodes {
        if let Some(bound) = &node.bound {
            let (from, to) = (id(&node.name), id(&bound.otherwise));
            let _ = writeln!(text, "{indent}{from} == after {} ==> {to}", bound.visits);
        }
    }
}

/// The name where Mermaid can read it as an identifier, else the node's position.
fn identifier(shape: &Shape, name: &str) -> String {
    const KEYWORDS: [&str; 8] =
        ["end", "graph", "flowchart", "subgraph", "style", "class", "click", "default"];
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if plain && !KEYWORDS.contains(&name) {
        return name.to_owned();
    }
    let position = shape.nodes.iter().position(|node| node.name == name);
    format!("_{}", position.unwrap_or_default())
}
