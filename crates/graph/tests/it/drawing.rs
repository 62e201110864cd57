//! The picture of a graph.

use ibid_graph::{END, Graph, START, State};

#[derive(Clone, serde::Serialize)]
struct Nothing;

impl State for Nothing {
    type Update = ();
    fn apply(&mut self, (): ()) {}
}

fn builder(name: &str) -> ibid_graph::GraphBuilder<Nothing> {
    Graph::builder(name)
}

#[test]
fn a_graph_draws_itself_with_branches_bounds_questions_and_inner_graphs() {
    let inner = builder("search").node("look", async |_, _| Ok(())).edge(START, "look").edge("look", END);
    let inner = inner.build().unwrap();
    let graph = builder("answer")
        .graph("search", &inner, |_| Nothing, |_| ())
        .node("grade", async |_, _| Ok(()))
        .node("re-write \"it\"", async |_, _| Ok(()))
        .interrupt("approve", |_| "go on?", |_, (): ()| ())
        .edge(START, "search")
        .edge("search", "grade")
        .branch("grade", |_| "approve", ["approve", "re-write \"it\""])
        .edge("re-write \"it\"", "search")
        .at_most("re-write \"it\"", 3, "approve")
        .edge("approve", END)
        .build()
        .unwrap();
    insta::assert_snapshot!(graph.mermaid());
}
