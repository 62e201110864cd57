//! The graphs, on one state: five ways to the sources, and one way from them to the answer.
//!
//! `conversational` condenses and retrieves, `adaptive` routes, rewrites and retrieves, `agentic` plans and calls tools.
//! `corrective` condenses, retrieves and grades, checks what was written, and searches again. `concierge` finds out what is
//! wanted first. All generate and verify. An assistant with several modes has the ways of all of them.

mod concierge;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ibid_core::answer::Intent;
use ibid_core::{Message, TurnInput};
use ibid_graph::{
    BuildError, CompiledGraph, Context, END, Graph, GraphBuilder, NodeError, RetryPolicy, START,
};

use crate::answer;
use crate::cache;
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
    let Assistant { name, definition, prompts, formats, faq: _ } = assistant;
    let version = cache::version(&definition, &prompts, &ports);
    let node_context = Arc::new(NodeContext { name, version, definition, prompts, formats, ports });
    let graph = build(&node_context)?;
    Ok(graph
        .compile(move |input: TurnInput| TurnState::begin(&node_context.definition, input), answer::messages))
}

fn build(node_context: &Arc<NodeContext>) -> Result<Graph<TurnState>, BuildError> {
    let kinds = node_context.definition.graphs();
    let has = |kind| kinds.contains(&kind);
    let searches = kinds.iter().any(|kind| *kind != GraphKind::Concierge);
    let caches = node_context.definition.cache.enabled && searches;
    let mut graph = Graph::builder(&node_context.name);
    // An answer that was given before is looked for as soon as the question stands alone.
    let to_retrieve = if caches { "look_up" } else { "retrieve" };
    let mut entries = Vec::new();
    let mut after = vec!["generate"];
    let mut models = vec!["generate", "repair"];
    if searches {
        graph = graph.node("route", node(node_context, steps::route));
        entries.push("route");
    }
    let condenses = has(GraphKind::Conversational) || has(GraphKind::Corrective);
    if has(GraphKind::Concierge) {
        graph = concierge::with_concierge(graph, node_context);
        graph = model_node(graph, "condense", node_context, steps::condense, None);
        let next = move |turn: &TurnState| match turn.request.graph {
            _ if turn.is_recalled() => END,
            GraphKind::Concierge => "find_category",
            _ => to_retrieve,
        };
        let mut ways = vec!["find_category"];
        ways.extend(condenses.then_some(to_retrieve));
        ways.extend((caches && condenses).then_some(END));
        graph = graph.branch("condense", next, ways);
        entries.push("intent");
        models.push("condense");
    } else if condenses {
        graph = model_node(graph, "condense", node_context, steps::condense, Some(to_retrieve));
        models.push("condense");
    }
    if condenses {
        entries.extend(["condense", to_retrieve]);
        after.extend(["condense", to_retrieve]);
    }
    if has(GraphKind::Adaptive) {
        let mut after_classify = vec!["rewrite", to_retrieve, "generate"];
        after_classify.extend(caches.then_some(END));
        graph = model_node(graph, "classify", node_context, steps::classify, None)
            .former_name("classify", "decide")
            .branch("classify", after_route(caches), after_classify);
        graph = model_node(graph, "rewrite", node_context, steps::rewrite, Some(to_retrieve));
        after.extend(["classify", "rewrite", to_retrieve]);
        models.extend(["classify", "rewrite"]);
    }
    if kinds.iter().any(GraphKind::retrieves) {
        graph = graph
            .node("retrieve", node(node_context, steps::retrieve))
            .retry("retrieve", RetryPolicy::times(ATTEMPTS));
        graph = if has(GraphKind::Corrective) {
            let after = |turn: &TurnState| if turn.is_research() { "grade" } else { "generate" };
            graph.branch("retrieve", after, ["grade", "generate"])
        } else {
            graph.edge("retrieve", "generate")
        };
    }
    if has(GraphKind::Agentic) {
        let rounds = node_context.definition.limits.rounds as usize;
        let asks = node_context.definition.mcp.iter().any(|server| !server.without_consent)
            || node_context.ports.tools.iter().any(|tool| tool.needs_consent());
        let after_tools =
            move |turn: &TurnState| if turn.rounds.len() < rounds { "agent" } else { "generate" };
        let own = node_context.clone();
        let after_agent = move |turn: &TurnState| match turn {
            _ if !steps::wants_tools(&own, turn) => "generate",
            _ if asks && steps::needs_consent(&own, turn) => "ask_tools",
            _ => "tools",
        };
        let mut ways = vec!["tools", "generate"];
        if asks {
            let (asking, answered) = (node_context.clone(), node_context.clone());
            graph = graph
                .interrupt(
                    "ask_tools",
                    move |turn: &TurnState| steps::tools_question(&asking, turn),
                    move |turn: &TurnState, reply: steps::ToolsReply| {
                        steps::tools_answered(&answered, turn, &reply)
                    },
                )
                .edge("ask_tools", "tools");
            ways.push("ask_tools");
        }
        graph = model_node(graph, "plan", node_context, steps::plan, Some("agent"))
            .node("agent", node(node_context, steps::agent))
            .node("tools", node(node_context, steps::tools))
            .branch("agent", after_agent, ways)
            .branch("tools", after_tools, ["agent", "generate"])
            .at_most("tools", node_context.definition.limits.rounds, "generate");
        entries.push("plan");
        after.push("plan");
        models.extend(["plan", "agent"]);
    }
    if caches {
        graph = with_cache(graph, node_context, &kinds);
        if !entries.contains(&"look_up") {
            entries.push("look_up");
        }
        after.push("look_up");
    }
    let after_answer: &[&str] = if caches { &["remember", END] } else { &[END] };
    let ended = move |turn: &TurnState| if caches && steps::may_be_kept(turn) { "remember" } else { END };
    let mut after_verify = [&["repair"], after_answer].concat();
    if has(GraphKind::Corrective) {
        graph = with_checks(graph, node_context);
        graph = graph.branch("conclude", ended, after_answer.iter().copied());
        after_verify.push("check_grounding");
        models.extend(["grade", "check_grounding", "check_answer", "search_again"]);
    }
    graph = model_node(graph, "generate", node_context, steps::generate, Some("verify"))
        .node("verify", node(node_context, steps::verify))
        .node("repair", node(node_context, steps::repair))
        .branch(
            "verify",
            move |turn: &TurnState| match turn {
                _ if turn.is_research() => "check_grounding",
                _ if steps::is_rejected(turn) => "repair",
                _ => ended(turn),
            },
            after_verify,
        )
        .edge("repair", "verify")
        .at_most("repair", steps::MOST_REPAIRS, END);
    for node in models {
        graph = graph.time_limit(node, MODEL_TIME).retry(node, RetryPolicy::times(ATTEMPTS));
    }
    after.sort_unstable();
    after.dedup();
    if searches {
        graph = graph.branch("route", after_route(caches), after);
    }
    graph.branch(START, first(caches), entries).build()
}

