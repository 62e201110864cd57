//! Several processes on one database and one store: servers and workers, and clients that notice nothing of it.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use ibid_testkit::{RealPostgres, RoundRobinProxy, ScriptedServer};
use serde_json::Value;

use super::serve::{CLIENTS, Serving, client, passes, stage};
use super::{THREAD, ibid, printed, refused, run};

/// A folder for each process, with settings that name one database and one store.
struct Several {
    folders: Vec<tempfile::TempDir>,
    _model: ScriptedServer,
    _first: tempfile::TempDir,
}

impl Several {
    async fn stage(processes: usize, database: &str) -> Self {
        let (first, model) = stage().await;
        let settings = std::fs::read_to_string(first.path().join("ibid.toml")).unwrap();
        let store = first.path().join("ibid-data/store");
        let engine = format!("[engine]\nurl = \"{database}\"\nlease = \"3s\"\n");
        let settings = settings.replace("[engine]\n", &engine);
        let shared = format!("[store]\nlocation = \"{}\"\n", store.display());
        let folders = (0..processes).map(|_| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("ibid.toml"), format!("{settings}\n{shared}")).unwrap();
            folder
        });
        Self { folders: folders.collect(), _model: model, _first: first }
    }

    fn folder(&self, index: usize) -> &Path {
        self.folders[index].path()
    }
}

fn address(serving: &Serving) -> String {
    serving.url.strip_prefix("http://").unwrap().to_owned()
}

