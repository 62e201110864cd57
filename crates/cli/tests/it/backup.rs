//! Backups as an operator makes them: beside a server that works, killed at any moment, to a folder and to a bucket; what comes back is
//! compared with what was there.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ibid_core::{Scope, Tenant};
use ibid_knowledge::Store;
use ibid_testkit::{RealModels, RealStorage};

use super::documents::folder;
use super::serve::{Serving, stage};
use super::{ibid, printed, refused, run};

/// Everything that a database holds, table by table.
fn dump(database: &Path) -> String {
    let script = "import sqlite3, sys\n\
        connection = sqlite3.connect(sys.argv[1])\n\
        for (name,) in list(connection.execute(\"SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name\")):\n\
        \x20   if name != 'pending_events' and '_data' not in name:\n\
        \x20       print(name, sorted(map(repr, connection.execute(f'SELECT * FROM {name}'))))";
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    printed(&command.args(["-c", script]).arg(database).output().unwrap())
}

/// Everything that the store of a data folder says.
async fn content(data: &Path) -> Vec<String> {
    let store = Store::look(&data.join("store").to_string_lossy(), HashMap::new()).await.unwrap();
    store.content(&Scope::of(Tenant::local())).await.unwrap()
}

fn originals(data: &Path) -> BTreeMap<String, Vec<u8>> {
    let listed = std::fs::read_dir(data.join("store/originals")).unwrap().map(Result::unwrap);
    let read = |file: std::fs::DirEntry| {
        (file.file_name().to_string_lossy().into_owned(), std::fs::read(file.path()).unwrap())
    };
    listed.map(read).collect()
}

/// A folder with the settings of another, and what its backup holds.
fn restored(of: &Path, archive: &str, arguments: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(of.join("ibid.toml"), folder.path().join("ibid.toml")).unwrap();
    printed(&run(folder.path(), &[&["restore", archive], arguments].concat()));
    folder
}

async fn assert_same(left: &Path, right: &Path) {
    let (left, right) = (left.join("ibid-data"), right.join("ibid-data"));
    for database in ["engine.db", "ingestion.db"] {
        assert_eq!(dump(&left.join(database)), dump(&right.join(database)), "{database}");
    }
    assert_eq!(content(&left).await, content(&right).await);
    assert_eq!(originals(&left), originals(&right));
}

