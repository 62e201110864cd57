//! The server as its clients use it: published ones, unmodified, against `ibid serve` with a scripted model.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ibid_testkit::{RealModels, Reply, Script, ScriptedServer, Seen};

use super::assistants::with_model;
use super::documents::{folder, sample};
use super::{ibid, printed, run};

/// A server, ended with the test.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(folder: &Path) -> Self {
        let mut command = ibid(folder, &["serve", "--address", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let url = loop {
            let line = lines.next().unwrap_or_else(|| panic!("the server ended: {said}")).unwrap();
            if let Some((_, rest)) = line.split_once("listens on ") {
                break rest.split(';').next().unwrap().to_owned();
            }
            said.push_str(&line);
            said.push('\n');
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn clients(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

fn passes(mut command: Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{error}");
}

/// A folder with a document, and a model that answers from it, a word at a time.
async fn stage() -> (tempfile::TempDir, ScriptedServer) {
    let folder = folder();
    printed(&run(folder.path(), &["ingest", &sample(), "--assistant", "trade-compliance"]));
    let answer = |seen: &Seen| {
        let said = if seen.says("can be understood without the conversation") {
            "What is the rate for 8539.52.00?"
        } else if seen.body["response_format"].is_object() {
            r#"{"answer": "It is 2% [1].", "citations": [{"source": 1, "quote": ""}], "confidence": "high", "follow_up_questions": []}"#
        } else {
            "The rate for such lamps is given there [1]."
        };
        Reply::text(said).every(Duration::from_millis(20))
    };
    let server = ScriptedServer::start(Script::new().by(answer)).await;
    with_model(folder.path(), &server);
    (folder, server)
}

#[tokio::test(flavor = "multi_thread")]
async fn langgraphs_python_client_can_do_everything() {
    let (folder, _model) = stage().await;
    let serving = Serving::start(folder.path());
    let mut python = Command::new(RealModels::find().path("clients/bin/python"));
    python.arg(clients("langgraph_client.py")).args([&serving.url, "trade-compliance"]);
    passes(python);
}

#[tokio::test(flavor = "multi_thread")]
async fn langgraphs_javascript_client_can_do_everything() {
    let (folder, _model) = stage().await;
    let serving = Serving::start(folder.path());
    let mut node = Command::new("node");
    node.current_dir(RealModels::find().path("clients-js"));
    node.arg(clients("langgraph_client.mjs")).args([&serving.url, "trade-compliance"]);
    passes(node);
}