/// Adds a step with a model, in whose place an earlier answer may be offered, and where the graph goes after it.
fn model_node<R>(
    graph: GraphBuilder<TurnState>,
    name: &str,
    node_context: &Arc<NodeContext>,
    work: impl Fn(Arc<NodeContext>, Arc<TurnState>, Context) -> R + Clone + Send + Sync + 'static,
    next: Option<&'static str>,
) -> GraphBuilder<TurnState>
where
    R: Future<Output = Result<TurnUpdate, NodeError>> + Send + 'static,
{
    let caches = node_context.definition.cache.enabled;
    let graph = if caches {
        graph.node(name, node(node_context, steps::or_recall(work)))
    } else {
        graph.node(name, node(node_context, work))
    };
    match next {
        Some(next) if caches => {
            let after = move |turn: &TurnState| if turn.is_recalled() { END } else { next };
            graph.branch(name, after, [next, END])
        }
        Some(next) => graph.edge(name, next),
        None => graph,
    }
}

/// What was answered before is given again, and what passes all checks is kept.
fn with_cache(
    graph: GraphBuilder<TurnState>,
    node_context: &Arc<NodeContext>,
    kinds: &[GraphKind],
) -> GraphBuilder<TurnState> {
    let onward = |turn: &TurnState| match turn.request.graph {
        _ if turn.is_recalled() => END,
        GraphKind::Agentic => "plan",
        _ => "retrieve",
    };
    let mut ways = vec![END];
    ways.extend(kinds.contains(&GraphKind::Agentic).then_some("plan"));
    ways.extend(kinds.iter().any(GraphKind::retrieves).then_some("retrieve"));
    graph
        .node("look_up", node(node_context, steps::look_up))
        .branch("look_up", onward, ways)
        .node("remember", node(node_context, steps::remember))
        .edge("remember", END)
}

