//! Plans how to answer with tools, and shows the plan.

use std::sync::Arc;

use ibid_core::answer::PlanStep;
use ibid_core::event::TurnEvent;
use ibid_core::evidence::Passage;
use ibid_core::model::{AnswerSchema, ModelError, Prompt};
use ibid_graph::{Context, NodeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::definition::Planning;
use crate::node_context::{NodeContext, emit, failed, not_searched};
use crate::source::{Source, take};
use crate::turn::{TurnCost, TurnState, TurnUpdate};

/// A plan has at most so many steps.
const MOST_STEPS: usize = 8;

/// And so many tokens.
const MOST_TOKENS: usize = 800;

/// A plan as a model writes it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "plan")]
struct Plan {
    /// The steps, in their order.
    steps: Vec<Step>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Step {
    /// Its number, from 1.
    number: u32,
    /// Why it is needed, in a few words.
    reasoning: String,
    /// The name of a tool.
    action: String,
    /// What it is for, in a few words.
    description: String,
    /// With what: the arguments of the tool, as far as they are known yet.
    inputs: Vec<PlanInput>,
}

/// An argument of a tool. Providers take no objects with any fields, so the object is put together here.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct PlanInput {
    name: String,
    value: String,
}

/// Plans.
pub(crate) async fn plan(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    if !helps(&node_context) {
        let (beginnings, spent) = (beginnings(&node_context, &turn, &context).await?, TurnCost::default());
        return Ok(TurnUpdate::Planned { plan: Vec::new(), beginnings, spent });
    }
    context.status("making a plan");
    let model = node_context.ports.small.as_ref();
    let tools: Vec<Value> = node_context
        .ports
        .tools
        .iter()
        .map(|tool| json!({ "name": tool.spec().name, "description": tool.spec().description }))
        .collect();
    let beginnings = beginnings(&node_context, &turn, &context).await?;
    let (persona, question) = (node_context.persona(&turn)?, &turn.question);
    let named = turn.route.iter().flat_map(|route| &route.documents);
    let named: Vec<&str> = named.map(|document| document.title.as_str()).collect();
    let variables = json!({ "persona": persona, "question": question, "tools": tools, "documents": named });
    let prompt = node_context.prompt("plan", &turn, variables)?;
    let mut prompts = vec![];
    prompts.extend(node_context.history(model, &turn));
    prompts.push(Prompt::User(prompt));
    let mut request = node_context.request(&turn, prompts);
    request.schema = Some(AnswerSchema::of::<Plan>());
    request.max_output_tokens = Some(MOST_TOKENS);
    let (steps, spent) = match node_context.ask(&context, model, request, |_| {}).await {
        Ok(reply) => (steps(&reply.text), reply.spent),
        // A model that cannot plan can still search.
        Err(ModelError::Form { .. }) => (Vec::new(), TurnCost::default()),
        Err(error) => return Err(failed(error)),
    };
    let plan = if steps.is_empty() { vec![single_search(&node_context, &turn)] } else { steps };
    emit(&context, &TurnEvent::Plan { steps: plan.clone() });
    Ok(TurnUpdate::Planned { plan, beginnings, spent })
}

/// Whether a plan helps. A model that reads slowly is a small one, whose plans are not worth the call.
fn helps(node_context: &NodeContext) -> bool {
    match node_context.definition.planning {
        Planning::Always => true,
        Planning::Never => false,
        Planning::Auto => !node_context.ports.small.reading_speed().is_slow(),
    }
}

/// How the documents begin that the message names, so that whoever answers knows what they are about.
async fn beginnings(
    node_context: &NodeContext,
    turn: &TurnState,
    context: &Context,
) -> Result<Vec<Passage>, NodeError> {
    let named = turn.route.iter().flat_map(|route| &route.documents).map(|document| document.id.clone());
    let mut question = node_context.definition.retrieval.question(Vec::new());
    question.introduce = named.collect();
    if question.introduce.is_empty() {
        return Ok(Vec::new());
    }
    let found = node_context.ports.index.retrieve(&turn.request.scope, &question).await;
    let passages = found.map_err(not_searched)?.passages;
    let mut sources = turn.sources.clone();
    take(&mut sources, passages.clone());
    emit(context, &TurnEvent::Sources { sources: sources.iter().map(Source::info).collect() });
    Ok(passages)
}

/// The steps of a plan. An action that no tool has stays: the model that follows the plan is told.
fn steps(text: &str) -> Vec<PlanStep> {
    let Ok(plan) = serde_json::from_str::<Plan>(text) else { return Vec::new() };
    let steps = plan.steps.into_iter().take(MOST_STEPS);
    let numbered = (1u32..).zip(steps).map(|(number, step)| PlanStep {
        number,
        action: step.action,
        description: step.description,
        reasoning: step.reasoning,
        inputs: step.inputs.into_iter().map(|input| (input.name, Value::String(input.value))).collect(),
        done: false,
    });
    numbered.collect()
}

fn single_search(node_context: &NodeContext, turn: &TurnState) -> PlanStep {
    let searches = node_context.ports.tools.iter().map(|tool| &tool.spec().name);
    let action = searches.clone().find(|name| name.starts_with("search")).or_else(|| searches.clone().next());
    let mut inputs = Map::new();
    inputs.insert("query".to_owned(), turn.question.clone().into());
    PlanStep {
        number: 1,
        action: action.cloned().unwrap_or_default(),
        description: turn.question.clone(),
        reasoning: String::new(),
        inputs: Value::Object(inputs),
        done: false,
    }
}
