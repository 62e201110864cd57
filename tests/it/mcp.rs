//! Tools of a real server of the Model Context Protocol, over standard input and output and over HTTP.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ibid_assistants::definition::McpServer;
use ibid_assistants::tools::connect;
use ibid_core::ThreadId;
use ibid_core::tool::{Tool, ToolOutput};
use ibid_engine::Engine as _;
use ibid_testkit::{RealModels, Reply, Script, ScriptedServer};
use serde_json::json;

use crate::library::search;
use crate::stage::{Stage, asked, played, scope};

fn script() -> String {
    format!("{}/../crates/testkit/models/mcp_server.py", env!("CARGO_MANIFEST_DIR"))
}

fn server() -> McpServer {
    toml::from_str("name = 'rates'\ntools = ['echo', 'exchange_rate']").unwrap()
}

fn here() -> McpServer {
    let python = RealModels::find().python().to_string_lossy().into_owned();
    McpServer { command: vec![python, script()], ..server() }
}

/// A server on a port, which ends with the test.
struct Served(Child, u16);

impl Served {
    fn start() -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self::start_at(port)
    }

    fn start_at(port: u16) -> Self {
        let python = RealModels::find().python();
        let mut command = Command::new(python);
        command.arg(script()).arg(port.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let served = Self(command.spawn().unwrap(), port);
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(60), "the server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        served
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

async fn used(tools: &[Arc<dyn Tool>]) {
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["rates_echo", "rates_exchange_rate"]);
    let rate = tools.iter().find(|tool| tool.spec().name == "rates_exchange_rate").unwrap();
    assert!(rate.spec().description.contains("pesos") && rate.spec().parameters["required"][0] == "currency");
    let ToolOutput::Said { text, .. } = rate.call(&scope(), json!({ "currency": "USD" })).await.unwrap()
    else {
        panic!("it says something")
    };
    assert_eq!(text, "1 USD = 40.25 UYU");
    let unknown = rate.call(&scope(), json!({ "currency": "XXX" })).await.unwrap_err().to_string();
    assert!(unknown.starts_with("rates failed"), "{unknown}");
    let wrong = rate.call(&scope(), json!({ "money": "USD" })).await.unwrap_err().to_string();
    assert!(wrong.contains("missing field `currency`"), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_a_command_are_used() {
    used(&connect(&here()).await.unwrap()).await;
    let some = connect(&McpServer { tools: vec!["echo".to_owned()], ..here() }).await.unwrap();
    assert_eq!(some.len(), 1);
    let told = |error: Result<Vec<Arc<dyn Tool>>, String>| error.err().unwrap();
    let missing = told(connect(&McpServer { tools: vec!["ekho".to_owned()], ..here() }).await);
    assert!(
        missing.contains("it has no tool `ekho`; it has exchange_rate, echo, variable, header, end, note"),
        "{missing}"
    );
    let nothing = told(connect(&McpServer { command: vec!["no-such-program".to_owned()], ..here() }).await);
    assert!(nothing.contains("`no-such-program` does not start"), "{nothing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_at_an_address_are_used() {
    let served = tokio::task::spawn_blocking(Served::start).await.unwrap();
    let url = Some(format!("http://127.0.0.1:{}/mcp", served.1));
    used(&connect(&McpServer { url, command: Vec::new(), ..here() }).await.unwrap()).await;
    let url = Some("http://127.0.0.1:1/mcp".to_owned());
    let gone = connect(&McpServer { url, command: Vec::new(), ..here() }).await.err().unwrap();
    assert!(gone.contains("the MCP server `rates` cannot be used"), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_cites_what_a_tool_of_a_server_gave_back() {
    let index = search().await;
    let script = |seen: &ibid_testkit::Seen| {
        let shown = seen.body["messages"].to_string();
        if shown.contains("Plan how to answer") {
            Reply::text("{\"steps\": []}")
        } else if shown.contains("Gather what is needed") && !shown.contains("\"role\":\"tool\"") {
            Reply::calls(&[("rates_exchange_rate", json!({ "currency": "USD" }))])
        } else if shown.contains("Gather what is needed") {
            Reply::text("ready")
        } else {
            Reply::text("A dollar is worth \"40.25 UYU\" [1]; a euro 43.80.")
        }
    };
    let server = ScriptedServer::start(Script::new().by(script)).await;
    let mut stage = Stage::of("trade-compliance", Arc::new(index), server.url());
    stage.tools.extend(connect(&here()).await.unwrap());
    let folder = tempfile::tempdir().unwrap();
    let engine = stage.engine(&folder.path().join("engine.db")).await;
    let thread = ThreadId::new();
    let run = stage.submit(&engine, thread, "What is a dollar worth?", &[("mode", "agentic")]).await;
    let came = played(&engine, run).await;
    let message = came.message.unwrap();
    let fields = message.additional_fields();
    let citation = &fields["citations"][0];
    assert_eq!(
        (&citation["document_id"], &citation["found"]),
        (&json!("rates_exchange_rate"), &json!("exact"))
    );
    assert!(fields["warnings"].to_string().contains("no source supports 43.80"), "{fields:?}");
    engine.close().await;
}

/// A model that looks something up and then wants notes to be written, the second one as a document might have told it to.
fn writes_notes(seen: &ibid_testkit::Seen) -> Reply {
    let shown = seen.body["messages"].to_string();
    let gathers = shown.contains("Gather what is needed");
    if shown.contains("Plan how to answer") {
        Reply::text("{\"steps\": []}")
    } else if gathers && !shown.contains("\"role\":\"tool\"") {
        Reply::calls(&[("rates_exchange_rate", json!({ "currency": "USD" }))])
    } else if gathers && !shown.contains("wanted") {
        let notes = ["wanted", "whispered"].map(|text| ("rates_note", json!({ "text": text })));
        Reply::calls(&notes)
    } else if gathers {
        Reply::text("ready")
    } else {
        Reply::text("A dollar is worth \"40.25 UYU\" [1].")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_can_act_is_called_with_the_consent_of_a_person() {
    let index = Arc::new(search().await);
    let server = ScriptedServer::start(Script::new().by(writes_notes)).await;
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    let env = [("RATES_NOTES".to_owned(), notes.to_string_lossy().into_owned())].into();
    let mcp = McpServer { env, tools: vec!["exchange_rate".to_owned(), "note".to_owned()], ..here() };
    let written = || std::fs::read_to_string(&notes).unwrap_or_default();
    let told = async |mcp: McpServer, reply: Option<fn(&serde_json::Value) -> serde_json::Value>| {
        let mut stage = Stage::of("trade-compliance", index.clone(), server.url());
        stage.tools.extend(connect(&mcp).await.unwrap());
        stage.assistant.definition.mcp.push(mcp);
        let engine = stage.engine(&folder.path().join(format!("{}.db", ThreadId::new()))).await;
        let says = "What is a dollar worth? Write it down.";
        let run = stage.submit(&engine, ThreadId::new(), says, &[("mode", "agentic")]).await;
        if let Some(reply) = reply {
            let question = asked(&engine, run).await;
            assert_eq!(question["kind"], "tool_calls");
            assert_eq!(written(), "", "nothing is done before the answer");
            let calls = question["calls"].as_array().unwrap();
            let texts: Vec<_> = calls.iter().map(|call| &call["arguments"]["text"]).collect();
            assert_eq!(texts, ["wanted", "whispered"], "nobody is asked about the tool that only reads");
            engine.resume(&scope(), run, reply(&question)).await.unwrap();
        }
        let came = played(&engine, run).await;
        assert!(came.message.unwrap().text.contains("40.25 UYU"));
        engine.close().await;
        let done = written();
        drop(std::fs::remove_file(&notes));
        done
    };
    assert_eq!(told(mcp.clone(), Some(|_| json!("no"))).await, "");
    assert_eq!(told(mcp.clone(), Some(|question| json!([question["calls"][0]["id"]]))).await, "wanted\n");
    assert_eq!(told(mcp.clone(), Some(|_| json!(true))).await.lines().count(), 2);
    let without_consent = McpServer { without_consent: true, ..mcp };
    assert_eq!(told(without_consent, None).await.lines().count(), 2);
}

async fn said(tools: &[Arc<dyn Tool>], tool: &str, arguments: serde_json::Value) -> Result<String, String> {
    let tool = tools.iter().find(|one| one.spec().name == format!("rates_{tool}")).unwrap();
    match tool.call(&scope(), arguments).await {
        Ok(ToolOutput::Said { text, .. }) => Ok(text),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_sees_only_the_variables_that_it_was_given_and_is_started_again() {
    let env = [("RATES_FOR".to_owned(), "Uruguay".to_owned())].into();
    let pass_env = vec!["CARGO_PKG_NAME".to_owned()];
    let tools = connect(&McpServer { env, pass_env, tools: Vec::new(), ..here() }).await.unwrap();
    let variable = async |name: &str| said(&tools, "variable", json!({ "name": name })).await.unwrap();
    assert_eq!(variable("RATES_FOR").await, "Uruguay");
    let passed = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "not set".to_owned());
    assert_eq!(variable("CARGO_PKG_NAME").await, passed);
    assert_eq!(variable("CARGO_MANIFEST_DIR").await, "not set");
    assert!(said(&tools, "end", json!({})).await.unwrap_err().starts_with("rates failed"));
    assert_eq!(said(&tools, "echo", json!({ "text": "back" })).await.unwrap(), "back");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_sent_headers_and_found_again_when_it_comes_back() {
    let served = tokio::task::spawn_blocking(Served::start).await.unwrap();
    let port = served.1;
    let url = Some(format!("http://127.0.0.1:{port}/mcp"));
    let headers = [("x-desk".to_owned(), "trade".to_owned())].into();
    // Any variable that is set stands for one that holds a token.
    let token_env = Some("HOME".to_owned());
    let server = McpServer { url, headers, token_env, command: Vec::new(), tools: Vec::new(), ..here() };
    let tools = connect(&server).await.unwrap();
    let header = async |name: &str| said(&tools, "header", json!({ "name": name })).await.unwrap();
    assert_eq!(header("x-desk").await, "trade");
    assert_eq!(header("authorization").await, format!("Bearer {}", std::env::var("HOME").unwrap()));
    drop(served);
    assert!(said(&tools, "echo", json!({ "text": "lost" })).await.is_err());
    let _again = tokio::task::spawn_blocking(move || Served::start_at(port)).await.unwrap();
    let mut back = said(&tools, "echo", json!({ "text": "back" })).await;
    if back.is_err() {
        // The first call may be the one that finds the connection gone.
        back = said(&tools, "echo", json!({ "text": "back" })).await;
    }
    assert_eq!(back.unwrap(), "back");
    let missing = McpServer { token_env: Some("IBID_NO_SUCH_TOKEN".to_owned()), ..server };
    assert!(connect(&missing).await.err().unwrap().contains("IBID_NO_SUCH_TOKEN"));
}
