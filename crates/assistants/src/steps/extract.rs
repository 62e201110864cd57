//! Reads from a message what it changes about what the person looks for, in the person's own words.

use std::sync::Arc;

use ibid_core::model::{AnswerSchema, ModelError, Prompt};
use ibid_graph::{Context, NodeError};
use serde_json::{Value, json};

use crate::catalogue::{CriteriaChange, LIMIT, grounded, last_options};
use crate::concierge::ConciergeUpdate;
use crate::node_context::{NodeContext, failed};
use crate::turn::{TurnCost, TurnState, TurnUpdate};

/// It has at most so many tokens.
const MOST_TOKENS: usize = 300;

/// Extracts.
pub(crate) async fn extract(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    context.status("reading what is looked for");
    let model = node_context.ports.small.as_ref();
    let settings = &node_context.definition.catalogue;
    let fields: Vec<Value> =
        settings.fields.iter().map(|field| json!({ "name": field.name, "about": field.about })).collect();
    let before = last_options(&turn.request.history).map(|form| form.criteria);
    let known = before.map(|criteria| {
        crate::catalogue::criteria_in_words(&criteria, settings, turn.request.spoken.language)
    });
    let variables =
        json!({ "fields": fields, "known": known.unwrap_or_default(), "message": turn.request.text });
    let prompt = node_context.prompt("extract", &turn, variables)?;
    let mut prompts = node_context.history(model, &turn);
    prompts.push(Prompt::User(prompt));
    let mut request = node_context.request(&turn, prompts);
    request.schema = Some(schema(settings.fields.iter().map(|field| field.name.as_str())));
    request.max_output_tokens = Some(MOST_TOKENS);
    let (change, spent) = match node_context.ask(&context, model, request, |_| {}).await {
        Ok(reply) => (serde_json::from_str::<CriteriaChange>(&reply.text).unwrap_or_default(), reply.spent),
        Err(ModelError::Form { .. } | ModelError::TooLong { .. }) => {
            (CriteriaChange::default(), TurnCost { calls: 1, ..TurnCost::default() })
        }
        Err(error) => return Err(failed(error)),
    };
    let change = grounded(change.bounded(), &turn.request.text, settings);
    Ok(TurnUpdate::Concierge(ConciergeUpdate::Extracted { change, spent }))
}

/// What a model may say: which fields, and in which words of the person.
fn schema<'a>(fields: impl Iterator<Item = &'a str>) -> AnswerSchema {
    let fields: Vec<&str> = fields.chain([LIMIT]).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "criteria": {
                "description": "What the message says of fields, nothing else.",
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "field": { "type": "string", "enum": fields },
                        "words": { "description": "The words of the message.", "type": "string" },
                    },
                    "required": ["field", "words"],
                    "additionalProperties": false,
                },
            },
            "start_over": { "description": "Whether the person looks for something else now.", "type": "boolean" },
        },
        "required": ["criteria", "start_over"],
        "additionalProperties": false,
    });
    AnswerSchema { name: "criteria".to_owned(), schema }
}
