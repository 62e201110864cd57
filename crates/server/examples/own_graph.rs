//! A graph and a tool of one's own, served through every API: `cargo run -p ibid-server --example own_graph`, then ask `triage`
//! with any client of LangGraph or OpenAI.
#![expect(clippy::print_stdout, reason = "an example shows itself")]

use std::sync::Arc;

use async_trait::async_trait;
use ibid_app::{App, Settings};
use ibid_core::model::ToolSpec;
use ibid_core::tool::{Tool, ToolError, ToolOutput};
use ibid_core::{Message, Scope, Tenant, TurnInput};
use ibid_graph::{Context, END, Graph, NodeError, START, State, Terminal};
use ibid_server::Access;
use serde_json::{Value, json};

/// A tool: its name and schema for models, and what it does. Assistants whose `tools` name it may call it.
#[derive(Clone)]
struct OrderStatus(ToolSpec);

#[async_trait]
impl Tool for OrderStatus {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: &Scope, arguments: Value) -> Result<ToolOutput, ToolError> {
        let order =
            arguments["order"].as_u64().ok_or(ToolError::Arguments("`order` is a number".to_owned()))?;
        Ok(ToolOutput::Said {
            text: format!("Order {order} left this morning."),
            data: json!({ "order": order }),
        })
    }
}

/// What a turn knows: the message, and in the end the reply.
#[derive(Clone, serde::Serialize)]
struct Triage {
    message: String,
    reply: String,
}

impl State for Triage {
    type Update = String;
    fn apply(&mut self, reply: String) {
        self.reply = reply;
    }
}

async fn reply(tool: OrderStatus, triage: Arc<Triage>, context: Context) -> Result<String, NodeError> {
    context.status("looking for the order");
    let mut digits = triage.message.split(|letter: char| !letter.is_ascii_digit());
    let Some(order) = digits.find_map(|digits| digits.parse::<u64>().ok()) else {
        return Ok("Which order do you mean?".to_owned());
    };
    match tool.call(&Scope::of(Tenant::local()), json!({ "order": order })).await {
        Ok(ToolOutput::Said { text, .. }) => Ok(text),
        other => Err(Terminal::new(format!("{other:?}")).into()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let parameters = json!({ "type": "object", "properties": { "order": { "type": "integer" } } });
    let description = "Tells where an order is.".to_owned();
    let tool = OrderStatus(ToolSpec { name: "order_status".to_owned(), description, parameters });
    let own = tool.clone();
    let node = move |triage, context| reply(own.clone(), triage, context);
    let graph =
        Graph::builder("triage").node("reply", node).edge(START, "reply").edge("reply", END).build()?;
    let begin =
        |input: TurnInput| Ok(Triage { message: input.messages[0].text.clone(), reply: String::new() });
    let graph = graph.compile(begin, |triage: &Triage| vec![Message::assistant(&triage.reply)]);
    let folder = std::env::temp_dir().join(format!("ibid-own-graph-{}", std::process::id()));
    let settings = Settings { data: folder, ..Settings::default() };
    let app = App::builder(settings).graph("triage", graph).tool(tool).without_documents().open().await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listens on http://{}", listener.local_addr()?);
    let router = ibid_server::router(app, Access::open(Scope::of(Tenant::local())), None)?;
    ibid_server::serve(listener, router, std::future::pending()).await;
    Ok(())
}
