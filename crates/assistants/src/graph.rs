//! The graphs, on one state: three ways to the sources, and one way from them to the answer.
//!
//! `conversational` condenses and retrieves, `adaptive` routes, rewrites and retrieves, `agentic` plans and calls tools.
//! All generate and verify. An assistant with several modes has the ways of all of them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ibid_core::{Message, TurnInput};
use ibid_graph::{BuildError, Context, END, Graph, NodeError, Program, RetryPolicy, START};

use crate::basis;
use crate::definition::{Definition, GraphKind};
use crate::kit::{Kit, Ports};
use crate::prompts::Prompts;
use crate::steps;
use crate::turn::{Change, Turn, Wanted};

/// How often a step is tried that failed in a way that may pass.
const ATTEMPTS: u32 = 3;
/// How long a step with a model may take.
const MODEL_TIME: Duration = Duration::from_secs(15 * 60);

/// The program of an assistant: from a turn's input to what is said.
///
/// # Errors
/// Fails when the assistant has no modes.
pub fn program(
    name: &str,
    definition: Definition,
    prompts: Prompts,
    ports: Ports,
) -> Result<Arc<dyn Program<TurnInput, Vec<Message>>>, BuildError> {
    let kit = Arc::new(Kit { definition, prompts, ports });
    let graph = build(name, &kit)?;
    Ok(graph.program(move |input: TurnInput| Turn::begin(&kit.definition, input), basis::messages))
}

fn build(name: &str, kit: &Arc<Kit>) -> Result<Graph<Turn>, BuildError> {
    let kinds = kit.definition.graphs();
    let has = |kind| kinds.contains(&kind);
    let mut graph = Graph::builder(name);
    let mut entries = Vec::new();
    let mut models = vec!["generate", "repair"];
    if has(GraphKind::Conversational) {
        graph = graph.node("condense", node(kit, steps::condense)).edge("condense", "retrieve");
        entries.extend(["condense", "retrieve"]);
        models.push("condense");
    }
    if has(GraphKind::Adaptive) {
        graph = graph
            .node("route", node(kit, steps::route))
            .node("decide", node(kit, steps::decide))
            .node("rewrite", node(kit, steps::rewrite))
            .branch("route", after_route, ["decide", "rewrite", "retrieve", "generate"])
            .branch("decide", after_route, ["rewrite", "retrieve", "generate"])
            .edge("rewrite", "retrieve");
        entries.push("route");
        models.extend(["decide", "rewrite"]);
    }
    if has(GraphKind::Conversational) || has(GraphKind::Adaptive) {
        graph = graph
            .node("retrieve", node(kit, steps::retrieve))
            .edge("retrieve", "generate")
            .retry("retrieve", RetryPolicy::times(ATTEMPTS));
    }
    if has(GraphKind::Agentic) {
        let own = kit.clone();
        let rounds = kit.definition.limits.rounds as usize;
        let after_tools = move |turn: &Turn| if turn.rounds.len() < rounds { "agent" } else { "generate" };
        let after_agent =
            move |turn: &Turn| if steps::wants_tools(&own, turn) { "tools" } else { "generate" };
        graph = graph
            .node("plan", node(kit, steps::plan))
            .node("agent", node(kit, steps::agent))
            .node("tools", node(kit, steps::tools))
            .edge("plan", "agent")
            .branch("agent", after_agent, ["tools", "generate"])
            .branch("tools", after_tools, ["agent", "generate"])
            .at_most("tools", kit.definition.limits.rounds, "generate");
        entries.push("plan");
        models.extend(["plan", "agent"]);
    }
    graph = graph
        .node("generate", node(kit, steps::generate))
        .node("verify", node(kit, steps::verify))
        .node("repair", node(kit, steps::repair))
        .edge("generate", "verify")
        .branch("verify", |turn: &Turn| if steps::is_doubted(turn) { "repair" } else { END }, ["repair", END])
        .edge("repair", "verify")
        .at_most("repair", steps::MOST_REPAIRS, END);
    for node in models {
        graph = graph.time_limit(node, MODEL_TIME).retry(node, RetryPolicy::times(ATTEMPTS));
    }
    graph.branch(START, first, entries).build()
}

/// A node with what it works with.
fn node<R>(
    kit: &Arc<Kit>,
    work: impl Fn(Arc<Kit>, Arc<Turn>, Context) -> R + Send + Sync + 'static,
) -> impl Fn(Arc<Turn>, Context) -> R + Send + Sync + 'static
where
    R: Future<Output = Result<Change, NodeError>> + Send + 'static,
{
    let kit = kit.clone();
    move |turn, context| work(kit.clone(), turn, context)
}

fn first(turn: &Turn) -> &'static str {
    match turn.asked.graph {
        GraphKind::Conversational if turn.has_history() => "condense",
        GraphKind::Conversational => "retrieve",
        GraphKind::Adaptive => "route",
        GraphKind::Agentic => "plan",
    }
}

fn after_route(turn: &Turn) -> &'static str {
    match turn.route.as_ref().and_then(|route| route.intent) {
        None => "decide",
        Some(Wanted::Chat) => "generate",
        Some(Wanted::DirectRag | Wanted::SpecificDocRag) if turn.has_history() => "rewrite",
        Some(Wanted::DirectRag | Wanted::SpecificDocRag) => "retrieve",
    }
}
