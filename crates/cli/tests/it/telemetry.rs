//! What the server tells of itself, to those who read it: Phoenix and Prometheus, as they are published.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ibid_testkit::{RealModels, ScriptedServer};

use super::serve::{Serving, passes, stage};
use super::{ibid, printed};

/// A program that reads what the server tells, ended with the test.
struct Reader {
    child: Child,
    /// Its files, deleted with it.
    _folder: tempfile::TempDir,
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap().port()
}

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/observability").join(name)
}

fn clients(name: &str) -> Command {
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name));
    command
}

/// Waits until somebody listens on a port.
fn listening(port: u16, child: &mut Child) {
    let began = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        assert!(began.elapsed() < Duration::from_secs(180), "it does not start");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Starts Phoenix; returns where it takes traces over HTTP and over gRPC.
fn phoenix() -> (Reader, String, String) {
    let (folder, http, grpc) = (tempfile::tempdir().unwrap(), free_port(), free_port());
    let mut child = Command::new(RealModels::find().path("phoenix/bin/phoenix"))
        .arg("serve")
        .env("PHOENIX_WORKING_DIR", folder.path())
        .env("PHOENIX_HOST", "127.0.0.1")
        .env("PHOENIX_PORT", http.to_string())
        .env("PHOENIX_GRPC_PORT", grpc.to_string())
        .env("PHOENIX_TELEMETRY_ENABLED", "false")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    listening(http, &mut child);
    let at = |port: u16| format!("http://127.0.0.1:{port}");
    (Reader { child, _folder: folder }, at(http), at(grpc))
}

fn add_settings(folder: &Path, more: &str) {
    let path = folder.join("ibid.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, format!("{config}\n{more}\n")).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn phoenix_is_told_the_tree_of_a_turn_over_http_and_grpc() {
    let (_phoenix, http, grpc) = tokio::task::spawn_blocking(phoenix).await.unwrap();
    for (protocol, endpoint, texts) in [("http", &http, true), ("grpc", &grpc, false)] {
        let (folder, model) = stage().await;
        let traces = format!("[traces]\nendpoint = '{endpoint}'\nprotocol = '{protocol}'\ntexts = {texts}");
        add_settings(folder.path(), &traces);
        let serving = Serving::start(folder.path());
        let mut command = clients("traces.py");
        command.args([&serving.url, &http, "trade-compliance", protocol]);
        passes(command);
        passed_on(&model, if protocol == "http" { "4bf92f35" } else { "5bf92f35" });
    }
}

/// The provider was told which trace each call belongs to.
fn passed_on(model: &ScriptedServer, trace: &str) {
    let calls: Vec<_> = model.seen().into_iter().filter(|seen| seen.body["messages"].is_array()).collect();
    assert!(!calls.is_empty());
    for call in calls {
        let parent = call.headers.get("traceparent").and_then(|value| value.to_str().ok());
        assert!(parent.is_some_and(|parent| parent.contains(trace)), "{parent:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_scrapes_and_every_query_of_the_dashboards_has_data() {
    let (folder, _model) = stage().await;
    add_settings(folder.path(), "input_price = 1.0\noutput_price = 2.0");
    let serving = Serving::start(folder.path());
    let (files, port) = (tempfile::tempdir().unwrap(), free_port());
    let target = serving.url.trim_start_matches("http://");
    let config = std::fs::read_to_string(deploy("prometheus.yml")).unwrap();
    let config = config.replace("127.0.0.1:8123", target).replace(": 15s", ": 1s");
    std::fs::write(files.path().join("prometheus.yml"), config).unwrap();
    std::fs::copy(deploy("rules.yml"), files.path().join("rules.yml")).unwrap();
    let mut child = Command::new("prometheus")
        .arg(format!("--config.file={}", files.path().join("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", files.path().join("data").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    listening(port, &mut child);
    let _prometheus = Reader { child, _folder: files };
    let mut command = clients("metrics.py");
    command.args([&serving.url, &format!("http://127.0.0.1:{port}"), "trade-compliance"]);
    command.arg(deploy("grafana/dashboards"));
    passes(command);
}

#[test]
fn the_rules_of_prometheus_say_what_they_should() {
    for arguments in [["check", "rules", "rules.yml"], ["test", "rules", "rules_test.yml"]] {
        let mut command = Command::new("promtool");
        command.current_dir(deploy(".")).args(arguments);
        passes(command);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_json_with_their_trace_and_their_filter_changes_without_a_restart() {
    let (folder, _model) = stage().await;
    add_settings(folder.path(), "[log]\nformat = 'json'\nfilter = 'error'");
    let log = folder.path().join("log");
    let mut command = ibid(folder.path(), &["serve", "--address", "127.0.0.1:0"]);
    let child = command.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let read = || std::fs::read_to_string(&log).unwrap();
    let wait = |what: &str| {
        let began = Instant::now();
        while !read().contains(what) {
            assert!(began.elapsed() < Duration::from_secs(60), "no `{what}` in {}", read());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait("listens on ");
    let said = read();
    let url = said.split("listens on ").nth(1).and_then(|rest| rest.split(';').next()).unwrap().to_owned();
    let serving = Serving { child, url };
    let ask = || {
        let mut command = Command::new(RealModels::find().path("clients/bin/python"));
        let ask = "import httpx, sys\n\
            body = {'assistant_id': 'rehearsal', 'input': {'messages': [{'role': 'user', 'content': 'a rate?'}]}}\n\
            print(httpx.post(sys.argv[1] + '/runs/wait', json=body, timeout=60).headers['x-request-id'])";
        command.args(["-c", ask, &serving.url]);
        printed(&command.output().unwrap()).trim().to_owned()
    };
    ask();
    assert!(!read().contains("the turn ended"), "only errors are logged: {}", read());
    let path = folder.path().join("ibid.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, config.replace("filter = 'error'", "filter = 'warn,ibid_engine=info'")).unwrap();
    let hangup = Command::new("kill").args(["-HUP", &serving.child.id().to_string()]).status().unwrap();
    assert!(hangup.success());
    wait("the log is filtered by `warn,ibid_engine=info` now");
    let trace = ask();
    wait("the turn ended");
    let text = read();
    let line = text.lines().find(|line| line.contains("the turn ended")).unwrap();
    let entry: serde_json::Value = serde_json::from_str(line).unwrap();
    let turn = entry["spans"].as_array().unwrap().iter().find(|span| span["name"] == "turn").unwrap();
    assert_eq!(turn["trace_id"], trace.as_str(), "{line}");
    assert!(turn["run"].is_string() && turn["tenant"] == "local", "{line}");
}