/// The rounds of the graph `corrective`: what is found is graded, what is written is checked, and the documents are searched
/// again as long as the answer does not hold.
fn with_checks(graph: GraphBuilder<TurnState>, node_context: &Arc<NodeContext>) -> GraphBuilder<TurnState> {
    let rounds = node_context.definition.corrective.rounds.max(1);
    let is_last = move |turn: &TurnState| turn.research.rounds.len() >= rounds as usize;
    let own = node_context.clone();
    let after_grade = move |turn: &TurnState| match turn.research.rounds.len() {
        _ if turn.is_recalled() => END,
        _ if turn.sources.is_empty()
            && let Some(next) = steps::next_to_web(&own, turn) =>
        {
            next
        }
        // A draft from the same sources would be the same.
        2.. if !turn.research.found_something() => {
            if is_last(turn) {
                "conclude"
            } else {
                "search_again"
            }
        }
        _ => "generate",
    };
    let after_check = move |turn: &TurnState| {
        if turn.research.is_accepted() || is_last(turn) { "conclude" } else { "search_again" }
    };
    let mut after_grades = vec!["generate", "search_again", "conclude", "ask_web", "web_search"];
    after_grades.extend(node_context.definition.cache.enabled.then_some(END));
    model_node(graph, "grade", node_context, steps::grade, None)
        .node("check_grounding", node(node_context, steps::check_grounding))
        .node("check_answer", node(node_context, steps::check_answer))
        .node("search_again", node(node_context, steps::search_again))
        .node("conclude", node(node_context, steps::conclude))
        .branch("grade", after_grade, after_grades)
        .interrupt("ask_web", steps::web_query, |_, reply: steps::WebReply| TurnUpdate::WebAnswered {
            agreed: reply.is_yes(),
        })
        .branch(
            "ask_web",
            |turn: &TurnState| {
                if turn.research.web.agreed == Some(true) { "web_search" } else { "generate" }
            },
            ["web_search", "generate"],
        )
        .node("web_search", node(node_context, steps::web_search))
        .edge("web_search", "generate")
        .edge("check_grounding", "check_answer")
        .branch("check_answer", after_check, ["search_again", "conclude"])
        .branch(
            "search_again",
            // What was searched for before would find the same.
            |turn: &TurnState| if turn.searches.is_empty() { "conclude" } else { "retrieve" },
            ["retrieve", "conclude"],
        )
        .at_most("search_again", rounds.saturating_sub(1).max(1), "conclude")
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

fn first(caches: bool) -> impl Fn(&TurnState) -> &'static str + Send + Sync + 'static {
    move |turn| match turn.request.graph {
        GraphKind::Concierge => "intent",
        _ if turn.needs_route() => "route",
        _ => to_sources(turn, caches),
    }
}

fn after_route(caches: bool) -> impl Fn(&TurnState) -> &'static str + Send + Sync + 'static {
    move |turn| match turn.route.as_ref().and_then(|route| route.intent) {
        _ if turn.is_recalled() => END,
        None => "classify",
        Some(Intent::Chat | Intent::General) => "generate",
        Some(_) => to_sources(turn, caches),
    }
}

/// Where the way of a graph to its sources begins.
fn to_sources(turn: &TurnState, caches: bool) -> &'static str {
    let rewords = turn.has_history() || turn.request.rephrase_first;
    match turn.request.graph {
        GraphKind::Conversational | GraphKind::Corrective if rewords => "condense",
        GraphKind::Adaptive if rewords => "rewrite",
        // What follows up on a conversation does not stand alone.
        GraphKind::Agentic if turn.has_history() => "plan",
        _ if caches => "look_up",
        GraphKind::Agentic => "plan",
        _ => "retrieve",
    }
}
