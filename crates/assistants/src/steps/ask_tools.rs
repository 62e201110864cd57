//! Asks a person before tools are called that can act, once the turn holds text that others wrote: a document may have
//! talked the model into it.

use ibid_core::tool::Tool;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::arguments_for;
use super::web_search::is_yes;
use crate::node_context::NodeContext;
use crate::turn::{Call, TurnState, TurnUpdate};

/// What a person is asked.
#[derive(Debug, Serialize)]
pub(crate) struct ToolsQuestion {
    /// What kind of question it is, for whoever shows it.
    kind: &'static str,
    /// In words.
    question: String,
    /// What would be called, exactly.
    calls: Vec<Call>,
}

/// What a person answers: yes for all, the ids of the calls that are allowed, or anything else.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct ToolsReply(Value);

/// Whether there is anything to ask.
pub(crate) fn needs_consent(node_context: &NodeContext, turn: &TurnState) -> bool {
    turn.holds_untrusted_text() && asked(node_context, turn).next().is_some()
}

/// What is asked.
pub(crate) fn tools_question(node_context: &NodeContext, turn: &TurnState) -> ToolsQuestion {
    // As they would be called, and not as the model wrote them.
    let as_called = |(tool, call): (&dyn Tool, &Call)| Call {
        arguments: arguments_for(tool, call, turn),
        ..call.clone()
    };
    let calls = asked(node_context, turn).map(as_called).collect();
    ToolsQuestion { kind: "tool_calls", question: turn.texts().may_call_tools.clone(), calls }
}

/// What the answer means for the calls.
pub(crate) fn tools_answered(node_context: &NodeContext, turn: &TurnState, reply: &ToolsReply) -> TurnUpdate {
    let allowed = |call: &Call| match &reply.0 {
        Value::Array(ids) => ids.iter().any(|id| id.as_str() == Some(&call.id)),
        answer => is_yes(answer),
    };
    let denied = asked(node_context, turn).filter(|(_, call)| !allowed(call));
    TurnUpdate::ToolCallsAnswered { denied: denied.map(|(_, call)| call.id.clone()).collect() }
}

/// The calls that a person is asked about, with their tools.
fn asked<'t>(
    node_context: &'t NodeContext,
    turn: &'t TurnState,
) -> impl Iterator<Item = (&'t dyn Tool, &'t Call)> {
    let found = turn.calls.iter().filter_map(|call| Some((node_context.tool(&call.name)?, call)));
    found.filter(|(tool, _)| tool.needs_consent())
}
