//! Finds out what a message wants, in its conversation: an answer to a common question, something from the catalogue, instalments,
//! or only to talk.

use std::sync::Arc;

use ibid_core::answer::{Intent, Route, RoutedBy};
use ibid_core::event::TurnEvent;
use ibid_core::model::Prompt;
use ibid_graph::{Context, NodeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::node_context::{NodeContext, emit};
use crate::turn::{TurnState, TurnUpdate};

/// A decision has at most so many tokens.
const MOST_TOKENS: usize = 60;

/// What a model says of a message.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "intent")]
struct Decision {
    /// What the person wants with the last message.
    intent: Wants,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Wants {
    Faq,
    Buy,
    Financing,
    General,
    Unclear,
}

impl From<Wants> for Intent {
    fn from(wants: Wants) -> Self {
        match wants {
            Wants::Faq => Self::Faq,
            Wants::Buy => Self::Buy,
            Wants::Financing => Self::Financing,
            // Whoever is not understood is asked, and not answered at random.
            Wants::General | Wants::Unclear => Self::General,
        }
    }
}

/// Asks a model what is wanted.
pub(crate) async fn intent(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    context.status("finding out what is wanted");
    let model = node_context.ports.small.as_ref();
    let conversation = node_context.transcript(model, &turn);
    let variables = json!({
        "description": node_context.definition.description,
        "conversation": conversation,
        "message": turn.request.text,
    });
    let prompt = node_context.prompt("intent", &turn, variables)?;
    let mut request = node_context.request(&turn, vec![Prompt::User(prompt)]);
    request.max_output_tokens = Some(MOST_TOKENS);
    let (decision, spent) = node_context.ask_for::<Decision>(&context, model, request).await?;
    let intent = decision.map_or(Intent::General, |decision| decision.intent.into());
    let route = Route { intent: Some(intent), by: RoutedBy::Model, documents: Vec::new() };
    emit(&context, &TurnEvent::Routed(route.clone()));
    Ok(TurnUpdate::Routed { route, question: turn.question.clone(), spent })
}
