//! Makes one question of a conversation, so that a search can understand it.

use std::sync::Arc;

use ibid_core::event::TurnEvent;
use ibid_core::model::Prompt;
use ibid_graph::{Context, NodeError};
use serde_json::json;

use crate::node_context::{NodeContext, emit, failed};
use crate::turn::{TurnState, TurnUpdate};

/// What is longer than this is no question.
const LONGEST: usize = 1000;

/// And so long it may become, in tokens.
const MOST_TOKENS: usize = 300;

/// Condenses the question.
pub(crate) async fn condense(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    context.status("reading the question in its conversation");
    let model = node_context.ports.small.as_ref();
    let conversation = node_context.transcript(model, &turn);
    let prompt = node_context.prompt(
        "condense",
        &turn,
        json!({ "conversation": conversation, "question": turn.request.text }),
    )?;
    let mut request = node_context.request(&turn, vec![Prompt::User(prompt)]);
    request.max_output_tokens = Some(MOST_TOKENS);
    let reply = node_context.ask(&context, model, request, |_| {}).await.map_err(failed)?;
    let question = question_in(&reply.text).unwrap_or_else(|| turn.request.text.clone());
    emit(&context, &TurnEvent::Question { text: question.clone(), searches: None });
    Ok(TurnUpdate::Condensed { question, spent: reply.spent })
}

/// The question in what a model wrote, if there is one.
pub(super) fn question_in(reply: &str) -> Option<String> {
    let text = reply.trim().trim_matches(['"', '\u{201c}', '\u{201d}', '`']).trim();
    (!text.is_empty() && text.len() <= LONGEST).then(|| text.to_owned())
}
