//! One of the processes: this test program again, which serves a graph of its own. What its nodes do is counted outside of it, in a
//! file that each node appends to.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use ibid_app::settings::{EngineSettings, ServeSettings};
use ibid_app::{App, Settings};
use ibid_core::{Message, RunId, Scope, Tenant, TurnInput};
use ibid_graph::{Context, END, Graph, NodeError, START, State};
use ibid_server::{Access, router};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::LEASE;

const FOLDER: &str = "IBID_CHAOS_FOLDER";
const ADDRESS: &str = "IBID_CHAOS_ADDRESS";
const URL: &str = "IBID_CHAOS_URL";
/// Whether the graph is the one of the version to come.
const CHANGED: &str = "IBID_CHAOS_CHANGED";
/// So long a process that is told to end may take for the steps that it is at, and for its connections.
const GRACE: Duration = Duration::from_secs(3);
/// Whoever waits to be stopped waits no longer than that.
const LONGEST: Duration = Duration::from_secs(20);

/// The processes, and where they note what they do.
pub(super) struct Nodes {
    folder: PathBuf,
    nodes: Mutex<Vec<Node>>,
}

struct Node {
    address: SocketAddr,
    /// Where it finds the database.
    url: String,
    changed: bool,
    child: Child,
}

impl Nodes {
    /// Starts one for each address of the database.
    pub(super) fn start(folder: &Path, urls: Vec<String>) -> Self {
        File::create(folder.join("performed")).unwrap();
        let nodes = Self { folder: folder.to_owned(), nodes: Mutex::default() };
        for url in urls {
            let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let address = listener.local_addr().unwrap();
            drop(listener);
            let child = nodes.child(address, &url, false);
            nodes.nodes.lock().unwrap().push(Node { address, url, changed: false, child });
        }
        nodes
    }

