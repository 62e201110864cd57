//! Assistants, in the topology of LangGraph's Agent Server.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, Response};
use axum::response::IntoResponse as _;
use ibid_assistants::AnswerFormat;
use ibid_core::tool::{ToolError, ToolOutput};
use ibid_core::{AccessRole, Corpus};
use ibid_graph::{END, START, Topology, TopologyNodeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::api::{Api, operation};
use ibid_app::AssistantInfo;

use crate::http::{Caller, Json, Problem};
use crate::mcp::narrowed;
use crate::state::ServerState;
use crate::threads::Select;

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| operation("Assistants", summary, AccessRole::Reader);
    api.post(
        "/assistants/search",
        search,
        on("List those who can answer").takes::<Search>().gives::<Vec<AssistantView<'_>>>(),
    )
    .post("/assistants/count", count, on("Count those who can answer").takes::<Search>().gives::<usize>())
    .get("/assistants/{assistant}", one, on("One that can answer").gives::<AssistantView<'_>>())
    .get("/assistants/{assistant}/graph", graph, on("Its graph, as nodes and edges").gives::<GraphView>())
    .get("/assistants/{assistant}/schemas", schemas, on("What it takes and gives, as JSON schemas"))
    .post(
        "/assistants/{assistant}/tools/{tool}",
        call_tool,
        on("Call one of its tools, as the page does to work something out again")
            .takes::<Map<String, Value>>()
            .audited(),
    )
    .get("/assistants/{assistant}/subgraphs", subgraphs, on("The graphs within its graph"))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "AssistantSearch")]
struct Search {
    graph_id: Option<String>,
    name: Option<String>,
    metadata: Option<Map<String, Value>>,
    limit: Option<usize>,
    offset: Option<usize>,
    select: Option<Vec<String>>,
}

impl Search {
    fn fits(&self, name: &str, info: &AssistantInfo) -> bool {
        let named = |wanted: &String| {
            let wanted = wanted.to_lowercase();
            name.contains(&wanted) || info.definition.title.to_lowercase().contains(&wanted)
        };
        self.graph_id.as_ref().is_none_or(|graph| graph == name)
            && self.name.as_ref().is_none_or(named)
            && self.metadata.iter().flatten().all(|(key, value)| key == "created_by" && value == "system")
    }
}

async fn search(
    State(app): State<ServerState>,
    _: Caller,
    Json(asked): Json<Search>,
) -> Result<Response<Body>, Problem> {
    let select = Select::of(asked.select.as_deref().unwrap_or_default());
    let (skip, limit) = (asked.offset.unwrap_or(0), asked.limit.unwrap_or(10).max(1));
    let all = app.assistants();
    let fitting: Vec<_> = all.iter().filter(|(name, info)| asked.fits(name, info)).collect();
    let page: Vec<Value> = fitting
        .iter()
        .skip(skip)
        .take(limit)
        .map(|(name, info)| select.keep(json!(to_wire(name, info))))
        .collect();
    let next = skip + page.len();
    let mut response = axum::Json(page).into_response();
    response.headers_mut().insert("x-pagination-total", HeaderValue::from(fitting.len()));
    if next < fitting.len() {
        response.headers_mut().insert("x-pagination-next", HeaderValue::from(next));
    }
    Ok(response)
}

async fn count(State(app): State<ServerState>, _: Caller, Json(asked): Json<Search>) -> axum::Json<usize> {
    axum::Json(app.assistants().iter().filter(|(name, info)| asked.fits(name, info)).count())
}

async fn one(
    State(app): State<ServerState>,
    _: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    Ok(axum::Json(json!(to_wire(&name, &*app.assistant(&name)?))))
}

