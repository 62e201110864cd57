//! Documents as a person loads, finds and deletes them; and a load that is killed again and again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ibid_knowledge::Store;
use ibid_testkit::{RealModels, shared_data};

use super::{ibid, printed, refused, run};

/// The model of these tests, and how long its vectors are.
const MODEL: (&str, usize) = ("use-multilingual", 512);

/// A folder with a configuration in which everything runs here.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let models = RealModels::find();
    let config = format!(
        "[embedding]\npath = {:?}\n[onnx]\nlibrary = {:?}\n[ingest]\npdfium = {:?}\nrecognition = \"\"\n",
        models.path(MODEL.0),
        models.runtime(),
        models.path("pdfium/libpdfium.so"),
    );
    std::fs::write(folder.path().join("ibid.toml"), config).unwrap();
    folder
}

fn sample() -> String {
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
    assert!(loaded.contains("loaded") && loaded.contains("1 documents, 2 pages"), "{loaded}");
    assert!(printed(&run(folder, &["ingest", &sample(), "--corpus", "tariffs"])).contains("unchanged"));
    let listed = printed(&run(folder, &["documents", "list", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        (&listed["status"], &listed["kind"], &listed["language"]),
        (&"ready".into(), &"hts_schedule".into(), &"en".into())
    );
    let shown = printed(&run(folder, &["documents", "show", "71.pdf"]));
    assert!(shown.contains("2 pages, 1 tables") && shown.contains("     1  table"), "{shown}");

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
    assert!(printed(&run(folder, &["search", "how long are records kept"])).contains("good.md, page 1"));
}

async fn content(folder: &Path) -> Vec<String> {
    let place = folder.join("ibid-data/store").to_string_lossy().into_owned();
    let store = Store::open(&place, HashMap::new(), MODEL.0, MODEL.1).await.unwrap();
    store.content().await.unwrap()
}

fn chapters() -> Vec<PathBuf> {
    match shared_data("trade_compliance/hts/pdf/chapter") {
        Some(folder) => {
            [84, 85, 90, 94].iter().map(|chapter| folder.join(format!("Chapter_{chapter}.pdf"))).collect()
        }
        None => vec![sample().into()],
    }
}

/// How often the load is killed: a sample, unless `IBID_KILLS` says more.
fn kills() -> u32 {
    std::env::var("IBID_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10)
}

#[tokio::test]
async fn a_load_that_is_killed_again_and_again_ends_as_if_it_never_was() {
    let chapters: Vec<String> = chapters().iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> =
        ["ingest", "--corpus", "tariffs"].into_iter().chain(chapters.iter().map(String::as_str)).collect();
    let undisturbed = folder();
    let began = Instant::now();
    printed(&run(undisturbed.path(), &arguments));
    let whole = began.elapsed();
    let expected = content(undisturbed.path()).await;
    assert!(expected.len() > chapters.len());

    let (mut killed, mut seed) = (0, 0x9e37_79b9_7f4a_7c15_u64);
    while killed < kills() {
        let folder = folder();
        // In one load several kills; the next load begins with an empty store.
        for _ in 0..kills().min(6) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let pause =
                whole.mul_f64(0.35).mul_f64((seed % 1000) as f64 / 1000.0) + Duration::from_millis(50);
            let mut child = ibid(folder.path(), &arguments)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
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
        }
        printed(&run(folder.path(), &arguments));
        let checked = printed(&run(folder.path(), &["fsck"]));
        assert!(checked.contains("the store is whole"), "after {killed} kills: {checked}");
        let found = content(folder.path()).await;
        let differing = found.iter().zip(&expected).find(|(found, expected)| found != expected);
        assert!(
            found == expected,
            "after {killed} kills the store differs: {} and {} lines, first {differing:?}",
            found.len(),
            expected.len()
        );
    }
}
