//! Tools of servers that speak the Model Context Protocol: a command that is run here, or an address.
//!
//! What such a server says of its tools is shown to the model; what its tools return is data like any other.

mod http;

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::Scope;
use ibid_core::model::ToolSpec;
use ibid_core::tool::{Tool, ToolError, ToolOutput};
use ibid_core::trace;
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ContentBlock, RequestMetaObject};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use serde_json::{Map, Value};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use super::failure;
use crate::definition::McpServer;

/// How long a server may take to say which tools it has.
const CONNECT: Duration = Duration::from_secs(30);
/// The variables that every program needs to start; others are given to a server by name.
const ALWAYS_GIVEN: [&str; 3] = ["PATH", "HOME", "LANG"];
/// What it says of a tool is cut to so many characters.
const LONGEST_DESCRIPTION: usize = 1000;
/// So many of its tools are used at most.
const MOST_TOOLS: usize = 64;

/// A server, and the connection to it while there is one.
struct Connection {
    server: McpServer,
    live: Mutex<Option<Arc<Live>>>,
}

/// A connection. The command, if it is one, ends with it.
struct Live {
    service: RunningService<RoleClient, ()>,
    _child: Option<Child>,
}

impl Connection {
    /// The connection, made anew if there is none or if the server has ended.
    async fn live(&self) -> Result<Arc<Live>, String> {
        let mut live = self.live.lock().await;
        if let Some(live) = live.as_ref().filter(|live| !live.service.is_transport_closed()) {
            return Ok(live.clone());
        }
        let late = |_| format!("it did not answer within {} s", CONNECT.as_secs());
        let begun = Arc::new(tokio::time::timeout(CONNECT, begin(&self.server)).await.map_err(late)??);
        *live = Some(begun.clone());
        Ok(begun)
    }

    /// Gives up a connection that failed, so that the next call makes another one.
    async fn give_up(&self, failed: &Arc<Live>) {
        let mut live = self.live.lock().await;
        if live.as_ref().is_some_and(|live| Arc::ptr_eq(live, failed)) {
            *live = None;
        }
    }
}

/// One tool of a server.
struct McpTool {
    spec: ToolSpec,
    /// What the server calls it.
    name: String,
    needs_consent: bool,
    connection: Arc<Connection>,
}

/// Connects to a server and returns its tools, or those that are named.
///
/// # Errors
/// Says why the server cannot be used.
pub async fn connect(server: &McpServer) -> Result<Vec<Arc<dyn Tool>>, String> {
    let failed = |reason: String| format!("the MCP server `{}` cannot be used: {reason}", server.name);
    let connection = Arc::new(Connection { server: server.clone(), live: Mutex::new(None) });
    let connecting = async {
        let live = connection.live().await?;
        live.service.list_all_tools().await.map_err(|error| error.to_string())
    };
    let connected = tokio::time::timeout(CONNECT, connecting).await;
    let listed = connected
        .map_err(|_| failed(format!("it did not say which tools it has within {} s", CONNECT.as_secs())))?
        .map_err(failed)?;
    if let Some(missing) =
        server.tools.iter().find(|name| !listed.iter().any(|tool| tool.name == name.as_str()))
    {
        let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_ref()).collect();
        return Err(failed(format!("it has no tool `{missing}`; it has {}", names.join(", "))));
    }
    let wanted = |name: &str| server.tools.is_empty() || server.tools.iter().any(|wanted| wanted == name);
    let tools = listed.into_iter().filter(|tool| wanted(&tool.name)).take(MOST_TOOLS);
    let tools = tools.map(|tool| {
        let description = tool.description.as_deref().unwrap_or_default();
        let spec = ToolSpec {
            name: plain(&format!("{}_{}", server.name, tool.name)),
            description: description.chars().take(LONGEST_DESCRIPTION).collect(),
            parameters: Value::Object(tool.input_schema.as_ref().clone()),
        };
        let only_reads = tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true);
        let needs_consent = !only_reads && !server.without_consent;
        let (name, connection) = (tool.name.into_owned(), connection.clone());
        Arc::new(McpTool { spec, name, needs_consent, connection }) as Arc<dyn Tool>
    });
    Ok(tools.collect())
}

