//! Lets a model choose which tools to call next, or that it has enough.

use std::sync::Arc;

use ibid_core::answer::{Intent, PlanStep, Route, RoutedBy};
use ibid_core::event::TurnEvent;
use ibid_core::model::{ModelError, Prompt, ToolCall, ToolChoice};
use ibid_graph::{Context, NodeError};
use serde_json::json;

use crate::definition::{FirstRound, Knowledge};
use crate::node_context::{NodeContext, Reply, emit, failed};
use crate::route::smalltalk;
use crate::turn::{Call, ToolRound, TurnState, TurnUpdate};

/// The calls of one round have at most so many tokens.
const MOST_TOKENS: usize = 800;

/// Chooses.
pub(crate) async fn agent(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    context.status(match turn.rounds.len() {
        0 => "choosing tools".to_owned(),
        rounds => format!("looking at what the tools gave back in round {rounds}"),
    });
    emit(&context, &TurnEvent::Plan { steps: turn.plan.clone() });
    let (model, limits) = (node_context.ports.answer.as_ref(), &node_context.definition.limits);
    let (persona, tools) = (node_context.persona(&turn)?, &node_context.ports.tools);
    let has_tool = |step: &PlanStep| tools.iter().any(|tool| tool.spec().name == step.action);
    let unknown: Vec<&str> =
        turn.plan.iter().filter(|step| !has_tool(step)).map(|step| step.action.as_str()).collect();
    let variables = json!({ "persona": persona, "plan": turn.plan, "unknown": unknown });
    let mut prompts = vec![Prompt::System(node_context.prompt("agent", &turn, variables)?)];
    prompts.extend(node_context.history(model, &turn));
    prompts.push(Prompt::User(turn.question.clone()));
    prompts.extend(turn.rounds.iter().flat_map(shown));
    let mut request = node_context.request(&turn, prompts);
    request.tools = tools.iter().map(|tool| tool.spec().clone()).collect();
    request.max_output_tokens = Some(MOST_TOKENS);
    let has_looked = !turn.rounds.is_empty();
    let has_found = turn.rounds.iter().flat_map(|round| &round.results).any(|(_, text)| !is_error(text));
    let must_look = node_context.definition.first_round == FirstRound::Required;
    if must_look && !has_looked && !request.tools.is_empty() {
        request.tool_choice = ToolChoice::Required;
    }
    let reply = match node_context.ask(&context, model, request, |_| {}).await {
        Ok(reply) => reply,
        // There is no room for another round, or the model cannot call tools: the answer is written from what there is.
        Err(ModelError::TooLong { .. }) if has_looked => Reply::default(),
        Err(ModelError::Form { .. } | ModelError::Nonsense { .. }) => Reply::default(),
        Err(error) => return Err(failed(error)),
    };
    let mut calls: Vec<Call> = Vec::new();
    for ToolCall { id, name, arguments } in reply.calls {
        // The ids of a provider may repeat; ours name one call of the turn.
        let id = if id.is_empty() { "call".to_owned() } else { id };
        let call = Call::new(format!("{}.{}.{id}", turn.rounds.len() + 1, calls.len() + 1), name, arguments);
        let same = |other: &Call| (&other.name, &other.arguments) == (&call.name, &call.arguments);
        // What failed may be tried again.
        let answered = |round: &ToolRound, call: &Call| {
            round.results.iter().any(|(id, text)| *id == call.id && !is_error(text))
        };
        let again = turn
            .rounds
            .iter()
            .any(|round| round.calls.iter().any(|other| same(other) && answered(round, other)));
        if !again && !calls.iter().any(same) && calls.len() < limits.calls {
            calls.push(call);
        }
    }
    if calls.is_empty() && !has_found && turn.failures.is_empty() && !reply.partial {
        // Whoever asks is not answered from what a model believes to know.
        let asks = smalltalk::is_question(&turn.request.text) || turn.names_documents();
        let from_documents = node_context.definition.knowledge == Knowledge::Documents;
        if !(has_looked || must_look || asks && from_documents) {
            let route = Route { intent: Some(Intent::Chat), by: RoutedBy::Model, documents: Vec::new() };
            emit(&context, &TurnEvent::Routed(route.clone()));
            return Ok(TurnUpdate::Routed { route, question: turn.question.clone(), spent: reply.spent });
        }
        calls.extend(search(&node_context, &turn).filter(|_| !has_searched(&turn)));
    }
    Ok(TurnUpdate::ToolCallsRequested { text: reply.text, calls, spent: reply.spent })
}

/// Whether what a tool gave back says that it failed.
fn is_error(text: &str) -> bool {
    text.starts_with("<error>")
}

/// The name of the search that is made for a model.
const OWN_SEARCH: &str = "search";

/// Whether the question was searched for already, in the place of a model.
fn has_searched(turn: &TurnState) -> bool {
    turn.rounds.iter().flat_map(|round| &round.calls).any(|call| call.id.ends_with(OWN_SEARCH))
}

/// A search for the question itself, for a model that calls no tool although it should.
fn search(node_context: &NodeContext, turn: &TurnState) -> Option<Call> {
    let mut names = node_context.ports.tools.iter().map(|tool| &tool.spec().name);
    let name = names.find(|name| name.starts_with("search"))?.clone();
    let id = format!("{}.1.{OWN_SEARCH}", turn.rounds.len() + 1);
    Some(Call::new(id, name, json!({ "query": turn.question })))
}

/// Whether tools are called next; the answer is written when there is nothing to call or no more may be spent.
pub(crate) fn wants_tools(node_context: &NodeContext, turn: &TurnState) -> bool {
    let limits = &node_context.definition.limits;
    !turn.calls.is_empty()
        && turn.spent.usage.total() < limits.tokens
        && turn.spent.milliseconds < limits.seconds.saturating_mul(1000)
}

/// A round as a model is shown it.
fn shown(round: &ToolRound) -> Vec<Prompt> {
    let call = |call: &Call| ToolCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    };
    let calls = round.calls.iter().map(call).collect();
    let mut prompts = vec![Prompt::Assistant { text: round.text.clone(), calls }];
    let results =
        round.results.iter().map(|(call, text)| Prompt::Tool { call: call.clone(), text: text.clone() });
    prompts.extend(results);
    prompts
}
