//! Lets a model choose which tools to call next, or that it has enough.

use std::sync::Arc;

use ibid_core::model::{ModelError, Prompt, ToolCall, ToolChoice};
use ibid_graph::{Context, NodeError};
use serde_json::json;

use crate::kit::{Kit, Reply, failed};
use crate::turn::{Call, Change, Round, Turn};

/// The calls of one round have at most so many tokens.
const MOST_TOKENS: usize = 800;

/// Chooses.
pub(crate) async fn agent(kit: Arc<Kit>, turn: Arc<Turn>, context: Context) -> Result<Change, NodeError> {
    context.status(match turn.rounds.len() {
        0 => "choosing tools".to_owned(),
        rounds => format!("looking at what the tools gave back in round {rounds}"),
    });
    context.data("plan", json!(turn.plan));
    let (model, limits) = (kit.ports.answer.as_ref(), &kit.definition.limits);
    let (persona, plan) = (kit.persona(&turn)?, &turn.plan);
    let mut prompts =
        vec![Prompt::System(kit.prompt("agent", &turn, json!({ "persona": persona, "plan": plan }))?)];
    prompts.extend(kit.history(model, &turn));
    prompts.push(Prompt::User(turn.question.clone()));
    prompts.extend(turn.rounds.iter().flat_map(shown));
    let mut request = kit.request(&turn, prompts);
    request.tools = kit.ports.tools.iter().map(|tool| tool.spec().clone()).collect();
    request.max_output_tokens = Some(MOST_TOKENS);
    // Who has not looked cannot answer.
    let has_looked = !turn.rounds.is_empty();
    if !has_looked && !request.tools.is_empty() {
        request.tool_choice = ToolChoice::Required;
    }
    let reply = match kit.ask(&context, model, request, |_| {}).await {
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
        let call =
            Call { id: format!("{}.{}.{id}", turn.rounds.len() + 1, calls.len() + 1), name, arguments };
        let same = |other: &Call| (&other.name, &other.arguments) == (&call.name, &call.arguments);
        // What failed may be tried again.
        let answered = |round: &Round, call: &Call| {
            round.results.iter().any(|(id, text)| *id == call.id && !text.starts_with("<error>"))
        };
        let again = turn
            .rounds
            .iter()
            .any(|round| round.calls.iter().any(|other| same(other) && answered(round, other)));
        if !again && !calls.iter().any(same) && calls.len() < limits.calls {
            calls.push(call);
        }
    }
    if calls.is_empty() && !has_looked && !reply.partial {
        calls.extend(search(&kit, &turn));
    }
    Ok(Change::Chose { text: reply.text, calls, spent: reply.spent })
}

/// A search for the question itself, for a model that calls no tool although it must.
fn search(kit: &Kit, turn: &Turn) -> Option<Call> {
    let mut names = kit.ports.tools.iter().map(|tool| &tool.spec().name);
    let name = names.find(|name| name.starts_with("search"))?.clone();
    Some(Call { id: "1.1.search".to_owned(), name, arguments: json!({ "query": turn.question }) })
}

/// Whether tools are called next; the answer is written when there is nothing to call or no more may be spent.
pub(crate) fn wants_tools(kit: &Kit, turn: &Turn) -> bool {
    let limits = &kit.definition.limits;
    !turn.calls.is_empty()
        && turn.spent.usage.total() < limits.tokens
        && turn.spent.milliseconds < limits.seconds.saturating_mul(1000)
}

/// A round as a model is shown it.
fn shown(round: &Round) -> Vec<Prompt> {
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
