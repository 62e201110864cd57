//! The Model Context Protocol at `/mcp`: a tool to ask an assistant, and the tools of the assistants themselves.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use http::request::Parts;
use ibid_core::evidence::Passage;
use ibid_core::tool::{Tool as Port, ToolOutput};
use ibid_core::{Corpus, Message, Scope, ThreadId, TurnEvent, TurnOptions};
use ibid_engine::{Stop, Turn, turn_events};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
    Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::http::{Caller, Problem, read_whole, room};
use crate::state::ServerState;

/// The tool that asks an assistant.
const ASK: &str = "ask";
/// So often a client hears that it is not forgotten.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The largest request, in bytes.
const LARGEST: usize = 4 << 20;

/// The route. Every request stands for itself: there are no sessions that could be taken over.
pub(crate) fn routes(app: &ServerState) -> Router<ServerState> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(Some(KEEP_ALIVE))
        .with_max_request_body_bytes(LARGEST)
        // Hosts and origins are checked for the whole server.
        .disable_allowed_hosts();
    let mcp = Mcp { app: app.clone() };
    let service =
        StreamableHttpService::new(move || Ok(mcp.clone()), Arc::new(NeverSessionManager::default()), config);
    Router::new().route_service("/mcp", service).layer(from_fn(whole))
}

