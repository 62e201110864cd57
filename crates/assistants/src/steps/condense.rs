//! Makes one question of a conversation, so that a search can understand it, and puts it in several ways.

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
    let others = node_context.definition.retrieval.phrasings.saturating_sub(1);
    let variables = json!({ "conversation": conversation, "question": turn.question, "others": others });
    let prompt = node_context.prompt("condense", &turn, variables)?;
    let mut request = node_context.request(&turn, vec![Prompt::User(prompt)]);
    request.max_output_tokens = Some(MOST_TOKENS);
    let reply = node_context.ask(&context, model, request, |_| {}).await.map_err(failed)?;
    let mut phrasings = reply.text.lines().filter_map(question_in);
    let question = phrasings.next().unwrap_or_else(|| turn.question.clone());
    let phrasings = phrasings.filter(|other| *other != question).take(others).collect();
    emit(&context, &TurnEvent::Question { text: question.clone(), searches: None });
    Ok(TurnUpdate::Condensed { question, phrasings, spent: reply.spent })
}

/// The question in what a model wrote, if there is one.
pub(super) fn question_in(reply: &str) -> Option<String> {
    let text = reply.trim().trim_start_matches(['-', '*', '\u{2022}']).trim();
    // The number of a line in a list.
    let text = match text.split_once(['.', ')']) {
        Some((number, rest)) if rest.starts_with(' ') && number.parse::<u8>().is_ok() => rest.trim(),
        _ => text,
    };
    let text = text.trim_matches(['"', '\u{201c}', '\u{201d}', '`']).trim();
    (!text.is_empty() && text.len() <= LONGEST).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::question_in;

    #[test]
    fn a_question_is_read_from_a_line() {
        for line in
            ["What is the rate?", " 2. \"What is the rate?\"", "- What is the rate?", "1) What is the rate?"]
        {
            assert_eq!(question_in(line).as_deref(), Some("What is the rate?"), "{line}");
        }
        assert_eq!(question_in("8539.52 is what?").as_deref(), Some("8539.52 is what?"));
        assert_eq!(question_in("  "), None);
    }
}
