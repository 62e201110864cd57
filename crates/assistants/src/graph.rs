//! The graphs, on one state: three ways to the sources, and one way from them to the answer.
//!
//! `conversational` condenses and retrieves, `adaptive` routes, rewrites and retrieves, `agentic` plans and calls tools.
//! All generate and verify. An assistant with several modes has the ways of all of them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ibid_core::answer::Intent;
use ibid_core::{Message, TurnInput};
use ibid_graph::{BuildError, CompiledGraph, Context, END, Graph, NodeError, RetryPolicy, START};

use crate::answer;
use crate::definition::GraphKind;
use crate::folder::Assistant;
use crate::node_context::{NodeContext, Ports};
use crate::steps;
use crate::turn::{TurnState, TurnUpdate};

/// How often a step is tried that failed in a way that may pass.
const ATTEMPTS: u32 = 3;
/// How long a step with a model may take.
const MODEL_TIME: Duration = Duration::from_secs(20 * 60);

/// The program of an assistant: from a turn's input to what is said.
///
/// # Errors
/// Fails when the assistant has no modes.
pub fn assistant_graph(
    assistant: Assistant,
    ports: Ports,
) -> Result<Arc<dyn CompiledGraph<TurnInput, Vec<Message>>>, BuildError> {
    let Assistant { name, definition, prompts, formats } = assistant;
    let node_context = Arc::new(NodeContext { definition, prompts, formats, ports });
    let graph = build(&name, &node_context)?;
    Ok(graph
        .compile(move |input: TurnInput| TurnState::begin(&node_context.definition, input), answer::messages))
}

fn build(name: &str, node_context: &Arc<NodeContext>) -> Result<Graph<TurnState>, BuildError> {
    let kinds = node_context.definition.graphs();
    let has = |kind| kinds.contains(&kind);
    let mut graph = Graph::builder(name);
    let mut entries = vec!["route"];
    let mut after = vec!["generate"];
    let mut models = vec!["generate", "repair"];
    graph = graph.node("route", node(node_context, steps::route));
    if has(GraphKind::Conversational) {
        graph = graph.node("condense", node(node_context, steps::condense)).edge("condense", "retrieve");
        entries.extend(["condense", "retrieve"]);
        after.extend(["condense", "retrieve"]);
        models.push("condense");
    }
    if has(GraphKind::Adaptive) {
        graph = graph
            .node("classify", node(node_context, steps::classify))
            .node("rewrite", node(node_context, steps::rewrite))
            .former_name("classify", "decide")
            .branch("classify", after_route, ["rewrite", "retrieve", "generate"])
            .edge("rewrite", "retrieve");
        after.extend(["classify", "rewrite", "retrieve"]);
        models.extend(["classify", "rewrite"]);
    }
    if has(GraphKind::Conversational) || has(GraphKind::Adaptive) {
        graph = graph
            .node("retrieve", node(node_context, steps::retrieve))
            .edge("retrieve", "generate")
            .retry("retrieve", RetryPolicy::times(ATTEMPTS));
    }
    if has(GraphKind::Agentic) {
        let own = node_context.clone();
        let rounds = node_context.definition.limits.rounds as usize;
        let after_tools =
            move |turn: &TurnState| if turn.rounds.len() < rounds { "agent" } else { "generate" };
        let after_agent =
            move |turn: &TurnState| if steps::wants_tools(&own, turn) { "tools" } else { "generate" };
        graph = graph
            .node("plan", node(node_context, steps::plan))
            .node("agent", node(node_context, steps::agent))
            .node("tools", node(node_context, steps::tools))
            .edge("plan", "agent")
            .branch("agent", after_agent, ["tools", "generate"])
            .branch("tools", after_tools, ["agent", "generate"])
            .at_most("tools", node_context.definition.limits.rounds, "generate");
        entries.push("plan");
        after.push("plan");
        models.extend(["plan", "agent"]);
    }
    graph = graph
        .node("generate", node(node_context, steps::generate))
        .node("verify", node(node_context, steps::verify))
        .node("repair", node(node_context, steps::repair))
        .edge("generate", "verify")
        .branch(
            "verify",
            |turn: &TurnState| if steps::is_rejected(turn) { "repair" } else { END },
            ["repair", END],
        )
        .edge("repair", "verify")
        .at_most("repair", steps::MOST_REPAIRS, END);
    for node in models {
        graph = graph.time_limit(node, MODEL_TIME).retry(node, RetryPolicy::times(ATTEMPTS));
    }
    after.sort_unstable();
    after.dedup();
    graph.branch("route", after_route, after).branch(START, first, entries).build()
}

/// A node with what it works with.
fn node<R>(
    node_context: &Arc<NodeContext>,
    work: impl Fn(Arc<NodeContext>, Arc<TurnState>, Context) -> R + Send + Sync + 'static,
) -> impl Fn(Arc<TurnState>, Context) -> R + Send + Sync + 'static
where
    R: Future<Output = Result<TurnUpdate, NodeError>> + Send + 'static,
{
    let node_context = node_context.clone();
    move |turn, context| work(node_context.clone(), turn, context)
}

fn first(turn: &TurnState) -> &'static str {
    if turn.needs_route() { "route" } else { to_sources(turn) }
}

fn after_route(turn: &TurnState) -> &'static str {
    match turn.route.as_ref().and_then(|route| route.intent) {
        None => "classify",
        Some(Intent::Chat) => "generate",
        Some(Intent::DirectRag | Intent::SpecificDocRag) => to_sources(turn),
    }
}

/// Where the way of a graph to its sources begins.
fn to_sources(turn: &TurnState) -> &'static str {
    let rewords = turn.has_history() || turn.request.rephrase_first;
    match turn.request.graph {
        GraphKind::Conversational if rewords => "condense",
        GraphKind::Adaptive if rewords => "rewrite",
        GraphKind::Conversational | GraphKind::Adaptive => "retrieve",
        GraphKind::Agentic => "plan",
    }
}
