//! The server as its clients use it: published ones, unmodified, against `ibid serve` with a scripted model.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ibid_testkit::{RealModels, RealServer, Reply, Script, ScriptedServer, Seen};
use serde_json::Value;

use super::assistants::with_model;
use super::documents::{folder, sample};
use super::{ibid, printed, run};

/// The programs of published clients.
pub(crate) const CLIENTS: [&str; 5] =
    ["langgraph_client.py", "langgraph_client.mjs", "openai_client.py", "openai_client.mjs", "mcp_client.py"];

/// A server, ended with the test.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl Serving {
    pub(crate) fn start(folder: &Path) -> Self {
        Self::at(folder, "127.0.0.1:0")
    }

    pub(crate) fn at(folder: &Path, address: &str) -> Self {
        Self::with(folder, &["--address", address])
    }

    pub(crate) fn with(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = ibid(folder, &[&["serve"], arguments].concat());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let url = loop {
            let line = lines.next().unwrap_or_else(|| panic!("the server ended: {said}")).unwrap();
            let address = ["listens on ", "health is at "].iter().find_map(|before| line.split_once(before));
            if let Some((_, rest)) = address {
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

pub(crate) fn passes(mut command: Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{error}");
}

/// A folder with a document, and a model that answers from it, a word at a time.
pub(crate) async fn stage() -> (tempfile::TempDir, ScriptedServer) {
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
    with_model(folder.path(), &server.url());
    (folder, server)
}

/// Runs a program of a published client against a server with a document and a model.
async fn against_a_server(program: &str) {
    let (folder, _model) = stage().await;
    passes(client(program, &Serving::start(folder.path()).url, "trade-compliance"));
}

pub(crate) fn client(program: &str, url: &str, assistant: &str) -> Command {
    let models = RealModels::find();
    let mut command = if program.ends_with(".mjs") {
        let mut node = Command::new("node");
        node.current_dir(models.path("clients-js"));
        node
    } else {
        Command::new(models.path("clients/bin/python"))
    };
    command.arg(clients(program)).args([url, assistant]);
    command
}

/// Takes minutes: `just test-clients`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "slow: every client with a real model"]
async fn every_client_can_do_everything_with_a_real_model() {
    let (folder, _scripted) = stage().await;
    let server = tokio::task::spawn_blocking(RealServer::large).await.unwrap();
    with_model(folder.path(), &server.url());
    let serving = Serving::start(folder.path());
    for program in CLIENTS {
        let began = std::time::Instant::now();
        let mut command = client(program, &serving.url, "trade-compliance");
        command.env("MODEL", "real");
        passes(command);
        eprintln!("{program}: {:.0} s", began.elapsed().as_secs_f64());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn langgraphs_python_client_can_do_everything() {
    against_a_server("langgraph_client.py").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn langgraphs_javascript_client_can_do_everything() {
    against_a_server("langgraph_client.mjs").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openais_python_client_can_do_everything() {
    against_a_server("openai_client.py").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openais_javascript_client_can_do_everything() {
    against_a_server("openai_client.mjs").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_the_model_context_protocol_can_do_everything() {
    against_a_server("mcp_client.py").await;
}

#[test]
fn conversations_at_a_server_are_listed_shown_and_deleted_from_the_terminal() {
    let folder = folder();
    let serving = Serving::start(folder.path());
    let at = |arguments: &[&str]| {
        run(folder.path(), &[&["threads", "--server", &serving.url], arguments].concat())
    };
    let ask = "import httpx, sys; c = httpx.Client(base_url=sys.argv[1]); t = c.post('/threads', json={}).json()['thread_id']; \
               c.post(f'/threads/{t}/runs/wait', json={'assistant_id': 'rehearsal', 'input': sys.argv[2]}); print(t)";
    let asked = |question: &str| {
        let mut command = Command::new(RealModels::find().path("clients/bin/python"));
        printed(&command.args(["-c", ask, &serving.url, question]).output().unwrap()).trim().to_owned()
    };
    let (first, second) = (asked("one two three"), asked("four five six"));
    let listed = printed(&at(&["list", "--limit", "1"]));
    assert!(listed.contains(&second) && !listed.contains(&first), "{listed}");
    let listed = printed(&at(&["list", "--after", &second]));
    assert!(listed.contains(&first) && !listed.contains(&second), "{listed}");
    let shown = printed(&at(&["show", &first]));
    assert!(shown.contains("2 messages") && shown.contains("you:\none two three"), "{shown}");
    let here = run(folder.path(), &["threads", "show", &first, "--json"]);
    assert_eq!(printed(&at(&["show", &first, "--json"])), printed(&here), "the file says the same");
    printed(&at(&["delete", &first, "--yes"]));
    super::refused(&at(&["show", &first]), 1, "there is no thread");
    let nobody = run(folder.path(), &["threads", "--server", "http://127.0.0.1:9", "list"]);
    super::refused(&nobody, 1, "no server answers at http://127.0.0.1:9");
}

#[test]
fn documents_are_uploaded_followed_shown_and_deleted() {
    let folder = folder();
    let serving = Serving::start(folder.path());
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.arg(clients("documents_client.py")).args([&serving.url, &sample()]);
    passes(command);
    // The last load may be tidied up a moment after its end was told.
    let mut said = String::new();
    for _ in 0..50 {
        said = String::from_utf8(run(folder.path(), &["fsck"]).stdout).unwrap();
        if said.contains("the store is whole") {
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_cut_off_and_comes_back_hears_exactly_the_rest_also_after_kills() {
    let (folder, _model) = stage().await;
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.arg(clients("disturbed.py")).arg(env!("CARGO_BIN_EXE_ibid")).arg(folder.path());
    // Runs, how often each is cut off, and how often the server is killed.
    command.args(["trade-compliance", "24", "9", "4"]);
    passes(command);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tenants_do_not_reach_each_other() {
    let (folder, _model) = stage().await;
    let mut keys = Vec::new();
    for name in ["ana", "eva"] {
        let made =
            run(folder.path(), &["keys", "new", name, "--tenant", name, "--role", "admin", "--print-config"]);
        let (key, config) = (printed(&made), String::from_utf8_lossy(&made.stderr).into_owned());
        let config = &config[config.find('[').unwrap()..];
        let file = folder.path().join("ibid.toml");
        let before = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, format!("{before}{config}")).unwrap();
        keys.push(key.trim().to_owned());
    }
    with_source(folder.path(), "papers", "tenant = \"ana\"\n");
    let serving = Serving::start(folder.path());
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.arg(clients("tenants.py")).args([&serving.url, "trade-compliance"]).args(&keys);
    passes(command);
}

/// Adds a source, an empty folder, to the settings.
fn with_source(folder: &Path, name: &str, more: &str) {
    let (file, place) = (folder.join("ibid.toml"), folder.join(name));
    std::fs::create_dir(&place).unwrap();
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, format!("{before}\n[sources.{name}]\nlocation = {place:?}\n{more}")).unwrap();
}

#[test]
fn every_role_may_do_what_it_may_and_no_more() {
    let folder = folder();
    with_source(folder.path(), "place", "");
    let key = printed(&run(folder.path(), &["keys", "new", "root", "--role", "admin", "--label", "legal"]));
    let serving = Serving::start(folder.path());
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.arg(clients("authorisation.py")).args([&serving.url, key.trim()]);
    passes(command);
    who_did_what_is_written_down(folder.path(), key.trim());
}

/// Every route that the description calls audited was used, and has a line; nothing that is secret is in any.
fn who_did_what_is_written_down(folder: &Path, key: &str) {
    use std::os::unix::fs::PermissionsExt;
    let file = folder.join("ibid-data/audit.jsonl");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let (text, described) =
        (std::fs::read_to_string(file).unwrap(), include_str!("../../../../docs/openapi.json"));
    assert!(!text.contains(key) && !text.contains("ibid_"), "no key is written down");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let known = ["time", "action", "tenant", "caller", "role", "path", "detail", "status", "trace_id"];
    let keys = lines.iter().flat_map(|line| line.as_object().unwrap().keys());
    keys.for_each(|key| assert!(known.contains(&key.as_str()), "{key}"));
    let done: BTreeSet<&str> = lines.iter().map(|line| line["action"].as_str().unwrap()).collect();
    let described: Value = serde_json::from_str(described).unwrap();
    let mut expected = BTreeSet::from(["sign_in".to_owned(), "refused".to_owned()]);
    for (path, methods) in described["paths"].as_object().unwrap() {
        let methods = methods.as_object().unwrap().iter();
        let audited = methods.filter(|(_, told)| told["x-ibid-audited"] == true);
        expected.extend(audited.map(|(method, _)| format!("{} {path}", method.to_uppercase())));
    }
    assert!(expected.len() > 12, "{expected:?}");
    let missing: Vec<&String> = expected.iter().filter(|action| !done.contains(action.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?} are not among {done:?}");
    assert!(lines.iter().any(|line| line["detail"] == "shared"), "a thread was shared");
}

#[test]
fn keys_are_made_listed_and_deleted_with_and_without_a_server() {
    let folder = folder();
    let at = |arguments: &[&str]| run(folder.path(), &[&["keys"], arguments].concat());
    assert!(printed(&at(&["list"])).contains("No keys are kept here"));
    let key = printed(&at(&["new", "root", "--role", "admin", "--days", "30"]));
    assert!(key.starts_with("ibid_"), "{key}");
    super::refused(&at(&["new", "root"]), 1, "there is a key `root` already");
    super::refused(&at(&["new", "no name"]), 64, "cannot name a key");
    let serving = Serving::start(folder.path());
    printed(&at(&["new", "desk"]));
    let listed = printed(&at(&["list"]));
    assert!(listed.contains("root") && listed.contains("desk") && listed.contains("reader"), "{listed}");
    let mut remote = ibid(folder.path(), &["keys", "list", "--server", &serving.url]);
    remote.env("IBID_KEY", key.trim());
    assert_eq!(printed(&remote.output().unwrap()), listed, "an admin sees the same from elsewhere");
    super::refused(&at(&["delete", "desk"]), 1, "delete `desk` with --yes");
    at(&["delete", "desk", "--yes"]);
    super::refused(&at(&["delete", "desk", "--yes"]), 1, "there is no key `desk`");
    drop(serving);
    at(&["delete", "root", "--yes"]);
    assert!(printed(&at(&["list"])).contains("No keys are kept here"));
}

/// A sample of what `just test-hostile` does.
#[test]
fn hostile_clients_do_not_take_the_server_down() {
    let folder = folder();
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.arg(clients("hostile.py")).arg(env!("CARGO_BIN_EXE_ibid")).arg(folder.path()).arg("1");
    passes(command);
}

/// A sample of what `just soak` does.
#[test]
fn a_server_that_works_for_a_while_stays_within_bounds() {
    let folder = folder();
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.arg(clients("soak.py")).arg(env!("CARGO_BIN_EXE_ibid")).arg(folder.path()).arg("20");
    passes(command);
}

#[test]
fn malformed_requests_are_refused_and_break_nothing() {
    let folder = folder();
    let serving = Serving::start(folder.path());
    let count = std::env::var("IBID_MALFORMED").unwrap_or_else(|_| "10000".to_owned());
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.arg(clients("malformed.py")).args([serving.url.trim_start_matches("http://"), &count]);
    passes(command);
}

#[test]
fn the_api_describes_itself() {
    let folder = folder();
    let serving = Serving::start(folder.path());
    let python = "import sys, urllib.request, json; print(json.dumps(json.load(urllib.request.urlopen(sys.argv[1])), indent=1))";
    let mut command = Command::new(RealModels::find().python());
    command.args(["-c", python, &format!("{}/openapi.json", serving.url)]);
    let (told, file) = (printed(&command.output().unwrap()), "../../docs/openapi.json");
    // The page's types are made from it.
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(file, &told).unwrap();
    }
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        told == kept,
        "docs/openapi.json is not what the server tells: `just fix` writes it, `just page` uses it"
    );
}

#[test]
fn whatever_the_description_allows_is_answered_without_a_failure() {
    let folder = folder();
    let serving = Serving::start(folder.path());
    let mut command = Command::new(RealModels::find().path("clients/bin/st"));
    command.current_dir(folder.path()).args(["run", &format!("{}/openapi.json", serving.url)]);
    command.args(["--checks", "not_a_server_error", "--phases", "examples,fuzzing", "--max-examples", "10"]);
    command.args(["--request-timeout", "5", "--generation-deterministic", "--no-color"]);
    // A stream that waits for a load that never ends is no failure.
    command.args(["--exclude-path-regex", "/mcp"]);
    passes(command);
}

#[test]
fn tokens_of_an_issuer_are_accepted_and_false_ones_are_not() {
    let folder = folder();
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.arg(clients("oidc.py")).arg(env!("CARGO_BIN_EXE_ibid")).arg(folder.path());
    passes(command);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_to_end_lets_a_step_end_and_goes_on_with_the_next_start() {
    let (folder, model) = stage().await;
    let mut serving = Serving::start(folder.path());
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    let ask = "import httpx, sys; c = httpx.Client(base_url=sys.argv[1]); t = c.post('/threads', json={}).json()['thread_id']; \
               c.post(f'/threads/{t}/runs', json={'assistant_id': 'trade-compliance', 'input': 'What is 8539.52.00?'}); print(t)";
    let thread = printed(&command.args(["-c", ask, &serving.url]).output().unwrap());
    model.until("the model is asked", |seen| !seen.is_empty()).await;
    let process = serving.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    assert!(serving.child.wait().unwrap().success(), "it ends in order");
    let shown = printed(&run(folder.path(), &["threads", "show", thread.trim()]));
    assert!(!shown.contains("assistant:"), "the turn rests after its step: {shown}");
    let _serving = Serving::start(folder.path());
    let done = || printed(&run(folder.path(), &["threads", "show", thread.trim()])).contains("assistant:");
    while !done() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(model.seen().len(), 1, "what the model said before the end is not asked again");
}