fn write_documents(folder: &Path, names: std::ops::Range<usize>) -> Vec<String> {
    let write = |number: usize| {
        let text = format!("# Rule {number}\n\nAn article of kind {number} is charged {number} per cent.\n")
            .repeat(40);
        let path = folder.join(format!("rule-{number}.md"));
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    names.map(write).collect()
}

fn backups(folder: &Path, archive: &str) -> Vec<String> {
    if !Path::new(archive).exists() {
        return Vec::new();
    }
    printed(&run(folder, &["restore", archive, "--list"])).lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_beside_a_working_server_is_one_moment_of_everything() {
    let (folder, _model) = stage().await;
    let folder = folder.path();
    let archive = tempfile::tempdir().unwrap();
    let archive = archive.path().to_str().unwrap();
    let serving = Serving::start(folder);
    printed(&run(folder, &["ask", "trade-compliance", "What is the rate for 8539.52.00?"]));
    let documents = write_documents(folder, 0..12);
    let mut arguments = vec!["ingest"];
    arguments.extend(documents.iter().map(String::as_str));
    let mut loading = ibid(folder, &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while loading.try_wait().unwrap().is_none() {
        let made = printed(&run(folder, &["backup", archive]));
        assert!(made.contains(" files, ") && made.contains("are new"), "{made}");
    }
    printed(&run(folder, &["ask", "trade-compliance", "And for 8539.22.40?"]));
    printed(&run(folder, &["backup", archive]));
    let names = backups(folder, archive);
    assert!(names.len() >= 2, "some were made while documents were loaded: {names:?}");

    // What was under way at any of these moments goes on, and nothing else is to be mended.
    let mut ends = Vec::new();
    for name in names.iter().take(3) {
        let other = restored(folder, archive, &["--backup", name]);
        let found = printed(&run(other.path(), &["fsck"]));
        assert!(found.contains("the store is whole"), "{name}: {found}");
        let again = Serving::start(other.path());
        let began = Instant::now();
        let listed = loop {
            let listed = printed(&run(other.path(), &["documents", "list", "--json"]));
            if !listed.contains("\"loading\"") {
                break listed;
            }
            assert!(began.elapsed() < Duration::from_secs(120), "{listed}");
            std::thread::sleep(Duration::from_millis(200));
        };
        assert!(!listed.contains("\"failed\""), "{name}: {listed}");
        ends.push(listed.lines().count());
        drop(again);
    }
    assert!(ends.is_sorted(), "{ends:?}");

    // The last one holds everything; the server is stopped so that nothing moves while it is compared.
    let mut serving = serving;
    interrupt(serving.child.id());
    serving.child.wait().unwrap();
    printed(&run(folder, &["backup", archive]));
    let other = restored(folder, archive, &[]);
    assert_same(folder, other.path()).await;
    refused(&run(folder, &["restore", archive]), 1, "is there already, and nothing is overwritten");
    let found = printed(&run(other.path(), &["search", "What is an article of kind 7 charged?", "-n", "1"]));
    assert!(found.contains("rule-7.md"), "{found}");
    let asked = printed(&run(other.path(), &["ask", "trade-compliance", "What is the rate for 8539.52.00?"]));
    assert!(asked.contains("given there"), "{asked}");

    // Nothing is copied twice, old backups go when they are not to be kept, and what is damaged is noticed.
    let again = printed(&run(folder, &["backup", archive, "--keep", "2"]));
    assert!(again.contains("of which 0.0 MB are new") && again.contains("removed"), "{again}");
    assert_eq!(backups(folder, archive).len(), 2);
    printed(&run(folder, &["restore", archive, "--check"]));
    let other = restored(folder, archive, &[]);
    assert_same(folder, other.path()).await;
    let piece =
        Command::new("find").args([&format!("{archive}/pieces"), "-type", "f", "-size", "+1k"]).output();
    let piece = String::from_utf8(piece.unwrap().stdout).unwrap().lines().next().unwrap().to_owned();
    let mut bytes = std::fs::read(&piece).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&piece, bytes).unwrap();
    refused(&run(folder, &["restore", archive, "--check"]), 1, "is damaged");
}

fn interrupt(process: u32) {
    assert!(Command::new("kill").args(["-INT", &process.to_string()]).status().unwrap().success());
}

/// Runs a command and kills it after a part of the time that it usually takes.
fn killed(folder: &Path, arguments: &[&str], after: Duration) {
    let mut child = ibid(folder, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    let _ = child.kill();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_and_a_restore_that_are_killed_at_any_moment_leave_nothing_half() {
    const MOMENTS: u32 = 20;
    let (folder, _model) = stage().await;
    let folder = folder.path();
    printed(&run(folder, &["ask", "trade-compliance", "What is the rate for 8539.52.00?"]));
    // Something that takes a while to copy.
    let log: Vec<u8> = (0..6_000_000u32).flat_map(|number| (number ^ (number << 7)).to_le_bytes()).collect();
    std::fs::write(folder.join("ibid-data/audit.jsonl"), &log).unwrap();
    let places = tempfile::tempdir().unwrap();
    let place = |name: String| places.path().join(name).to_string_lossy().into_owned();

    let whole = place("whole".to_owned());
    let began = Instant::now();
    printed(&run(folder, &["backup", &whole]));
    let takes = began.elapsed();
    let archive = place("killed".to_owned());
    for moment in 0..MOMENTS {
        killed(folder, &["backup", &archive], takes * moment / MOMENTS);
        // Either there is a backup, or there is none.
        if !backups(folder, &archive).is_empty() {
            printed(&run(folder, &["restore", &archive, "--check"]));
        }
        if moment % 5 == 0 {
            let _ = std::fs::remove_dir_all(&archive);
        }
    }
    printed(&run(folder, &["backup", &archive, "--keep", "1"]));
    let other = restored(folder, &archive, &[]);
    assert_same(folder, other.path()).await;
    assert_eq!(std::fs::read(other.path().join("ibid-data/audit.jsonl")).unwrap(), log);

    let other = tempfile::tempdir().unwrap();
    std::fs::copy(folder.join("ibid.toml"), other.path().join("ibid.toml")).unwrap();
    let began = Instant::now();
    drop(restored(folder, &whole, &[]));
    let takes = began.elapsed();
    let mut refusals = 0;
    for moment in 1..MOMENTS {
        killed(other.path(), &["restore", &whole], takes * moment / MOMENTS);
        if other.path().join("ibid-data/restoring").exists() {
            refused(&run(other.path(), &["fsck"]), 1, "was not wholly restored");
            refusals += 1;
        } else {
            let _ = std::fs::remove_dir_all(other.path().join("ibid-data"));
        }
    }
    assert!(refusals > 0, "some were killed in between");
    let again = run(other.path(), &["restore", &whole]);
    assert!(printed(&again).contains("is restored into"));
    assert_same(folder, other.path()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_goes_to_a_bucket_and_comes_back() {
    let (folder, storage) = (folder(), RealStorage::get());
    let (folder, file) = (folder.path(), folder.path().join("ibid.toml"));
    let config = std::fs::read_to_string(&file).unwrap();
    let store = format!(
        "[store]\nendpoint = \"{}\"\nregion = \"us-east-1\"\nallow_http = true\naccess_key_env = \"TEST_KEY\"\n\
         secret_key_env = \"TEST_SECRET\"\n",
        storage.endpoint()
    );
    std::fs::write(&file, format!("{config}{store}")).unwrap();
    let run = |folder: &Path, arguments: &[&str]| {
        let mut command = ibid(folder, arguments);
        printed(&command.env("TEST_KEY", "test").env("TEST_SECRET", "secret").output().unwrap())
    };
    let documents = write_documents(folder, 0..2);
    run(folder, &["ingest", &documents[0], &documents[1]]);
    let archive = storage.place("backups");
    run(folder, &["backup", &archive]);
    run(folder, &["documents", "delete", "rule-1.md", "--yes"]);
    let again = run(folder, &["backup", &archive, "--keep", "1"]);
    assert!(again.contains("1 earlier backup removed"), "{again}");
    let other = tempfile::tempdir().unwrap();
    std::fs::copy(&file, other.path().join("ibid.toml")).unwrap();
    run(other.path(), &["restore", &archive, "--check"]);
    run(other.path(), &["restore", &archive]);
    let (left, right) = (folder.join("ibid-data"), other.path().join("ibid-data"));
    assert_eq!(content(&left).await, content(&right).await);
    assert_eq!(dump(&left.join("ingestion.db")), dump(&right.join("ingestion.db")));
    assert_eq!(originals(&left), originals(&right));

    // Into a bucket, too, but only where nothing is.
    let elsewhere = tempfile::tempdir().unwrap();
    let place = storage.place("restored");
    let located = std::fs::read_to_string(&file)
        .unwrap()
        .replace("[store]\n", &format!("[store]\nlocation = {place:?}\n"));
    std::fs::write(elsewhere.path().join("ibid.toml"), located).unwrap();
    run(elsewhere.path(), &["restore", &archive]);
    let listed = run(elsewhere.path(), &["documents", "list"]);
    assert!(listed.contains("rule-0.md") && !listed.contains("rule-1.md"), "{listed}");
    std::fs::remove_dir_all(elsewhere.path().join("ibid-data")).unwrap();
    let mut again = ibid(elsewhere.path(), &["restore", &archive]);
    let again = again.env("TEST_KEY", "test").env("TEST_SECRET", "secret").output().unwrap();
    refused(&again, 1, "there is something at s3://");
    assert!(!elsewhere.path().join("ibid-data/restoring").exists(), "nothing was begun");
}
