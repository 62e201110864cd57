//! The ways of the graph `concierge`: a common question, something from a catalogue, instalments, or talk.

use std::sync::Arc;

use ibid_core::answer::Intent;
use ibid_graph::{END, GraphBuilder, RetryPolicy};

use super::{ATTEMPTS, MODEL_TIME, node};
use crate::concierge::ConciergeUpdate;
use crate::node_context::NodeContext;
use crate::steps;
use crate::turn::{TurnState, TurnUpdate};

/// Adds them. A question that follows up on a conversation is made to stand alone first.
pub(super) fn with_concierge(
    graph: GraphBuilder<TurnState>,
    node_context: &Arc<NodeContext>,
) -> GraphBuilder<TurnState> {
    let after_intent = |turn: &TurnState| match turn.route.as_ref().and_then(|route| route.intent) {
        Some(Intent::Faq) if turn.has_history() => "condense",
        Some(Intent::Faq) => "find_category",
        Some(Intent::Buy) => "extract",
        Some(Intent::Financing) => "choose_option",
        _ => "generate",
    };
    let is_clear =
        |turn: &TurnState| turn.concierge.payment.as_ref().is_some_and(|payment| payment.price.is_some());
    let graph = graph
        .node("intent", node(node_context, steps::intent))
        .branch("intent", after_intent, ["condense", "find_category", "extract", "choose_option", "generate"])
        .node("find_category", node(node_context, steps::find_category))
        .edge("find_category", "generate")
        .node("extract", node(node_context, steps::extract))
        .edge("extract", "search_catalogue")
        .node("search_catalogue", node(node_context, steps::search_catalogue))
        .edge("search_catalogue", "present")
        .node("choose_option", node(node_context, steps::choose_option))
        .branch(
            "choose_option",
            move |turn: &TurnState| if is_clear(turn) { "present" } else { "ask_option" },
            ["present", "ask_option"],
        )
        .interrupt("ask_option", steps::option_question, |_, reply: steps::OptionReply| {
            TurnUpdate::Concierge(ConciergeUpdate::Replied { text: reply.text() })
        })
        .edge("ask_option", "choose_option")
        .at_most("ask_option", steps::MOST_QUESTIONS, "present")
        .node("present", node(node_context, steps::present))
        .edge("present", END);
    let tried = ["intent", "extract", "choose_option", "present", "find_category", "search_catalogue"];
    tried.into_iter().fold(graph, |graph, name| {
        graph.time_limit(name, MODEL_TIME).retry(name, RetryPolicy::times(ATTEMPTS))
    })
}