async fn begin(server: &McpServer) -> Result<Live, String> {
    let text_of = |error: &dyn std::fmt::Display| error.to_string();
    if let Some(url) = &server.url {
        let client = http::EgressClient::to(url)?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
        config.custom_headers = http::headers(&server.headers)?;
        if let Some(variable) = &server.token_env {
            let token = std::env::var(variable);
            let unset = |_| format!("the environment variable {variable} of `token_env` cannot be read");
            config.auth_header = Some(token.map_err(unset)?);
        }
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let service = ().serve(transport).await.map_err(|error| text_of(&error))?;
        return Ok(Live { service, _child: None });
    }
    let Some((program, arguments)) = server.command.split_first() else {
        return Err("it has neither a `command` nor a `url`".to_owned());
    };
    let given = ALWAYS_GIVEN.into_iter().chain(server.pass_env.iter().map(String::as_str));
    let given = given.filter_map(|name| Some((name, std::env::var_os(name)?)));
    let mut child = Command::new(program)
        .args(arguments)
        // What ibid knows, such as keys, is not for others.
        .env_clear()
        .envs(given)
        .envs(&server.env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("`{program}` does not start: {error}"))?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(format!("`{program}` cannot be spoken to"));
    };
    let service = ().serve((output, input)).await.map_err(|error| text_of(&error))?;
    Ok(Live { service, _child: Some(child) })
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs_consent(&self) -> bool {
        self.needs_consent
    }

    async fn call(&self, _scope: &Scope, given: Value) -> Result<ToolOutput, ToolError> {
        let arguments = fitting(&self.spec.parameters, given)?;
        let mut request = CallToolRequestParams::new(self.name.clone()).with_arguments(arguments);
        // In the message, since what sends it has a task of its own, and a command has no headers.
        request.meta = trace::current().map(|place| {
            let mut meta = RequestMetaObject::default();
            meta.set_traceparent(place.to_string());
            meta
        });
        let name = &self.connection.server.name;
        let live = self.connection.live().await.map_err(|reason| failure(name, reason))?;
        let result = match live.service.call_tool(request).await {
            Ok(result) => result,
            // It may have been done: it is not done twice. The next call finds a server that has come back.
            Err(error) => {
                if !matches!(error, ServiceError::McpError(_)) {
                    self.connection.give_up(&live).await;
                }
                return Err(failure(name, error));
            }
        };
        let texts = result.content.iter().map(|block| match block {
            ContentBlock::Text(text) => text.text.clone(),
            // A picture or a sound is nothing that a model can cite.
            _ => "(not a text)".to_owned(),
        });
        let mut text = texts.collect::<Vec<_>>().join("\n");
        if let Some(structured) = &result.structured_content
            && text.is_empty()
        {
            text = structured.to_string();
        }
        if result.is_error == Some(true) {
            return Err(failure(name, text));
        }
        Ok(ToolOutput::Said { text, data: result.structured_content.unwrap_or_default() })
    }
}

/// The arguments of a call, if they are those that the tool asks for. What types they have, the server checks.
fn fitting(schema: &Value, given: Value) -> Result<Map<String, Value>, ToolError> {
    let Value::Object(arguments) = given else {
        return Err(ToolError::Arguments("they are no object".to_owned()));
    };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        if !arguments.contains_key(name) {
            return Err(ToolError::Arguments(format!("missing field `{name}`")));
        }
    }
    let open = schema["additionalProperties"].as_bool().unwrap_or(schema["properties"].is_null());
    let unknown = arguments.keys().find(|name| schema["properties"].get(name.as_str()).is_none());
    match unknown {
        Some(name) if !open => Err(ToolError::Arguments(format!("unknown field `{name}`"))),
        _ => Ok(arguments),
    }
}

/// Providers take letters, digits, underscores and hyphens in the name of a tool.
fn plain(name: &str) -> String {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    name.chars().map(|letter| if allowed(letter) { letter } else { '_' }).take(64).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_must_be_those_that_the_tool_asks_for() {
        let schema = json!({ "type": "object", "properties": { "city": {} }, "required": ["city"] });
        assert!(fitting(&schema, json!({ "city": "Lima" })).is_ok());
        for wrong in [json!({}), json!({ "city": "Lima", "url": "x" }), json!("Lima")] {
            assert!(fitting(&schema, wrong.clone()).is_err(), "{wrong}");
        }
        assert_eq!(plain("my server/tool"), "my_server_tool");
    }
}
