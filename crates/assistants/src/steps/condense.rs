//! Makes one question of a conversation, so that a search can understand it.

use std::sync::Arc;

use ibid_core::model::Prompt;
use ibid_graph::{Context, NodeError};
use serde_json::json;

use crate::kit::{Kit, failed};
use crate::turn::{Change, Turn};

/// What is longer than this is no question.
const LONGEST: usize = 1000;

/// And so long it may become, in tokens.
const MOST_TOKENS: usize = 300;

/// Condenses the question.
pub(crate) async fn condense(kit: Arc<Kit>, turn: Arc<Turn>, context: Context) -> Result<Change, NodeError> {
    context.status("reading the question in its conversation");
    let model = kit.ports.small.as_ref();
    let conversation = kit.transcript(model, &turn);
    let prompt =
        kit.prompt("condense", &turn, json!({ "conversation": conversation, "question": turn.asked.text }))?;
    let mut request = kit.request(&turn, vec![Prompt::User(prompt)]);
    request.max_output_tokens = Some(MOST_TOKENS);
    let reply = kit.ask(&context, model, request, |_| {}).await.map_err(failed)?;
    let question = question_in(&reply.text).unwrap_or_else(|| turn.asked.text.clone());
    context.data("question", json!({ "text": question }));
    Ok(Change::Condensed { question, spent: reply.spent })
}

/// The question in what a model wrote, if there is one.
pub(super) fn question_in(reply: &str) -> Option<String> {
    let text = reply.trim().trim_matches(['"', '\u{201c}', '\u{201d}', '`']).trim();
    (!text.is_empty() && text.len() <= LONGEST).then(|| text.to_owned())
}
