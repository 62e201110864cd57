//! Plans how to answer with tools, and shows the plan.

use std::sync::Arc;

use ibid_core::model::{AnswerSchema, ModelError, Prompt};
use ibid_graph::{Context, NodeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::kit::{Kit, failed};
use crate::turn::{Change, PlanStep, Spent, Turn};

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
    /// The name of a tool.
    action: String,
    /// What it is for, in a few words.
    description: String,
    /// With what, in a few words.
    inputs: String,
}

/// Plans.
pub(crate) async fn plan(kit: Arc<Kit>, turn: Arc<Turn>, context: Context) -> Result<Change, NodeError> {
    context.status("making a plan");
    let model = kit.ports.small.as_ref();
    let tools: Vec<Value> = kit
        .ports
        .tools
        .iter()
        .map(|tool| json!({ "name": tool.spec().name, "description": tool.spec().description }))
        .collect();
    let (persona, question) = (kit.persona(&turn)?, &turn.question);
    let prompt =
        kit.prompt("plan", &turn, json!({ "persona": persona, "question": question, "tools": tools }))?;
    let mut prompts = vec![];
    prompts.extend(kit.history(model, &turn));
    prompts.push(Prompt::User(prompt));
    let mut request = kit.request(&turn, prompts);
    request.schema = Some(AnswerSchema::of::<Plan>());
    request.max_output_tokens = Some(MOST_TOKENS);
    let (steps, spent) = match kit.ask(&context, model, request, |_| {}).await {
        Ok(reply) => (steps(&kit, &reply.text), reply.spent),
        // A model that cannot plan can still search.
        Err(ModelError::Form { .. }) => (Vec::new(), Spent::default()),
        Err(error) => return Err(failed(error)),
    };
    let plan = if steps.is_empty() { vec![single_search(&kit, &turn)] } else { steps };
    context.data("plan", json!(plan));
    Ok(Change::Planned { plan, spent })
}

/// The steps of a plan that can be done.
fn steps(kit: &Kit, text: &str) -> Vec<PlanStep> {
    let Ok(plan) = serde_json::from_str::<Plan>(text) else { return Vec::new() };
    let known = |step: &Step| kit.ports.tools.iter().any(|tool| tool.spec().name == step.action);
    let steps = plan.steps.into_iter().filter(known).take(MOST_STEPS);
    let numbered = (1u32..).zip(steps).map(|(number, step)| PlanStep {
        number,
        action: step.action,
        description: step.description,
        inputs: json!(step.inputs),
        done: false,
    });
    numbered.collect()
}

fn single_search(kit: &Kit, turn: &Turn) -> PlanStep {
    let searches = kit.ports.tools.iter().map(|tool| &tool.spec().name);
    let action = searches.clone().find(|name| name.starts_with("search")).or_else(|| searches.clone().next());
    let mut inputs = Map::new();
    inputs.insert("query".to_owned(), turn.question.clone().into());
    PlanStep {
        number: 1,
        action: action.cloned().unwrap_or_default(),
        description: turn.question.clone(),
        inputs: Value::Object(inputs),
        done: false,
    }
}
