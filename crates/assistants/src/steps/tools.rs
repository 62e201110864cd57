//! Calls tools, all of one round at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ibid_core::model::Usage;
use ibid_core::tool::{Tool, ToolError, ToolOutput};
use ibid_graph::{Context, NodeError};
use serde_json::{Value, json};

use crate::kit::Kit;
use crate::source::Origin;
use crate::turn::{Call, Change, Reported, Spent, Turn};

/// A longer text of a tool is cut, in characters.
const LONGEST: usize = 12_000;

/// Of an error so much is told.
const LONGEST_ERROR: usize = 500;
/// And of the data of a result so much, in bytes.
const LARGEST_DATA: usize = 64 << 10;

/// Calls.
pub(crate) async fn tools(kit: Arc<Kit>, turn: Arc<Turn>, context: Context) -> Result<Change, NodeError> {
    let began = Instant::now();
    let names: Vec<&str> = turn.calls.iter().map(|call| call.name.as_str()).collect();
    context.status(format!("using {}", names.join(", ")));
    let results = join_all(turn.calls.iter().map(|call| one(&kit, &turn, &context, call))).await;
    let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Change::Called { results, spent: Spent { usage: Usage::default(), milliseconds } })
}

async fn one(kit: &Kit, turn: &Turn, context: &Context, call: &Call) -> Reported {
    let Call { id, name, arguments } = call;
    context.data("tool_call", json!({ "id": id, "name": name, "arguments": arguments }));
    let tool = kit.ports.tools.iter().find(|tool| tool.spec().name == *name);
    let outcome = match tool {
        None => {
            let names: Vec<&str> = kit.ports.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
            Err(format!("there is no tool `{name}`; there are {}", names.join(", ")))
        }
        Some(tool) => perform(kit, turn, context, tool.as_ref(), arguments.clone()).await,
    };
    let told = match &outcome {
        Ok((origins, data)) => json!({ "id": id, "name": name, "sources": origins.len(), "data": data }),
        Err(error) => json!({ "id": id, "name": name, "error": error }),
    };
    context.data("tool_result", told);
    let (origins, error) = match outcome {
        Ok((origins, _)) => (origins, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    Reported { id: id.clone(), name: name.clone(), origins, error }
}

async fn perform(
    kit: &Kit,
    turn: &Turn,
    context: &Context,
    tool: &dyn Tool,
    arguments: Value,
) -> Result<(Vec<Origin>, Value), String> {
    let limit = Duration::from_secs(kit.definition.limits.tool_seconds);
    let called = tokio::time::timeout(limit, tool.call(&turn.asked.scope, arguments));
    let Some(called) = context.cancel().run_until_cancelled(called).await else {
        return Err("stopped".to_owned());
    };
    let output = match called {
        Ok(output) => output.map_err(|error: ToolError| cut(&error.to_string(), LONGEST_ERROR))?,
        Err(_) => return Err(format!("{} took longer than {} s", tool.spec().name, limit.as_secs())),
    };
    Ok(match output {
        ToolOutput::Found(passages) => {
            let found =
                passages.iter().map(|passage| json!({ "title": passage.title, "page": passage.page }));
            let data = found.collect();
            (passages.into_iter().map(|passage| Origin::Passage(Box::new(passage))).collect(), data)
        }
        ToolOutput::Said { text, data } => {
            let text = cut(&text, LONGEST);
            // For the page, which can do without what is too much.
            let data = if data.to_string().len() > LARGEST_DATA { Value::Null } else { data };
            (vec![Origin::Tool { tool: tool.spec().name.clone(), text }], data)
        }
    })
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