/// Hands a request on when all of it is there, so that one that breaks off is the client's failure and not ours.
async fn whole(request: Request, next: Next) -> Response<Body> {
    let read = async {
        let _room = room(request.headers()).await?;
        read_whole(request, LARGEST).await
    };
    match read.await {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

#[derive(Clone)]
struct Mcp {
    app: ServerState,
}

#[derive(Debug, Deserialize)]
struct Ask {
    question: String,
    #[serde(default)]
    assistant: Option<String>,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    format: Option<String>,
    #[serde(default)]
    thread: Option<String>,
    /// What the answer is narrowed to.
    #[serde(flatten)]
    narrowing: Map<String, Value>,
}

impl ServerHandler for Mcp {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("ibid", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Assistants that answer from documents and cite the page. `ask` gives an answer with checked citations; \
                 the other tools search the documents of one assistant.",
            )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        caller(&context)?;
        let mut tools =
            vec![Tool::new(ASK, "Ask an assistant and get its answer with citations.", self.ask_schema())];
        for (assistant, info) in self.app.assistants() {
            for tool in &info.tools {
                let spec = tool.spec();
                let schema = spec.parameters.as_object().cloned().unwrap_or_default();
                let name = format!("{assistant}_{}", spec.name);
                let described = Tool::new(name, spec.description.clone(), Arc::new(schema));
                tools.push(
                    described.with_annotations(ToolAnnotations::new().read_only(!tool.needs_consent())),
                );
            }
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = caller(&context)?.clone();
        let arguments = request.arguments.unwrap_or_default();
        if request.name == ASK {
            let ask: Ask = serde_json::from_value(Value::Object(arguments))
                .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
            let answered = self.ask(&caller, ask, &context).await;
            return Ok(answered.unwrap_or_else(|problem| failed(problem.detail())).into());
        }
        let Some((scope, tool)) = self.find(&caller, &request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        };
        let called = tool.call(&scope, Value::Object(arguments));
        let Some(called) = context.ct.run_until_cancelled(called).await else {
            return Err(ErrorData::internal_error("cancelled", None));
        };
        Ok(match called {
            Ok(output) => to_wire(output),
            Err(error) => failed(&error.to_string()),
        }
        .into())
    }
}

impl Mcp {
    fn ask_schema(&self) -> Arc<Map<String, Value>> {
        let names: Vec<String> = self.app.assistants().into_keys().collect();
        let schema = json!({
            "type": "object",
            "properties": {
                "question": { "type": "string", "description": "What to ask." },
                "assistant": { "type": "string", "enum": names, "description": "Who answers; `default` unless said." },
                "mode": { "type": "string", "description": "One of the assistant's modes." },
                "format": { "type": "string", "description": "One of the assistant's formats." },
                "documents": { "type": "array", "items": { "type": "string" }, "description": "Only these documents, by their ids." },
                "corpora": { "type": "array", "items": { "type": "string" }, "description": "Only these corpora." },
                "types": { "type": "array", "items": { "type": "string" }, "description": "Only documents of these types." },
                "languages": { "type": "array", "items": { "type": "string" }, "description": "Only documents in these languages, such as en." },
                "cache": { "type": "boolean", "description": "false to answer anew, and not with what was answered before." },
                "thread": { "type": "string", "description": "The conversation to go on in, as an earlier answer named it." },
            },
            "required": ["question"],
        });
        Arc::new(schema.as_object().cloned().unwrap_or_default())
    }

    /// A tool of an assistant by its name here, and what it may see: what the caller may, of the assistant's documents.
    fn find(&self, caller: &Caller, name: &str) -> Option<(Scope, Arc<dyn Port>)> {
        self.app.assistants().iter().find_map(|(assistant, info)| {
            let name = name.strip_prefix(assistant.as_str())?.strip_prefix('_')?;
            let tool = info.tools.iter().find(|tool| tool.spec().name == name)?;
            Some((narrowed(&caller.scope, &info.definition.corpora), tool.clone()))
        })
    }

    async fn ask(
        &self,
        caller: &Caller,
        ask: Ask,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Problem> {
        let assistant = ask.assistant.as_deref().unwrap_or("default");
        let thread = ask.thread.as_deref().map_or_else(|| Ok(ThreadId::new()), crate::http::thread_id)?;
        let mut turn = Turn::new(thread, assistant, Message::user(ask.question));
        turn.trace = caller.trace;
        turn.options = TurnOptions::narrowing_in(&ask.narrowing).with(ask.mode, ask.format);
        self.app.can_answer(assistant, &turn.options).await?;
        let engine = self.app.engine();
        let run = engine.submit(&caller.scope, turn).await?.run;
        let mut events = turn_events(engine, &caller.scope, run, 0).await?;
        let token = context.meta.get_progress_token();
        let mut progress = 0.0;
        while let Some(event) = context.ct.run_until_cancelled(events.next()).await.unwrap_or_default() {
            match (event?.event, &token) {
                (TurnEvent::Status { text }, Some(token)) => {
                    progress += 1.0;
                    let note = ProgressNotificationParam::new(token.clone(), progress).with_message(text);
                    // Who does not listen any more is told by the cancellation.
                    let _ = context.peer.notify_progress(note).await;
                }
                (TurnEvent::Ended { .. } | TurnEvent::Interrupted { .. }, _) => break,
                _ => {}
            }
        }
        if context.ct.is_cancelled() {
            engine.stop(&caller.scope, run, Stop::Keep).await?;
            return Err(Problem::conflict("cancelled"));
        }
        let ended = engine.run(&caller.scope, run).await?;
        if let Some(question) = &ended.interrupt {
            return Ok(failed(&format!("the assistant asks, and goes on with the next message: {question}")));
        }
        if let Some(error) = &ended.error {
            return Ok(failed(&format!("the assistant failed: {error}")));
        }
        let own = crate::messages::answer_of(engine, &caller.scope, &ended).await?;
        let Some(said) = own else { return Ok(failed("the assistant said nothing")) };
        let metadata = said.message.metadata.clone().unwrap_or_default();
        let data = json!({
            "answer": said.message.text,
            "citations": metadata.citations,
            "warnings": metadata.warnings,
            "structured": metadata.structured,
            "thread": thread.to_string(),
        });
        let mut result = CallToolResult::structured(data);
        result.content = vec![ContentBlock::text(in_words(&said.message))];
        Ok(result)
    }
}

/// An answer for a reader who sees text only.
fn in_words(message: &Message) -> String {
    let mut text = message.text.clone();
    for citation in message.metadata.iter().flat_map(|metadata| &metadata.citations) {
        let found = json!(citation.found);
        text.push_str(&format!(
            "\n[{}] {}, {} ({}): {}",
            citation.source,
            citation.title,
            citation.place().unwrap_or_else(|| "no page".to_owned()),
            found.as_str().unwrap_or("not quoted"),
            citation.snippet
        ));
    }
    for warning in message.metadata.iter().flat_map(|metadata| &metadata.warnings) {
        text.push_str(&format!("\nWarning: {}", warning.text));
    }
    text
}

fn to_wire(output: ToolOutput) -> CallToolResult {
    match output {
        ToolOutput::Said { text, data } => {
            let data = if data.is_object() { data } else { json!({ "data": data }) };
            let mut result = CallToolResult::structured(data);
            result.content = vec![ContentBlock::text(text)];
            result
        }
        ToolOutput::Computed { text, data, passages } => {
            let mut result = CallToolResult::structured(json!({ "computed": data, "passages": passages }));
            result.content = vec![ContentBlock::text(listed(Some(text), &passages))];
            result
        }
        ToolOutput::Found { passages, note } => {
            let text = listed(note, &passages);
            let mut result = CallToolResult::structured(json!({ "passages": passages }));
            let text = if passages.is_empty() { "nothing was found".to_owned() } else { text };
            result.content = vec![ContentBlock::text(text)];
            result
        }
    }
}

/// What is said, and passages with their pages.
fn listed(said: Option<String>, passages: &[Passage]) -> String {
    let words =
        passages.iter().map(|passage| format!("{}, {}\n{}", passage.title, passage.place(), passage.text));
    said.into_iter().chain(words).collect::<Vec<_>>().join("\n\n")
}

fn failed(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text.to_owned())])
}

/// A scope within the corpora of an assistant.
pub(crate) fn narrowed(scope: &Scope, corpora: &[Corpus]) -> Scope {
    if corpora.is_empty() { scope.clone() } else { scope.clone().within(corpora.iter().cloned()) }
}

/// Who asks: put there by whoever let the request through.
fn caller(context: &RequestContext<RoleServer>) -> Result<&Caller, ErrorData> {
    let parts = context.extensions.get::<Parts>();
    let caller = parts.and_then(|parts| parts.extensions.get::<Caller>());
    caller.ok_or_else(|| ErrorData::internal_error("the request has no caller", None))
}