/// What a server answers, with its status.
pub(crate) fn get(serving: &Serving, path: &str) -> (u16, String) {
    let mut stream = std::net::TcpStream::connect(address(serving)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn published_clients_can_do_everything_at_two_servers_in_turn() {
    let several = Several::stage(2, &RealPostgres::get().database()).await;
    let servers = [Serving::start(several.folder(0)), Serving::start(several.folder(1))];
    let proxy = RoundRobinProxy::start(servers.iter().map(address).collect()).await;
    for program in CLIENTS {
        let command = client(program, proxy.url(), "trade-compliance");
        tokio::task::spawn_blocking(move || passes(command)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_takes_what_a_worker_does() {
    let several = Several::stage(3, &RealPostgres::get().database()).await;
    let server = Serving::with(several.folder(0), &["--address", "127.0.0.1:0", "--role", "server"]);
    let worker = Serving::with(several.folder(1), &["--address", "127.0.0.1:0", "--role", "worker"]);
    assert_eq!(get(&worker, "/healthz"), (200, "ok".to_owned()));
    // The scripted model has no list of models, so the whole is not ready.
    let (_, parts) = get(&worker, "/readyz");
    assert!(
        parts.contains(r#""turns":{"ready":true},"loads":{"ready":true},"store":{"ready":true}"#),
        "{parts}"
    );
    let health = run(several.folder(1), &["health", "--address", worker.url.trim_start_matches("http://")]);
    assert_eq!(health.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&health.stdout).starts_with("not ready: "), "{health:?}");
    assert_eq!(get(&worker, &format!("/threads/{THREAD}")).0, 404, "it answers nothing else");

    // The terminal beside the server: the worker loads and answers.
    let folder = several.folder(0);
    let asked = printed(&run(folder, &["ask", "--thread", THREAD, "rehearsal", "Who is there?"]));
    assert_eq!(asked, "Who is there?\n");
    std::fs::write(folder.join("lamps.md"), "# Lamps\n\nThe rate for such lamps is 2%.\n").unwrap();
    assert!(printed(&run(folder, &["ingest", "lamps.md"])).contains("loaded"));
    let listed = printed(&run(folder, &["documents", "list"]));
    assert!(listed.contains("lamps.md") && listed.contains("ready"), "{listed}");

    // A terminal on a third machine, without a server beside it.
    let elsewhere = several.folder(2);
    let shown = printed(&run(elsewhere, &["threads", "show", THREAD]));
    assert!(shown.contains("Who is there?"), "{shown}");
    assert!(printed(&run(elsewhere, &["documents", "list"])).contains("lamps.md"));
    let doctor = run(elsewhere, &["doctor"]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("ok     engine database: the database of `engine.url` keeps"), "{doctor}");
    refused(&run(elsewhere, &["backup", "to-here"]), 1, "back that up with its own tools");
    printed(&run(elsewhere, &["threads", "delete", THREAD, "--yes"]));
    refused(&run(folder, &["threads", "show", THREAD]), 1, "");
    drop((server, worker));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_goes_on_when_its_worker_dies() {
    let several = Several::stage(2, &RealPostgres::get().database()).await;
    let server = Serving::with(several.folder(0), &["--address", "127.0.0.1:0", "--role", "server"]);
    let mut worker = Serving::with(several.folder(1), &["--address", "127.0.0.1:0", "--role", "worker"]);
    let folder = several.folder(0);
    let text: String =
        (0..3000).map(|number| format!("Lamps of kind {number} are charged {number} pesos.\n\n")).collect();
    std::fs::write(folder.join("long.md"), text).unwrap();
    let loading = ibid(folder, &["ingest", "long.md"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    worker.child.kill().unwrap();
    worker.child.wait().unwrap();
    let again = Serving::with(several.folder(1), &["--address", "127.0.0.1:0", "--role", "worker"]);
    let began = Instant::now();
    let output = loading.wait_with_output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(120), "it took {:?}", began.elapsed());
    assert!(printed(&output).contains("loaded"), "{output:?}");
    let listed = printed(&run(folder, &["documents", "list", "--json"]));
    let statuses: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(statuses.iter().all(|document| document["status"] == "ready"), "{listed}");
    let fsck = printed(&run(several.folder(1), &["fsck"]));
    assert!(fsck.contains("the store is whole"), "{fsck}");
    drop((server, again));
}

#[test]
fn a_role_needs_a_database_that_processes_share() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = "`serve.role` tells processes apart that share `engine.url`";
    refused(&run(folder.path(), &["serve", "--role", "worker"]), 1, refusal);
    std::fs::write(folder.path().join("ibid.toml"), "[engine]\nurl = \"mysql://here\"\n").unwrap();
    refused(&run(folder.path(), &["ask", "rehearsal", "hello"]), 1, "is the address of a Postgres database");
    let unreachable = "[engine]\nurl = \"postgres://postgres@127.0.0.1:1/none\"\n";
    std::fs::write(folder.path().join("ibid.toml"), unreachable).unwrap();
    refused(&run(folder.path(), &["threads", "list"]), 1, "the database cannot be reached");
}

#[test]
fn conversations_move_to_a_database_and_back_from_the_terminal() {
    let (folder, back) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let database = RealPostgres::get().database();
    printed(&run(folder.path(), &["ask", "--thread", THREAD, "rehearsal", "What is kept?"]));
    let source = format!("sqlite:{}", folder.path().join("ibid-data").display());
    let copied = printed(&run(folder.path(), &["engine", "copy", &source, &database]));
    assert!(copied.contains("1 thread copied, and the same on both sides"), "{copied}");
    refused(&run(folder.path(), &["engine", "copy", &source, &database]), 1, "there is something already");

    std::fs::write(back.path().join("ibid.toml"), format!("[engine]\nurl = \"{database}\"\n")).unwrap();
    let shown = printed(&run(back.path(), &["threads", "show", THREAD]));
    assert!(shown.contains("What is kept?"), "{shown}");
    let target = format!("sqlite:{}", back.path().join("files").display());
    printed(&run(back.path(), &["engine", "copy", &database, &target]));
    std::fs::write(back.path().join("ibid.toml"), "data = \"files\"\n").unwrap();
    assert_eq!(printed(&run(back.path(), &["threads", "show", THREAD])), shown);
    refused(&run(back.path(), &["engine", "copy", &source, &target]), 1, "from files to a database or back");
}
