//! Calls tools, all of one round at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ibid_core::event::{ToolCallFinished, ToolCallStarted, TurnEvent};
use ibid_core::tool::{Tool, ToolError, ToolOutput};
use ibid_core::{metric, trace};
use ibid_graph::{Context, NodeError};
use serde_json::{Value, json};
use tracing::Instrument;

use crate::node_context::{NodeContext, emit};
use crate::packing::pack;
use crate::source::{Origin, Source};
use crate::steps::arguments::arguments_for;
use crate::turn::{Call, ToolReport, TurnCost, TurnState, TurnUpdate};

/// A longer text of a tool is cut, in characters.
const LONGEST: usize = 12_000;

/// Of an error so much is told.
const LONGEST_ERROR: usize = 500;
/// And of the data of a result so much, in bytes.
const LARGEST_DATA: usize = 64 << 10;

/// Calls.
pub(crate) async fn tools(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let began = Instant::now();
    let names: Vec<&str> = turn.calls.iter().map(|call| call.name.as_str()).collect();
    context.status(format!("using {}", names.join(", ")));
    let calls = turn.calls.iter().map(|call| one(&node_context, &turn, &context, call));
    let mut results = join_all(calls).await;
    show(&node_context, &turn, &mut results);
    let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(TurnUpdate::ToolCallsFinished { results, spent: TurnCost { milliseconds, ..TurnCost::default() } })
}

async fn one(node_context: &NodeContext, turn: &TurnState, context: &Context, call: &Call) -> ToolReport {
    let Call { id, name, arguments, denied } = call;
    let started = ToolCallStarted { id: id.clone(), name: name.clone(), arguments: arguments.clone() };
    emit(context, &TurnEvent::ToolCallStarted(started));
    let outcome = match node_context.tool(name) {
        None => {
            let names: Vec<&str> =
                node_context.ports.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
            Err(CallFailure::Wrong(format!("there is no tool `{name}`; there are {}", names.join(", "))))
        }
        Some(_) if *denied => Err(CallFailure::Wrong("the person did not allow this call".to_owned())),
        Some(tool) => {
            let arguments = arguments_for(tool, call, turn);
            let (span, began) = (trace::tool_span(name, id), Instant::now());
            trace::with_input(&span, || arguments.to_string());
            let called = perform(node_context, turn, context, tool, arguments);
            let outcome = called.instrument(span.clone()).await;
            match &outcome {
                Ok(result) => trace::with_output(&span, || result.data.to_string()),
                Err(failure) => trace::failed(&span, &failure.text()),
            }
            let ended = if outcome.is_ok() { "done" } else { "failed" };
            metric::tool_called(name, ended, began.elapsed());
            outcome
        }
    };
    let mut finished = ToolCallFinished {
        id: id.clone(),
        name: name.clone(),
        sources: None,
        note: None,
        data: None,
        error: None,
    };
    match &outcome {
        Ok(ToolResult { origins, note, data }) => {
            (finished.sources, finished.data) = (Some(origins.len()), Some(data.clone()));
            finished.note.clone_from(note);
        }
        Err(failure) => finished.error = Some(failure.text().to_owned()),
    }
    emit(context, &TurnEvent::ToolCallFinished(finished));
    let (id, name) = (id.clone(), name.clone());
    match outcome {
        Ok(ToolResult { origins, note, .. }) => {
            ToolReport { id, name, origins, note, error: None, refused: false, shown: None }
        }
        Err(failure) => {
            let refused = matches!(failure, CallFailure::Wrong(_));
            let error = Some(failure.text().to_owned());
            ToolReport { id, name, origins: Vec::new(), note: None, error, refused, shown: None }
        }
    }
}

/// Writes down what the model is shown of the results: all of them, or what it reads in time.
fn show(node_context: &NodeContext, turn: &TurnState, results: &mut [ToolReport]) {
    let model = node_context.ports.answer.as_ref();
    let patience = node_context.definition.limits.patience();
    let Some(room) = model.reading_speed().tokens_within(patience) else { return };
    let room = room / results.len().max(1);
    let count = |text: &str| model.count_tokens(text) + 1;
    let mut sources = turn.sources.clone();
    for result in results {
        let numbers = result.number(&mut sources);
        let own: Vec<Source> =
            sources.iter().filter(|source| numbers.contains(&source.number)).cloned().collect();
        result.shown = Some(pack(&own, &turn.question, room, &count));
    }
}

/// Why a call gave nothing.
enum CallFailure {
    /// It was wrong: the model is told.
    Wrong(String),
    /// The tool failed: the person is told, too.
    Failed(String),
}

impl CallFailure {
    fn text(&self) -> &str {
        let (Self::Wrong(text) | Self::Failed(text)) = self;
        text
    }
}

/// What a tool gave back: sources, what is to be known of them, and what the page shows.
struct ToolResult {
    origins: Vec<Origin>,
    note: Option<String>,
    data: Value,
}

async fn perform(
    node_context: &NodeContext,
    turn: &TurnState,
    context: &Context,
    tool: &dyn Tool,
    arguments: Value,
) -> Result<ToolResult, CallFailure> {
    let scope = turn.scope();
    let limit = Duration::from_secs(node_context.definition.limits.tool_seconds);
    let called = tokio::time::timeout(limit, tool.call(&scope, arguments));
    let Some(called) = context.cancel().run_until_cancelled(called).await else {
        return Err(CallFailure::Failed("stopped".to_owned()));
    };
    let output = match called {
        Ok(output) => output.map_err(|error| {
            let text = cut(&error.to_string(), LONGEST_ERROR);
            match error {
                ToolError::Arguments(_) => CallFailure::Wrong(text),
                ToolError::Service { .. } => CallFailure::Failed(text),
            }
        })?,
        Err(_) => {
            let text = format!("{} took longer than {} s", tool.spec().name, limit.as_secs());
            return Err(CallFailure::Failed(text));
        }
    };
    Ok(match output {
        ToolOutput::Found { passages, note } => {
            let found =
                passages.iter().map(|passage| json!({ "title": passage.title, "page": passage.page }));
            let data = found.collect();
            ToolResult { origins: passages.into_iter().map(Origin::from).collect(), note, data }
        }
        ToolOutput::Computed { text, data, passages } => {
            let origins = [said(tool, &text)].into_iter().chain(passages.into_iter().map(Origin::from));
            ToolResult { origins: origins.collect(), note: None, data }
        }
        ToolOutput::Said { text, data } => {
            // For the page, which can do without what is too much.
            let data = if data.to_string().len() > LARGEST_DATA { Value::Null } else { data };
            ToolResult { origins: vec![said(tool, &text)], note: None, data }
        }
    })
}

/// What a tool says as a source.
fn said(tool: &dyn Tool, text: &str) -> Origin {
    Origin::Tool { tool: tool.spec().name.clone(), text: cut(text, LONGEST) }
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
