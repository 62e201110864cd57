//! Routes together with what is told of them in the OpenAPI document, so that neither is without the other.

use axum::Router;
use axum::handler::Handler;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodFilter, MethodRouter, on};
use ibid_core::AccessRole;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::audit::audit;
use crate::http::require;
use crate::state::ServerState;

/// Routes, and the document that describes them.
pub(crate) struct Api {
    router: Router<ServerState>,
    paths: Map<String, Value>,
    schemas: SchemaGenerator,
    /// Types that streams carry: the name in the document, and the one that is generated.
    streamed: Vec<(&'static str, String)>,
}

/// The schema of a body, asked or answered, once there is a place for what it refers to.
type Body = Box<dyn Fn(&mut SchemaGenerator) -> Schema>;

/// What is told of an operation.
pub(crate) struct Operation {
    summary: &'static str,
    tag: &'static str,
    role: Option<AccessRole>,
    body: Option<Body>,
    gives: Option<Body>,
    files: bool,
    query: Vec<(&'static str, &'static str)>,
    answer: Answer,
    audited: bool,
}

#[derive(Clone, Copy)]
enum Answer {
    Json,
    Events,
    File,
    Nothing,
}

/// Something that can be done, in a few words, under a heading, by whoever has this role or a higher one; by everybody if none
/// is given.
pub(crate) fn operation(
    tag: &'static str,
    summary: &'static str,
    role: impl Into<Option<AccessRole>>,
) -> Operation {
    Operation {
        summary,
        tag,
        role: role.into(),
        body: None,
        gives: None,
        files: false,
        query: Vec::new(),
        answer: Answer::Json,
        audited: false,
    }
}

impl Operation {
    /// It takes a body in JSON.
    pub(crate) fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Some(Box::new(|schemas| schemas.subschema_for::<T>()));
        self
    }

    /// It takes files, and this of them, as a form.
    pub(crate) fn takes_files<T: JsonSchema>(mut self) -> Self {
        self.files = true;
        self.takes::<T>()
    }

    /// It answers with this in JSON.
    pub(crate) fn gives<T: JsonSchema>(mut self) -> Self {
        self.gives = Some(Box::new(|schemas| schemas.subschema_for::<T>()));
        self
    }

    /// It takes this after the question mark.
    pub(crate) fn query(mut self, name: &'static str, meaning: &'static str) -> Self {
        self.query.push((name, meaning));
        self
    }

    /// It answers with server-sent events.
    pub(crate) fn events(mut self) -> Self {
        self.answer = Answer::Events;
        self
    }

    /// It answers with a file.
    pub(crate) fn file(mut self) -> Self {
        self.answer = Answer::File;
        self
    }

    /// It answers without a body.
    pub(crate) fn nothing(mut self) -> Self {
        self.answer = Answer::Nothing;
        self
    }

    /// It is noted who does it, as of everything that deletes, changes, or needs a higher role to be done.
    pub(crate) fn audited(mut self) -> Self {
        self.audited = true;
        self
    }

    /// Whether it is noted who does it.
    fn is_audited(&self, method: &str) -> bool {
        let changes = matches!(method, "delete" | "patch");
        changes || self.audited || (method == "post" && self.role > Some(AccessRole::Reader))
    }

    fn describe(&self, path: &str, schemas: &mut SchemaGenerator) -> Value {
        let mut parameters: Vec<Value> = names_in(path)
            .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
            .collect();
        parameters.extend(self.query.iter().map(|(name, meaning)| {
            json!({ "name": name, "in": "query", "description": meaning, "schema": { "type": "string" } })
        }));
        let answer = match self.answer {
            Answer::Json => {
                let schema = self.gives.as_ref().map_or_else(Schema::default, |gives| gives(schemas));
                json!({ "2XX": { "description": "done", "content": { "application/json": { "schema": schema } } } })
            }
            Answer::Events => json!({ "200": {
                "description": "server-sent events",
                "content": { "text/event-stream": { "schema": { "type": "string" } } },
            } }),
            Answer::File => {
                json!({ "2XX": { "description": "the file", "content": { "*/*": { "schema": {} } } } })
            }
            Answer::Nothing => json!({ "2XX": { "description": "done" } }),
        };
        let mut described = json!({ "summary": self.summary, "tags": [self.tag], "parameters": parameters, "responses": answer });
        match self.role {
            Some(role) => described["x-ibid-role"] = json!(role),
            None => described["security"] = json!([{}]),
        }
        described["responses"]["4XX"] = json!({ "$ref": "#/components/responses/Problem" });
        if let Some(body) = &self.body {
            let schema = body(schemas);
            let (kind, schema) = if self.files {
                let file = json!({ "type": "string", "contentMediaType": "application/octet-stream" });
                let files = json!({ "type": "object", "properties": { "file": file }, "required": ["file"] });
                ("multipart/form-data", json!({ "allOf": [files, schema] }))
            } else {
                ("application/json", schema.to_value())
            };
            described["requestBody"] = json!({ "required": true, "content": { kind: { "schema": schema } } });
        }
        described
    }
}