    fn child(&self, address: SocketAddr, url: &str, changed: bool) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "chaos::node::serves", "--ignored", "--nocapture"])
            .env(FOLDER, &self.folder)
            .env(ADDRESS, address.to_string())
            .env(URL, url)
            .env(CHANGED, changed.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(OpenOptions::new().create(true).append(true).open(self.folder.join("log")).unwrap())
            .spawn()
            .unwrap()
    }

    pub(super) fn count(&self) -> usize {
        self.nodes.lock().unwrap().len()
    }

    pub(super) fn urls(&self) -> Vec<String> {
        self.nodes.lock().unwrap().iter().map(|node| format!("http://{}", node.address)).collect()
    }

    /// Waits until each answers.
    pub(super) async fn until_ready(&self) {
        let addresses: Vec<SocketAddr> = self.nodes.lock().unwrap().iter().map(|node| node.address).collect();
        for address in addresses {
            let began = std::time::Instant::now();
            while tokio::net::TcpStream::connect(address).await.is_err() {
                assert!(
                    began.elapsed() < Duration::from_secs(60),
                    "a process does not start: {}",
                    self.log()
                );
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// What they logged, for whoever wants to know why something failed.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Kills one and starts it again.
    pub(super) fn kill(&self, index: usize) {
        let mut nodes = self.nodes.lock().unwrap();
        let node = &mut nodes[index];
        node.child.kill().unwrap();
        node.child.wait().unwrap();
        node.child = self.child(node.address, &node.url, node.changed);
    }

    /// Tells one to end, waits until it has, and starts the version to come in its place.
    pub(super) fn upgrade(&self, index: usize) {
        let process = self.nodes.lock().unwrap()[index].child.id();
        let told = Command::new("kill").arg("-TERM").arg(process.to_string()).status().unwrap();
        assert!(told.success());
        let mut nodes = self.nodes.lock().unwrap();
        let node = &mut nodes[index];
        let began = std::time::Instant::now();
        let ended = loop {
            if let Some(ended) = node.child.try_wait().unwrap() {
                break ended;
            }
            assert!(began.elapsed() < LONGEST, "a process that was told to end does not: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(ended.success(), "a process that was told to end did not end well: {}", self.log());
        node.changed = true;
        node.child = self.child(node.address, &node.url, true);
    }

    /// Puts one to sleep for a while; which process it is.
    pub(super) fn sleep(&self, index: usize, time: Duration) -> u32 {
        let process = self.nodes.lock().unwrap()[index].child.id();
        let signal = |name: &str| Command::new("kill").arg(name).arg(process.to_string()).status().unwrap();
        signal("-STOP");
        std::thread::sleep(time);
        signal("-CONT");
        process
    }

    pub(super) fn stop(&self) {
        for node in &mut *self.nodes.lock().unwrap() {
            let _ = node.child.kill();
            let _ = node.child.wait();
        }
    }

    pub(super) fn performed(&self) -> Performed {
        let text = std::fs::read_to_string(self.folder.join("performed")).unwrap();
        let mut steps: HashMap<RunId, Vec<Begun>> = HashMap::new();
        for line in text.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let [run, step, at, process] = fields[..] else { panic!("{line}") };
            let begun = Begun {
                at: at.parse().unwrap(),
                step: step.parse().unwrap(),
                process: process.parse().unwrap(),
            };
            steps.entry(run.parse().unwrap()).or_default().push(begun);
        }
        Performed(steps)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A step that began: when, in nanoseconds since 1970, and in which process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Begun {
    at: u128,
    step: u32,
    process: u32,
}

/// When each step of each run began, in whichever process.
pub(super) struct Performed(HashMap<RunId, Vec<Begun>>);

impl Performed {
    /// How many steps began.
    pub(super) fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Steps that began after the next one had begun, which only begins when the one before is written down. A process that is put
    /// to sleep in the moment between being let begin a step and beginning it begins when it wakes up: nothing that it could ask
    /// before keeps it from that, so one such step is allowed for each time that a process woke up.
    pub(super) fn again_after_finish(&self, woken: &[Woken]) -> Vec<String> {
        let (mut again, mut left) = (Vec::new(), woken.to_vec());
        for (run, begun) in &self.0 {
            let (mut begun, mut highest) = (begun.clone(), 0);
            begun.sort_unstable();
            for step in &begun {
                if step.step >= highest {
                    highest = step.step;
                } else if let Some(index) = left.iter().position(|woken| woken.explains(step)) {
                    left.swap_remove(index);
                } else {
                    again.push(format!("{run}: {step:?} of {begun:?}"));
                }
            }
        }
        again
    }
}

/// When a process woke up, in nanoseconds since 1970: at `at`, or a moment before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Woken {
    pub(super) process: u32,
    pub(super) at: u128,
}

impl Woken {
    fn explains(&self, step: &Begun) -> bool {
        // The command that wakes it takes a moment to end.
        let (before, after) = (Duration::from_millis(50).as_nanos(), Duration::from_millis(5).as_nanos());
        self.process == step.process && (self.at - before..self.at + after).contains(&step.at)
    }
}

#[derive(Clone, serde::Serialize)]
struct Six {
    run: RunId,
    heard: String,
    said: Vec<String>,
}

impl State for Six {
    type Update = String;
    fn apply(&mut self, said: String) {
        self.said.push(said);
    }
}

/// hear → think → tool → (sure?) → write → close. `write` waits to be stopped if the message says so. In the version to come, what
/// was written is checked before it closes.
fn graph(performed: Arc<File>, changed: bool) -> ibid_engine::TurnGraph {
    let node = |name: &'static str| {
        let performed = performed.clone();
        move |six: Arc<Six>, context: Context| {
            let performed = performed.clone();
            async move { work(name, &performed, &six, &context).await }
        }
    };
    let after = |six: &Six| if six.heard.starts_with("ask") { "sure" } else { "write" };
    let builder = Graph::<Six>::builder("chaos")
        .node("hear", node("hear"))
        .node("think", node("think"))
        .node("tool", node("tool"))
        .interrupt("sure", |six: &Six| json!(six.heard), |_, yes: bool| format!("sure:{yes}"))
        .node("write", node("write"))
        .node("close", node("close"))
        .edge(START, "hear")
        .edge("hear", "think")
        .edge("think", "tool")
        .branch("tool", after, ["sure", "write"])
        .edge("sure", "write")
        .edge("close", END);
    let builder = if changed {
        builder.node("check", node("check")).edge("write", "check").edge("check", "close")
    } else {
        builder.edge("write", "close")
    };
    builder.build().unwrap().compile(
        |input: TurnInput| {
            Ok(Six { run: input.run, heard: input.messages[0].text.clone(), said: Vec::new() })
        },
        |six: &Six| vec![Message::assistant(format!("{}: {}", six.heard, six.said.join(" ")))],
    )
}

async fn work(name: &str, mut performed: &File, six: &Six, context: &Context) -> Result<String, NodeError> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    let line = format!("{} {} {now} {}\n", six.run, context.step(), std::process::id());
    performed.write_all(line.as_bytes()).unwrap();
    for _ in 0..3 {
        context.token(format!("{name} "));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    if name == "write" && six.heard.starts_with("stop") {
        let _ = tokio::time::timeout(LONGEST, context.cancel().cancelled()).await;
    }
    Ok(name.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a process of the test above"]
async fn serves() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let (folder, address) = (PathBuf::from(variable(FOLDER)), variable(ADDRESS));
    let performed = OpenOptions::new().append(true).open(folder.join("performed")).unwrap();
    let usual = Settings::default();
    let settings = Settings {
        data: folder.join(address.replace(':', "-")),
        engine: EngineSettings {
            url: Some(variable(URL)),
            lease: ibid_app::settings::Span(LEASE),
            ..usual.engine.clone()
        },
        serve: ServeSettings { audit: false, ..usual.serve.clone() },
        ..usual
    };
    let app = App::builder(settings)
        .without_documents()
        .graph("chaos", graph(Arc::new(performed), variable(CHANGED) == "true"))
        .open()
        .await
        .unwrap();
    let router = router(app.clone(), Access::open(Scope::of(Tenant::local())), None).unwrap();
    let listener = loop {
        // The one before may have been killed a moment ago.
        match tokio::net::TcpListener::bind(&address).await {
            Ok(listener) => break listener,
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    let stop = CancellationToken::new();
    let serving = tokio::spawn(ibid_server::serve(listener, router, stop.clone().cancelled_owned()));
    signal(SignalKind::terminate()).unwrap().recv().await;
    stop.cancel();
    app.shutdown(GRACE).await;
    let _ = tokio::time::timeout(GRACE, serving).await;
}
