//! Documents as a person loads, finds and deletes them; and a load that is killed again and again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ibid_core::{Scope, Tenant};
use ibid_knowledge::Store;
use ibid_testkit::{RealModels, RealStorage, Reply, Script, ScriptedServer, Seen, test_set};

use super::serve::Serving;
use super::{ibid, printed, refused, run};

/// The model of these tests, and how long its vectors are.
const MODEL: (&str, usize) = ("use-multilingual", 512);

/// A folder with a configuration in which everything runs here, and processes may be killed as often as one likes.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let models = RealModels::find();
    let config = format!(
        "[engine]\ncrashes = 1000\n[embedding]\npath = {:?}\n[onnx]\nlibrary = {:?}\n[ingest]\npdfium = {:?}\n\
         recognition = \"\"\ncrashes = 1000\n",
        models.path(MODEL.0),
        models.runtime(),
        models.path("pdfium/libpdfium.so"),
    );
    std::fs::write(folder.path().join("ibid.toml"), config).unwrap();
    folder
}

pub(crate) fn sample() -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../reading/tests/samples/hts-chapter-85-pages-70-71.pdf");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_document_is_loaded_listed_shown_found_and_deleted() {
    let folder = folder();
    let folder = folder.path();
    assert!(printed(&run(folder, &["documents", "list"])).contains("There are no documents yet"));
    refused(&run(folder, &["ingest", "nowhere.pdf"]), 1, "nowhere.pdf cannot be read");

    let loaded = printed(&run(folder, &["ingest", &sample(), "--corpus", "tariffs"]));
    assert!(loaded.contains("loaded") && loaded.contains("1 document, 2 pages"), "{loaded}");
    let again = printed(&run(folder, &["ingest", &sample(), "--corpus", "tariffs"]));
    assert!(again.contains("unchanged") && again.contains("1 document, 2 pages"), "{again}");
    let listed = printed(&run(folder, &["documents", "list", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        (&listed["status"], &listed["kind"], &listed["language"]),
        (&"ready".into(), &"general".into(), &"en".into())
    );
    let shown = printed(&run(folder, &["documents", "show", "71.pdf"]));
    assert!(shown.contains("2 pages, 1 table,") && shown.contains("     1  table"), "{shown}");

    let found = printed(&run(folder, &["search", "What is the rate of 8539.22.40?", "--corpus", "tariffs"]));
    assert!(
        found.starts_with("1. ") && found.contains("page 1") && found.contains("Christmas-tree lamps"),
        "{found}"
    );
    let other = printed(&run(folder, &["search", "8539.22.40", "--corpus", "other"]));
    assert!(other.contains("Nothing was found"), "{other}");
    let json = printed(&run(folder, &["search", "8539.22.40", "--json", "-n", "1"]));
    let passage: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(passage["page"], 1);
    assert!(passage["places"].as_array().is_some_and(|places| !places.is_empty()));

    assert!(printed(&run(folder, &["fsck"])).contains("the store is whole"));
    refused(&run(folder, &["documents", "delete", "71.pdf"]), 1, "with --yes");
    printed(&run(folder, &["documents", "delete", "71.pdf", "--yes"]));
    assert!(printed(&run(folder, &["search", "8539.22.40"])).contains("Nothing was found"));
    assert!(
        printed(&run(folder, &["fsck"])).contains("0 documents, 0 chunks, 0 originals: the store is whole")
    );
}

#[test]
fn who_does_not_hold_a_label_neither_sees_nor_replaces_a_document() {
    let folder = folder();
    let folder = folder.path();
    let secret =
        "# Salaries\n\nThe officers of the port earn what the council says every year in the spring.";
    std::fs::write(folder.join("secret.md"), secret).unwrap();
    printed(&run(folder, &["ingest", "secret.md", "--label", "council"]));
    assert!(printed(&run(folder, &["documents", "list"])).contains("There are no documents yet"));
    let seen = printed(&run(folder, &["documents", "list", "--label", "council"]));
    assert!(seen.contains("secret.md"), "{seen}");
    let output = run(folder, &["ingest", "secret.md"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("not allowed") && output.status.code() == Some(1), "{said}");
    refused(&run(folder, &["documents", "delete", "secret.md", "--yes"]), 1, "there is no document");
    printed(&run(folder, &["documents", "delete", "secret.md", "--yes", "--label", "council"]));
    assert!(printed(&run(folder, &["fsck"])).contains("0 documents, 0 chunks, 0 originals"));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_command_fails() {
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("broken.pdf"), b"%PDF-1.7 and no more").unwrap();
    std::fs::write(
        folder.join("good.md"),
        "# Rules\n\nImporters keep their records for five years after the entry of the goods, \
        and show them to an officer who asks for them within thirty days.",
    )
    .unwrap();
    let output = run(folder, &["ingest", "broken.pdf", "good.md"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("FAILED: the file is damaged"), "{said}");
    let found = printed(&run(folder, &["search", "how long are records kept"]));
    assert!(found.contains("good.md, page 1"), "{found}\n{said}");
}

#[cfg(unix)]
#[test]
fn a_load_that_is_stopped_leaves_nothing_and_can_begin_again() {
    let folder = folder();
    let folder = folder.path();
    let chapter = chapters()[0].to_string_lossy().into_owned();
    let mut child =
        ibid(folder, &["ingest", &chapter]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // It has begun once its content is kept.
    let originals = folder.join("ibid-data/store/originals");
    while !originals.read_dir().is_ok_and(|mut files| files.next().is_some()) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
        std::thread::sleep(Duration::from_millis(10));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let ended = child.wait().unwrap();
    let left = printed(&run(folder, &["fsck"]));
    // On a machine that is quick enough it was loaded before it was stopped.
    if !ended.success() {
        assert_eq!(ended.code(), Some(1), "{ended}");
        assert!(left.contains("0 documents, 0 chunks, 0 originals: the store is whole"), "{left}");
    }
    let again = printed(&run(folder, &["ingest", &chapter]));
    assert!(again.contains("loaded") || ended.success(), "{again}");
    assert!(printed(&run(folder, &["fsck"])).contains("the store is whole"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_ends_its_process_twice_is_set_aside() {
    // It never embeds a document, and refuses what `ibid doctor` asks.
    let asks = |seen: &Seen| seen.body["input"].to_string().contains("arancel");
    let slow = Script::new().when(asks, Reply::status(400, "not now")).always(Reply::stalled());
    let (folder, slow) = (tempfile::tempdir().unwrap(), ScriptedServer::start(slow).await);
    let folder = folder.path();
    let embedding = "[embedding]\nprovider = \"slow\"\nmodel = \"slow\"\ndimensions = 8\n";
    let config = format!("[providers.slow]\nbase_url = \"{}\"\n{embedding}", slow.url());
    std::fs::write(folder.join("ibid.toml"), config).unwrap();
    let document = corpus("USC-T19-S1508.md").to_string_lossy().into_owned();
    for kills in 1..=2 {
        let mut loading = ibid(folder, &["ingest", &document]);
        let mut loading = loading.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        slow.until("its chunks are embedded", |seen| seen.len() >= kills).await;
        loading.kill().unwrap();
        loading.wait().unwrap();
    }
    // The next process takes it up no more, and goes on with everything else.
    let serving = Serving::start(folder);
    let listed = || printed(&run(folder, &["documents", "list", "--json"]));
    let began = Instant::now();
    while !listed().contains("\"failed\"") {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", listed());
        std::thread::sleep(Duration::from_millis(100));
    }
    let reason = "it was set aside: 2 times the process ended without a word while it was at step 4";
    assert!(listed().contains(reason), "{}", listed());
    drop(serving);
    let doctor = run(folder, &["doctor"]);
    let found = String::from_utf8_lossy(&doctor.stdout);
    assert!(found.contains("WRONG  loads: 1 were set aside"), "{found}");
}

/// Where the documents of a test are kept.
#[derive(Clone, Copy)]
enum Kept {
    InTheFolder,
    OnObjectStorage,
}

impl Kept {
    /// A folder with a configuration, and the place of its store.
    fn folder(self, name: &str) -> (tempfile::TempDir, String) {
        let folder = folder();
        let Self::OnObjectStorage = self else {
            let place = folder.path().join("ibid-data/store").to_string_lossy().into_owned();
            return (folder, place);
        };
        let (storage, path) = (RealStorage::get(), folder.path().join("ibid.toml"));
        let place = storage.place(name);
        let config = std::fs::read_to_string(&path).unwrap();
        let store = format!(
            "[store]\nplace = {place:?}\nendpoint = {:?}\nregion = \"us-east-1\"\nallow_http = true\n\
             access_key_env = \"TEST_KEY\"\nsecret_key_env = \"TEST_SECRET\"\n",
            storage.endpoint()
        );
        std::fs::write(path, format!("{config}{store}")).unwrap();
        (folder, place)
    }

    async fn content(self, place: &str) -> Vec<String> {
        let options: HashMap<String, String> = match self {
            Self::InTheFolder => HashMap::new(),
            Self::OnObjectStorage => RealStorage::get().options().into_iter().collect(),
        };
        let store = Store::look(place, options).await.unwrap();
        store.content(&Scope::of(Tenant::local())).await.unwrap()
    }
}

/// A command that finds the keys of the object storage.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = ibid(folder, arguments);
    command.envs([("TEST_KEY", "test"), ("TEST_SECRET", "secret")]);
    command
}

/// A file of the corpus of the tests.
pub(crate) fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(name)
}

/// Documents of a few pages; with more kills, whole chapters.
fn chapters() -> Vec<PathBuf> {
    if more_kills().is_none() {
        return vec![corpus("hts-chapter-85-pages-71-75.pdf"), corpus("USC-T19-S1508.md"), sample().into()];
    }
    let folder = test_set("trade_compliance/hts/pdf/chapter");
    [84, 85, 90, 94].map(|chapter| folder.join(format!("Chapter_{chapter}.pdf"))).to_vec()
}

/// How often the load is killed: a few times in small documents, unless `IBID_KILLS` says more, in four chapters.
fn kills(sample: u32) -> u32 {
    more_kills().unwrap_or(sample)
}

fn more_kills() -> Option<u32> {
    std::env::var("IBID_KILLS").ok()?.parse().ok()
}

#[tokio::test]
async fn a_load_that_is_killed_again_and_again_ends_as_if_it_never_was() {
    killed_again_and_again(Kept::InTheFolder, kills(10)).await;
}

#[tokio::test]
async fn a_load_on_object_storage_that_is_killed_ends_as_if_it_never_was() {
    killed_again_and_again(Kept::OnObjectStorage, kills(3)).await;
}

async fn killed_again_and_again(kept: Kept, kills: u32) {
    let chapters: Vec<String> = chapters().iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> =
        ["ingest", "--corpus", "tariffs"].into_iter().chain(chapters.iter().map(String::as_str)).collect();
    let (undisturbed, place) = kept.folder("undisturbed");
    let began = Instant::now();
    printed(&command(undisturbed.path(), &arguments).output().unwrap());
    let whole = began.elapsed();
    let expected = kept.content(&place).await;
    assert!(expected.len() > chapters.len());

    let (mut killed, mut seed) = (0, 0x9e37_79b9_7f4a_7c15_u64);
    while killed < kills {
        let (folder, place) = kept.folder(&format!("killed-{killed}"));
        // In one load several kills; the next load begins with an empty store.
        for _ in 0..kills.min(6) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let pause =
                whole.mul_f64(0.35).mul_f64((seed % 1000) as f64 / 1000.0) + Duration::from_millis(50);
            let mut child = command(folder.path(), &arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(pause);
            let over = child.try_wait().unwrap().is_some();
            child.kill().unwrap();
            child.wait().unwrap();
            if over {
                break;
            }
            killed += 1;
            // A repair leaves alone what will go on.
            if killed % 4 == 1 {
                printed(&command(folder.path(), &["fsck", "--repair"]).output().unwrap());
            }
        }
        printed(&command(folder.path(), &arguments).output().unwrap());
        let checked = printed(&command(folder.path(), &["fsck"]).output().unwrap());
        assert!(checked.contains("the store is whole"), "after {killed} kills: {checked}");
        let found = kept.content(&place).await;
        let differing = found.iter().zip(&expected).find(|(found, expected)| found != expected);
        assert!(
            found == expected,
            "after {killed} kills the store differs: {} and {} lines, first {differing:?}",
            found.len(),
            expected.len()
        );
    }
}

#[test]
fn what_is_said_of_a_document_changes_without_reading_it_again() {
    let folder = folder();
    let folder = folder.path();
    printed(&run(folder, &["ingest", &sample(), "--corpus", "tariffs"]));
    let row = |label: &[&str]| -> Option<serde_json::Value> {
        let listed = printed(&run(folder, &[&["documents", "list", "--json"], label].concat()));
        listed.lines().next().map(|line| serde_json::from_str(line).unwrap())
    };
    let before = row(&[]).unwrap();
    refused(&run(folder, &["documents", "edit", "71.pdf"]), 64, "--title");
    refused(
        &run(folder, &["documents", "edit", "71.pdf", "--labels", "customs"]),
        1,
        "must hold one of them",
    );
    let change = ["documents", "edit", "71.pdf", "--title", "Lamps", "--type", "hts", "--labels", "customs"];
    printed(&run(folder, &[&change[..], &["--label", "customs"]].concat()));
    assert_eq!(row(&[]), None, "who does not hold the label does not see it");
    let after = row(&["--label", "customs"]).unwrap();
    assert_eq!(
        (&after["title"], &after["kind"], &after["id"]),
        (&"Lamps".into(), &"hts".into(), &before["id"])
    );
    assert_eq!(after["chunks"], before["chunks"]);
    let search = |more: &[&str]| printed(&run(folder, &[&["search", "8539.22.40"], more].concat()));
    assert!(search(&[]).contains("Nothing was found"));
    assert!(search(&["--label", "customs", "--type", "hts"]).contains("Christmas-tree lamps"));

    // The same at a server, and back.
    let serving = Serving::start(folder);
    let back = ["documents", "edit", "71.pdf", "--labels", "", "--label", "customs"];
    printed(&run(folder, &back));
    drop(serving);
    assert!(search(&["--type", "hts"]).contains("Christmas-tree lamps"));
    assert!(printed(&run(folder, &["fsck"])).contains("the store is whole"));
}
