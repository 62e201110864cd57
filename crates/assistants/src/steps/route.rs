//! Finds out what the person wants: by what is named, by what people say in passing, by how far the documents are; and
//! only then by asking a model.

use std::sync::Arc;

use ibid_core::model::{AnswerSchema, ModelError, Prompt};
use ibid_graph::{Context, NodeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::definition::Intent;
use crate::kit::{Kit, failed, not_searched};
use crate::route::{mentions, smalltalk};
use crate::turn::{Change, Route, Spent, Tier, Turn, Wanted};

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
pub(crate) async fn route(kit: Arc<Kit>, turn: Arc<Turn>, context: Context) -> Result<Change, NodeError> {
    let (found, question) = quickly(&kit, &turn, &context).await?;
    let route = match found {
        Some(route) => route,
        None => {
            let distance = kit.ports.index.distance(&turn.asked.scope, &turn.asked.text).await;
            let near =
                distance.map_err(not_searched)?.is_some_and(|far| far <= kit.definition.routing.distance);
            // A follow-up may say little by itself: its conversation tells what it is near to. And whoever asks is not
            // told off for asking in other words than the documents: a model decides.
            let remark = !turn.has_history() && !smalltalk::is_question(&turn.asked.text);
            let intent = (!near && remark).then_some(Wanted::Chat);
            Route { intent, by: Tier::Distance, documents: Vec::new() }
        }
    };
    if route.intent.is_some() {
        context.data("route", json!(route));
    }
    Ok(Change::Routed { route, question, spent: Spent::default() })
}

/// The tiers that decide at once: the mode, the documents that are named, what is said in passing; and the question
/// with the documents by their names.
async fn quickly(kit: &Kit, turn: &Turn, context: &Context) -> Result<(Option<Route>, String), NodeError> {
    let (documents, question) = if mentions::has_any(&turn.asked.text) {
        let known =
            kit.ports.index.documents(&turn.asked.scope, MOST_DOCUMENTS).await.map_err(not_searched)?;
        let found = mentions::find(&turn.asked.text, &known);
        for name in &found.unknown {
            context.status(format!("no document is called {name}"));
        }
        (found.documents, found.text)
    } else {
        (Vec::new(), turn.asked.text.clone())
    };
    let wanted = if documents.is_empty() { Wanted::DirectRag } else { Wanted::SpecificDocRag };
    let (intent, by) = match turn.asked.intent {
        Some(Intent::Rag) => (wanted, Tier::Mode),
        Some(Intent::Chat) => (Wanted::Chat, Tier::Mode),
        None if !documents.is_empty() => (wanted, Tier::Mention),
        // "Yes, please" to an offer to look something up is no chat.
        None if turn.has_history() && smalltalk::is_reply(&turn.asked.text) => return Ok((None, question)),
        None if smalltalk::is_smalltalk(&turn.asked.text) => (Wanted::Chat, Tier::Smalltalk),
        None => return Ok((None, question)),
    };
    Ok((Some(Route { intent: Some(intent), by, documents }), question))
}

/// Asks a model what is wanted.
pub(crate) async fn decide(kit: Arc<Kit>, turn: Arc<Turn>, context: Context) -> Result<Change, NodeError> {
    context.status("finding out what is wanted");
    let model = kit.ports.small.as_ref();
    let variables = json!({ "description": kit.definition.description, "message": turn.asked.text });
    let prompt = kit.prompt("decide", &turn, variables)?;
    let mut prompts = kit.history(model, &turn);
    prompts.push(Prompt::User(prompt));
    let mut request = kit.request(&turn, prompts);
    request.schema = Some(AnswerSchema::of::<Decision>());
    request.max_output_tokens = Some(MOST_TOKENS);
    let (wants, spent) = match kit.ask(&context, model, request, |_| {}).await {
        Ok(reply) => {
            let decision = serde_json::from_str::<Decision>(&reply.text);
            (decision.map_or(Wants::Documents, |decision| decision.wants), reply.spent)
        }
        // Who looks into the documents in vain has lost less than who does not look.
        Err(ModelError::Form { .. }) => (Wants::Documents, Spent::default()),
        Err(error) => return Err(failed(error)),
    };
    let intent = match wants {
        Wants::Documents => Wanted::DirectRag,
        Wants::Chat => Wanted::Chat,
    };
    let route = Route { intent: Some(intent), by: Tier::Model, documents: Vec::new() };
    context.data("route", json!(route));
    Ok(Change::Routed { route, question: turn.question.clone(), spent })
}