/// The names that a path leaves open.
fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

impl Api {
    /// No routes yet.
    pub(crate) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12()
            .with(|settings| settings.definitions_path = "/components/schemas".into());
        Self {
            router: Router::new(),
            paths: Map::new(),
            schemas: settings.into_generator(),
            streamed: Vec::new(),
        }
    }

    /// Something to be read.
    pub(crate) fn get<H: Handler<T, ServerState>, T: 'static>(
        self,
        path: &str,
        handler: H,
        operation: Operation,
    ) -> Self {
        self.on("get", path, on(MethodFilter::GET, handler), &operation)
    }

    /// Something to be done.
    pub(crate) fn post<H: Handler<T, ServerState>, T: 'static>(
        self,
        path: &str,
        handler: H,
        operation: Operation,
    ) -> Self {
        self.on("post", path, on(MethodFilter::POST, handler), &operation)
    }

    /// Something to be changed.
    pub(crate) fn patch<H: Handler<T, ServerState>, T: 'static>(
        self,
        path: &str,
        handler: H,
        operation: Operation,
    ) -> Self {
        self.on("patch", path, on(MethodFilter::PATCH, handler), &operation)
    }

    /// Something to be deleted.
    pub(crate) fn delete<H: Handler<T, ServerState>, T: 'static>(
        self,
        path: &str,
        handler: H,
        operation: Operation,
    ) -> Self {
        self.on("delete", path, on(MethodFilter::DELETE, handler), &operation)
    }

    /// A route that was made elsewhere.
    pub(crate) fn on(
        mut self,
        method: &str,
        path: &str,
        route: MethodRouter<ServerState>,
        operation: &Operation,
    ) -> Self {
        let mut described = operation.describe(path, &mut self.schemas);
        if operation.is_audited(method) {
            described["x-ibid-audited"] = json!(true);
        }
        let at = self.paths.entry(path).or_insert_with(|| json!({}));
        at[method] = described;
        let route = if operation.is_audited(method) { route.layer(from_fn(audit)) } else { route };
        let route = match operation.role {
            Some(role) => route.layer(from_fn_with_state(role, require)),
            None => route,
        };
        self.router = self.router.route(path, route);
        self
    }

    /// Describes what a stream carries, under a name.
    pub(crate) fn streams<T: JsonSchema>(mut self, name: &'static str) -> Self {
        drop(self.schemas.subschema_for::<T>());
        self.streamed.push((name, T::schema_name().into_owned()));
        self
    }

    /// The routes of a part of the server as well.
    pub(crate) fn and(self, part: fn(Self) -> Self) -> Self {
        part(self)
    }

    /// The routes, and what is told of them.
    pub(crate) fn into_parts(mut self) -> (Router<ServerState>, Described) {
        let mut schemas = self.schemas.take_definitions(true);
        for (name, generated) in self.streamed {
            if let Some(schema) = schemas.shift_remove(&generated) {
                schemas.insert(name.to_owned(), schema);
            }
        }
        (self.router, Described { paths: self.paths, schemas })
    }
}

/// What is told of some routes.
pub(crate) struct Described {
    paths: Map<String, Value>,
    schemas: Map<String, Value>,
}

/// The OpenAPI document of several parts.
pub(crate) fn document(parts: impl IntoIterator<Item = Described>) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for part in parts {
        paths.extend(part.paths);
        schemas.extend(part.schemas);
    }
    let text = json!({ "type": "string" });
    schemas.insert(
        "Problem".to_owned(),
        json!({
            "type": "object",
            "properties": {
                "type": text, "title": text, "status": { "type": "integer" }, "detail": text, "trace_id": text,
            },
        }),
    );
    let problem = json!({ "schema": { "$ref": "#/components/schemas/Problem" } });
    let problem = json!({
        "description": "what happened, why, and what to do",
        "content": { "application/problem+json": problem, "application/json": { "schema": {} } },
    });
    json!({
        "openapi": "3.1.0",
        "info": { "title": "ibid", "version": env!("CARGO_PKG_VERSION"), "description": DESCRIPTION },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": { "Problem": problem },
            "securitySchemes": {
                "key": { "type": "apiKey", "in": "header", "name": "x-api-key" },
                "bearer": { "type": "http", "scheme": "bearer" },
            },
        },
        "security": [{}, { "key": [] }, { "bearer": [] }],
    })
}

const DESCRIPTION: &str = "Assistants that answer from documents and cite the page. Threads, runs and assistants have the \
     shape of LangGraph's Agent Server, /v1 has the shape of OpenAI's API, and /mcp speaks the Model Context Protocol; \
     their published clients work unchanged.";
