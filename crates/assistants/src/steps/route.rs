//! Finds out what the person wants: by what is named, by what people say in passing, by how far the documents are; and
//! only then by asking a model.

use std::sync::Arc;

use ibid_core::answer::{Intent, Route, RoutedBy};
use ibid_core::event::TurnEvent;
use ibid_core::model::Prompt;
use ibid_graph::{Context, NodeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::definition::{ForcedIntent, GraphKind};
use crate::node_context::{NodeContext, emit, not_searched};
use crate::route::{mentions, smalltalk};
use crate::turn::{TurnCost, TurnState, TurnUpdate};

/// So many documents are looked through for a name.
const MOST_DOCUMENTS: usize = 20_000;

/// A decision has at most so many tokens.
const MOST_TOKENS: usize = 60;

/// What a model says of a message.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "decision")]
struct Decision {
    /// What the person wants.
    wants: Wants,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Wants {
    Documents,
    Chat,
}

/// Routes, as far as that needs no model.
pub(crate) async fn route(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let (found, question) = quickly(&node_context, &turn, &context).await?;
    let route = match found {
        Some(route) => route,
        // The other graphs look into the documents, whatever is said.
        None if turn.request.graph != GraphKind::Adaptive => {
            Route { intent: Some(Intent::DirectRag), by: RoutedBy::Mode, documents: Vec::new() }
        }
        None => {
            let found = node_context.ports.index.relevance(&turn.request.scope, &turn.request.text).await;
            let least = node_context.definition.routing.relevance;
            let near = found.map_err(not_searched)?.is_some_and(|relevance| relevance >= least);
            // A follow-up may say little by itself: its conversation tells what it is near to. And whoever asks is not
            // told off for asking in other words than the documents: a model decides.
            let remark = !turn.has_history() && !smalltalk::is_question(&turn.request.text);
            let intent = (!near && remark).then_some(Intent::Chat);
            Route { intent, by: RoutedBy::Distance, documents: Vec::new() }
        }
    };
    if route.intent.is_some() {
        emit(&context, &TurnEvent::Routed(route.clone()));
    }
    Ok(TurnUpdate::Routed { route, question, spent: TurnCost::default() })
}

/// The tiers that decide at once: the mode, the documents that are named, what is said in passing; and the question
/// with the documents by their names.
async fn quickly(
    node_context: &NodeContext,
    turn: &TurnState,
    context: &Context,
) -> Result<(Option<Route>, String), NodeError> {
    let (documents, question) = if mentions::has_any(&turn.request.text) {
        let known = node_context
            .ports
            .index
            .documents(&turn.request.scope, MOST_DOCUMENTS)
            .await
            .map_err(not_searched)?;
        let found = mentions::find(&turn.request.text, &known);
        for name in &found.unknown {
            context.status(format!("no document is called {name}"));
        }
        (found.documents, found.text)
    } else {
        (Vec::new(), turn.request.text.clone())
    };
    let wanted = if documents.is_empty() { Intent::DirectRag } else { Intent::SpecificDocRag };
    let (intent, by) = match turn.request.intent {
        Some(ForcedIntent::Rag) => (wanted, RoutedBy::Mode),
        Some(ForcedIntent::Chat) => (Intent::Chat, RoutedBy::Mode),
        None if !documents.is_empty() => (wanted, RoutedBy::Mention),
        // "Yes, please" to an offer to look something up is no chat.
        None if turn.has_history() && smalltalk::is_reply(&turn.request.text) => return Ok((None, question)),
        None if smalltalk::is_smalltalk(&turn.request.text) => (Intent::Chat, RoutedBy::Smalltalk),
        None if smalltalk::asks_for_documents(&turn.request.text) => (Intent::DirectRag, RoutedBy::Phrase),
        None => return Ok((None, question)),
    };
    Ok((Some(Route { intent: Some(intent), by, documents }), question))
}

/// Asks a model what is wanted.
pub(crate) async fn classify(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    context.status("finding out what is wanted");
    let model = node_context.ports.small.as_ref();
    let variables =
        json!({ "description": node_context.definition.description, "message": turn.request.text });
    let prompt = node_context.prompt("classify", &turn, variables)?;
    let mut prompts = node_context.history(model, &turn);
    prompts.push(Prompt::User(prompt));
    let mut request = node_context.request(&turn, prompts);
    request.max_output_tokens = Some(MOST_TOKENS);
    let (decision, spent) = node_context.ask_for::<Decision>(&context, model, request).await?;
    let intent = match decision {
        Some(Decision { wants: Wants::Chat }) => Intent::Chat,
        // Who looks into the documents in vain has lost less than who does not look.
        Some(Decision { wants: Wants::Documents }) | None => Intent::DirectRag,
    };
    let route = Route { intent: Some(intent), by: RoutedBy::Model, documents: Vec::new() };
    emit(&context, &TurnEvent::Routed(route.clone()));
    Ok(TurnUpdate::Routed { route, question: turn.question.clone(), spent })
}
