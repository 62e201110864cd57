//! Makes searches of a question: one for each document that is named, with what the conversation adds.

use std::sync::Arc;

use ibid_core::answer::SearchRequest;
use ibid_core::event::TurnEvent;
use ibid_core::model::Prompt;
use ibid_graph::{Context, NodeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::condense::question_in;
use crate::node_context::{NodeContext, emit};
use crate::turn::{TurnState, TurnUpdate};

/// So many sections are added to a search.
const MOST_SECTIONS: usize = 3;

/// All searches together have at most so many tokens.
const MOST_TOKENS: usize = 400;

/// The searches as a model writes them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "searches")]
struct Rewritten {
    /// The searches.
    searches: Vec<One>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct One {
    /// The document, or an empty text.
    document: String,
    /// A question that can be understood by itself.
    question: String,
    /// Headings under which a document would say it.
    sections: Vec<String>,
}

/// Rewrites.
pub(crate) async fn rewrite(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    context.status("reading the question in its conversation");
    let model = node_context.ports.small.as_ref();
    let named: Vec<_> = turn.route.iter().flat_map(|route| &route.documents).collect();
    // A title is a document's own words: it stays on its line.
    let documents: Vec<String> = named
        .iter()
        .map(|document| document.title.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let conversation = node_context.transcript(model, &turn);
    let variables =
        json!({ "conversation": conversation, "documents": documents, "question": turn.question });
    let prompt = node_context.prompt("rewrite", &turn, variables)?;
    let mut request = node_context.request(&turn, vec![Prompt::User(prompt)]);
    request.max_output_tokens = Some(MOST_TOKENS);
    let (found, spent) = node_context.ask_for::<Rewritten>(&context, model, request).await?;
    let found = found.map(|found| found.searches).unwrap_or_default();
    let several = node_context.definition.retrieval.phrasings > 1;
    let phrasings = |one: Option<&One>| {
        let own = one.and_then(|one| question_in(&one.question)).unwrap_or_else(|| turn.question.clone());
        let sections =
            one.map(|one| one.sections.iter().take(MOST_SECTIONS).map(String::as_str).collect::<Vec<_>>());
        let sections = sections.filter(|sections| !sections.is_empty()).map(|sections| sections.join(", "));
        let sections = sections.filter(|_| several);
        let mut phrasings = vec![own];
        for other in [turn.question.clone()].into_iter().chain(sections) {
            if !phrasings.contains(&other) && !other.trim().is_empty() {
                phrasings.push(other);
            }
        }
        phrasings
    };
    let searches: Vec<SearchRequest> = if named.is_empty() {
        vec![SearchRequest { phrasings: phrasings(found.first()), document: None }]
    } else {
        // The documents are those that were named, whatever the model says.
        let of =
            |title: &str| found.iter().find(|one| one.document.trim().eq_ignore_ascii_case(title.trim()));
        let search = |document: &&ibid_core::evidence::DocumentName| SearchRequest {
            phrasings: phrasings(of(&document.title)),
            document: Some(document.id.clone()),
        };
        named.iter().map(search).collect()
    };
    let question = match searches.as_slice() {
        [only] => only.phrasings.first().cloned().unwrap_or_default(),
        _ => turn.question.clone(),
    };
    emit(&context, &TurnEvent::Question { text: question.clone(), searches: Some(searches.clone()) });
    Ok(TurnUpdate::Rewritten { question, searches, spent })
}
