//! Assistants, in the shape of LangGraph's Agent Server.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, Response};
use axum::response::IntoResponse as _;
use ibid_assistants::Format;
use ibid_core::Corpus;
use ibid_graph::{END, START, Shape, ShapeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::api::{Api, about};
use crate::app::{App, Offer};
use crate::http::{Caller, Json, Problem};
use crate::threads::Select;

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| about("Assistants", summary);
    api.post(
        "/assistants/search",
        search,
        on("List those who can answer").takes::<Search>().gives::<Vec<Told<'_>>>(),
    )
    .post("/assistants/count", count, on("Count those who can answer").takes::<Search>().gives::<usize>())
    .get("/assistants/{assistant}", one, on("One that can answer").gives::<Told<'_>>())
    .get("/assistants/{assistant}/graph", graph, on("Its graph, as nodes and edges").gives::<Drawn>())
    .get("/assistants/{assistant}/schemas", schemas, on("What it takes and gives, as JSON schemas"))
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
    fn fits(&self, name: &str, offer: &Offer) -> bool {
        let named = |wanted: &String| {
            let wanted = wanted.to_lowercase();
            name.contains(&wanted) || offer.definition.title.to_lowercase().contains(&wanted)
        };
        self.graph_id.as_ref().is_none_or(|graph| graph == name)
            && self.name.as_ref().is_none_or(named)
            && self.metadata.iter().flatten().all(|(key, value)| key == "created_by" && value == "system")
    }
}

async fn search(
    State(app): State<App>,
    _: Caller,
    Json(asked): Json<Search>,
) -> Result<Response<Body>, Problem> {
    let select = Select::of(asked.select.as_deref().unwrap_or_default());
    let (skip, limit) = (asked.offset.unwrap_or(0), asked.limit.unwrap_or(10).max(1));
    let fitting: Vec<_> = app.assistants().iter().filter(|(name, offer)| asked.fits(name, offer)).collect();
    let page: Vec<Value> = fitting
        .iter()
        .skip(skip)
        .take(limit)
        .map(|(name, offer)| select.keep(json!(told(name, offer))))
        .collect();
    let next = skip + page.len();
    let mut response = axum::Json(page).into_response();
    response.headers_mut().insert("x-pagination-total", HeaderValue::from(fitting.len()));
    if next < fitting.len() {
        response.headers_mut().insert("x-pagination-next", HeaderValue::from(next));
    }
    Ok(response)
}

async fn count(State(app): State<App>, _: Caller, Json(asked): Json<Search>) -> axum::Json<usize> {
    axum::Json(app.assistants().iter().filter(|(name, offer)| asked.fits(name, offer)).count())
}

async fn one(
    State(app): State<App>,
    _: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    Ok(axum::Json(json!(told(&name, app.assistant(&name)?))))
}

async fn graph(
    State(app): State<App>,
    _: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<Drawn>, Problem> {
    Ok(axum::Json(drawn(&app.assistant(&name)?.shape)))
}

async fn subgraphs(
    State(app): State<App>,
    _: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    app.assistant(&name)?;
    Ok(axum::Json(json!({})))
}

async fn schemas(
    State(app): State<App>,
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
    let formats: Vec<&str> = definition.formats.iter().map(|format| format.name()).collect();
    let context = json!({
        "type": "object",
        "properties": {
            "mode": { "type": "string", "enum": modes, "description": "the way to answer" },
            "format": { "type": "string", "enum": formats, "description": "the form of the answer" },
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
struct Told<'a> {
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
    /// The forms in which it can answer; the first one unless asked otherwise.
    formats: &'a [Format],
    /// The sets of documents that it answers from; empty means all.
    corpora: &'a [Corpus],
    tools: Vec<String>,
}

fn told<'a>(name: &'a str, offer: &'a Offer) -> Told<'a> {
    let definition = &offer.definition;
    Told {
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
            corpora: &definition.corpora,
            tools: offer.tools.iter().map(|tool| tool.spec().name.clone()).collect(),
        },
        version: offer.shape.declared_version.max(1),
        created_at: "1970-01-01T00:00:00Z",
        updated_at: "1970-01-01T00:00:00Z",
    }
}

/// A graph as it can be drawn.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Graph")]
struct Drawn {
    nodes: Vec<DrawnNode>,
    edges: Vec<DrawnEdge>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GraphNode")]
struct DrawnNode {
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
struct DrawnEdge {
    source: String,
    target: String,
    /// Whether it is decided in the turn if it is taken.
    conditional: bool,
}

fn drawn(shape: &Shape) -> Drawn {
    let end = |name: &str| match name {
        START => "__start__".to_owned(),
        END => "__end__".to_owned(),
        other => other.to_owned(),
    };
    let node = |name: &str, kind: &'static str| DrawnNode {
        id: end(name),
        kind,
        data: NodeData { name: end(name) },
    };
    let mut nodes = vec![node(START, "schema")];
    for inner in &shape.nodes {
        let kind = match inner.kind {
            ShapeKind::Work => "runnable",
            ShapeKind::Ask => "question",
            ShapeKind::Graph(_) => "graph",
        };
        nodes.push(node(&inner.name, kind));
    }
    nodes.push(node(END, "schema"));
    let edges = shape.edges.iter().map(|edge| DrawnEdge {
        source: end(&edge.from),
        target: end(&edge.to),
        conditional: edge.conditional,
    });
    Drawn { nodes, edges: edges.collect() }
}