async fn graph(
    State(app): State<ServerState>,
    _: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<GraphView>, Problem> {
    Ok(axum::Json(graph_view(&app.assistant(&name)?.topology)))
}

async fn subgraphs(
    State(app): State<ServerState>,
    _: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    app.assistant(&name)?;
    Ok(axum::Json(json!({})))
}

/// Calls a tool of an assistant on behalf of the caller, in the corpora of the assistant.
async fn call_tool(
    State(app): State<ServerState>,
    caller: Caller,
    Path((name, tool)): Path<(String, String)>,
    Json(arguments): Json<Map<String, Value>>,
) -> Result<axum::Json<Value>, Problem> {
    let info = app.assistant(&name)?;
    let found = info.tools.iter().find(|known| known.spec().name == tool);
    let Some(found) = found else {
        return Err(Problem::not_found(format!("the assistant `{name}` has no tool `{tool}`")));
    };
    let scope = narrowed(&caller.scope, &info.definition.corpora);
    match found.call(&scope, Value::Object(arguments)).await {
        Ok(ToolOutput::Said { data, .. } | ToolOutput::Computed { data, .. }) => Ok(axum::Json(data)),
        Ok(ToolOutput::Found { passages, note }) => {
            let texts: Vec<&str> = passages.iter().map(|passage| passage.text.as_str()).collect();
            Ok(axum::Json(json!({ "note": note, "passages": texts })))
        }
        Err(error @ ToolError::Arguments(_)) => Err(Problem::invalid(error.to_string())),
        Err(error) => Err(Problem::unavailable(error.to_string())),
    }
}

async fn schemas(
    State(app): State<ServerState>,
    _: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    let definition = &app.assistant(&name)?.definition;
    let messages = json!({
        "type": "object",
        "properties": { "messages": { "type": "array", "items": { "type": "object" } } },
        "required": ["messages"],
    });
    let modes: Vec<&str> = definition.modes.iter().map(|mode| mode.name.as_str()).collect();
    let formats = &definition.formats;
    let list = |of: &str| json!({ "type": "array", "items": { "type": "string" }, "description": of });
    let context = json!({
        "type": "object",
        "properties": {
            "mode": { "type": "string", "enum": modes, "description": "the way to answer" },
            "format": { "type": "string", "enum": formats, "description": "the form of the answer" },
            "documents": list("only these documents, by their ids"),
            "corpora": list("only these corpora"),
            "types": list("only documents of these types"),
            "languages": list("only documents in these languages, such as en"),
            "cache": { "type": "boolean", "description": "false to answer anew, and not with what was answered before" },
        },
    });
    Ok(axum::Json(json!({
        "graph_id": name,
        "input_schema": messages,
        "output_schema": messages,
        "state_schema": messages,
        "config_schema": context,
        "context_schema": context,
    })))
}

/// An assistant as LangGraph's clients know it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Assistant")]
struct AssistantView<'a> {
    assistant_id: &'a str,
    graph_id: &'a str,
    name: &'a str,
    description: &'a str,
    config: Map<String, Value>,
    context: Map<String, Value>,
    metadata: Metadata<'a>,
    version: u32,
    created_at: &'static str,
    updated_at: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AssistantMetadata")]
struct Metadata<'a> {
    created_by: &'static str,
    /// What it says first.
    greeting: &'a str,
    /// Questions that show what it can do.
    examples: &'a [String],
    /// The ways in which it can answer; the first one unless asked otherwise.
    modes: Vec<&'a str>,
    /// The formats in which it can answer; the first one unless asked otherwise.
    formats: &'a [String],
    /// The JSON Schemas of its formats by name, with hints for whoever shows an answer; text has none.
    format_schemas: BTreeMap<&'a str, &'a Value>,
    /// The sets of documents that it answers from; empty means all.
    corpora: &'a [Corpus],
    tools: Vec<String>,
    /// What is wrong with its folder since it was changed; until that is mended, it answers as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
}

fn to_wire<'a>(name: &'a str, info: &'a AssistantInfo) -> AssistantView<'a> {
    let definition = &info.definition;
    AssistantView {
        assistant_id: name,
        graph_id: name,
        name: if definition.title.is_empty() { name } else { &definition.title },
        description: &definition.description,
        config: Map::new(),
        context: Map::new(),
        metadata: Metadata {
            created_by: "system",
            greeting: &definition.greeting,
            examples: &definition.examples,
            modes: definition.modes.iter().map(|mode| mode.name.as_str()).collect(),
            formats: &definition.formats,
            format_schemas: info.formats.iter().filter_map(with_schema).collect(),
            corpora: &definition.corpora,
            tools: info.tools.iter().map(|tool| tool.spec().name.clone()).collect(),
            problem: info.problem.as_deref(),
        },
        version: info.topology.declared_version.max(1),
        created_at: "1970-01-01T00:00:00Z",
        updated_at: "1970-01-01T00:00:00Z",
    }
}

fn with_schema(format: &AnswerFormat) -> Option<(&str, &Value)> {
    Some((format.name(), format.schema()?))
}

/// A graph as it can be drawn.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Graph")]
struct GraphView {
    nodes: Vec<GraphNode>,
    edges: Vec<GraphEdge>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GraphNode")]
struct GraphNode {
    id: String,
    /// schema for where it begins and ends, runnable for what works, question for what asks, graph for one of its own.
    #[serde(rename = "type")]
    kind: &'static str,
    data: NodeData,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GraphNodeData")]
struct NodeData {
    name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GraphEdge")]
struct GraphEdge {
    source: String,
    target: String,
    /// Whether it is decided in the turn if it is taken.
    conditional: bool,
}

fn graph_view(topology: &Topology) -> GraphView {
    let end = |name: &str| match name {
        START => "__start__".to_owned(),
        END => "__end__".to_owned(),
        other => other.to_owned(),
    };
    let node = |name: &str, kind: &'static str| GraphNode {
        id: end(name),
        kind,
        data: NodeData { name: end(name) },
    };
    let mut nodes = vec![node(START, "schema")];
    for inner in &topology.nodes {
        let kind = match inner.kind {
            TopologyNodeKind::Work => "runnable",
            TopologyNodeKind::Interrupt => "question",
            TopologyNodeKind::Graph(_) => "graph",
        };
        nodes.push(node(&inner.name, kind));
    }
    nodes.push(node(END, "schema"));
    let edges = topology.edges.iter().map(|edge| GraphEdge {
        source: end(&edge.from),
        target: end(&edge.to),
        conditional: edge.conditional,
    });
    GraphView { nodes, edges: edges.collect() }
}
