//! What `build()` refuses, and in which words.

use std::sync::Arc;

use ibid_graph::{Context, END, Graph, GraphBuilder, NodeError, START, State};

#[derive(Clone, serde::Serialize)]
struct Nothing;

impl State for Nothing {
    type Update = ();
    fn apply(&mut self, (): ()) {}
}

async fn idle(_: Arc<Nothing>, _: Context) -> Result<(), NodeError> {
    Ok(())
}

fn graph(nodes: &[&str]) -> GraphBuilder<Nothing> {
    nodes.iter().fold(Graph::builder("test"), |builder, name| builder.node(name, idle))
}

#[track_caller]
fn refused(builder: GraphBuilder<Nothing>, expected: &str) {
    let error = builder.build().err().expect("it must be refused").to_string();
    assert_eq!(error, format!("the graph `test` cannot be built: {expected}"));
}

#[test]
fn an_unknown_target_is_refused() {
    refused(
        graph(&["a"]).edge(START, "a").edge("a", "b"),
        "the edge from `a` names `b`, which is not a node",
    );
    refused(
        graph(&["a"]).edge(START, "a").branch("a", |_| END, [END, "b"]),
        "the edge from `a` names `b`, which is not a node",
    );
    refused(
        graph(&["a"]).edge(START, "a").edge("a", END).at_most("a", 1, "b"),
        "the bound of `a` names `b`, which is not a node",
    );
}

#[test]
fn an_unreachable_node_is_refused() {
    refused(
        graph(&["a", "b"]).edge(START, "a").edge("a", END).edge("b", END),
        "`b` cannot be reached from START",
    );
}

#[test]
fn a_node_without_a_way_to_the_end_is_refused() {
    let trap = graph(&["a", "b"]).edge(START, "a").branch("a", |_| END, ["b", END]);
    refused(trap.edge("b", "b").at_most("b", 2, "b"), "the bound of `b` leads back to itself");
    let trap = graph(&["a", "b", "c"]).edge(START, "a").branch("a", |_| END, ["b", END]);
    refused(
        trap.edge("b", "c").edge("c", "b").at_most("c", 2, "b"),
        "END cannot be reached from `b`; END cannot be reached from `c`; \
         the cycle `b` → `b` has no bound; give one of its nodes `at_most`",
    );
}

#[test]
fn a_cycle_without_a_bound_is_refused() {
    let looping = || {
        graph(&["a", "b", "c"]).edge(START, "a").edge("a", "b").edge("b", "c").branch(
            "c",
            |_| END,
            ["a", END],
        )
    };
    refused(looping(), "the cycle `a` → `b` → `c` → `a` has no bound; give one of its nodes `at_most`");
    assert!(looping().at_most("b", 3, END).build().is_ok());
}

#[test]
fn a_bound_that_leads_back_into_its_own_cycle_is_refused() {
    // Once `b` is used up, `a` would lead to itself for ever.
    refused(
        graph(&["a", "b"])
            .edge(START, "a")
            .branch("a", |_| "b", ["b", END])
            .edge("b", "a")
            .at_most("b", 3, "a"),
        "the cycle `a` → `a` has no bound; give one of its nodes `at_most`",
    );
}

#[test]
fn names_that_would_confuse_are_refused() {
    let hint = "cannot be the name of a node (it is empty, START, END, taken already, or contains a slash)";
    for name in ["", "START", "END", "a/b"] {
        refused(graph(&["a", name]).edge(START, "a").edge("a", END), &format!("`{name}` {hint}"));
    }
    refused(graph(&["a", "a"]).edge(START, "a").edge("a", END), &format!("`a` {hint}"));
}

#[test]
fn every_node_needs_exactly_one_way_out() {
    refused(
        graph(&["a"]).edge("a", END),
        "nothing leads on from `START`; give it an edge or a branch; `a` cannot be reached from START",
    );
    refused(
        graph(&["a"]).edge(START, "a").edge("a", END).edge("a", "a"),
        "`a` has more than one way out; use one edge, or one branch with all targets; \
         the cycle `a` → `a` has no bound; give one of its nodes `at_most`",
    );
    let empty: [&str; 0] = [];
    refused(
        graph(&["a"]).edge(START, "a").branch("a", |_| END, empty),
        "the branch after `a` names no target; nothing leads on from `a`; give it an edge or a branch; \
         END cannot be reached from `a`",
    );
}

#[test]
fn settings_of_unknown_nodes_are_refused() {
    let limit = std::time::Duration::from_secs(1);
    refused(
        graph(&["a"]).edge(START, "a").edge("a", END).time_limit("b", limit),
        "a time limit names `b`, which is not a node",
    );
    let asking = Graph::<Nothing>::builder("test").interrupt("a", |_| "?", |_, (): ()| ());
    refused(
        asking.edge(START, "a").edge("a", END).time_limit("a", limit),
        "`a` has a time limit, but it does no work itself",
    );
}
