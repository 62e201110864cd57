//! Of documents that were deleted or replaced, no byte stays on the disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::evidence::{Index, Question};
use ibid_core::model::{Caller, Embedder, ModelError, Purpose, Vectors};
use ibid_knowledge::{ActiveLoads, LoadOutcome, MaintenanceSettings, Search, Store};

use super::stage::{Where, Words, everybody, find, ingestion, job, load};

/// The files below a folder that hold one of some words, or have one in their names.
fn holding(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, words));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for word in words {
            let in_file =
                bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()));
            if in_file || path.to_string_lossy().contains(word) {
                found.push(format!("{word} in {}", path.display()));
            }
        }
    }
    found
}

/// The files below a folder that were removed and are still on the disk, since this process has them open.
fn open_though_removed(folder: &Path) -> Vec<String> {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let files =
        open.filter_map(|file| Some(std::fs::read_link(file.ok()?.path()).ok()?.display().to_string()));
    files
        .filter(|file| file.starts_with(&folder.display().to_string()) && file.ends_with("(deleted)"))
        .collect()
}

#[tokio::test]
async fn of_documents_that_were_deleted_or_replaced_no_byte_is_left() {
    let place = Where::folder();
    let Where::Folder(folder) = &place else { unreachable!() };
    let settings = MaintenanceSettings {
        keep_versions: Duration::ZERO,
        most_fragments: 1,
        ..MaintenanceSettings::default()
    };
    let store = place.open_keeping(settings).await;
    let ingestion = ingestion(&store);
    let text = |word: &str| {
        format!("# About {word}\n\nThe {word} of the harbour is charged nine per cent of its worth.\n")
            .repeat(30)
    };
    for name in ["staying", "zanzibarite", "older"] {
        let loaded = load(&ingestion, job("rules", &format!("{name}.md")), text(name).as_bytes()).await;
        assert_eq!(loaded.outcome, LoadOutcome::Loaded);
    }
    load(&ingestion, job("rules", "quillonite-list.md"), text("quillonite").as_bytes()).await;
    load(&ingestion, job("rules", "older.md"), text("newerite").as_bytes()).await;
    store.maintain().await.unwrap();
    assert!(find(&store, &everybody(), "zanzibarite").await[0].text.contains("zanzibarite"));
    // What is merged into one file with others is deleted from within it.
    for document in store.documents(&everybody()).await.unwrap() {
        if ["zanzibarite.md", "quillonite-list.md"].contains(&document.source.as_str()) {
            assert!(store.delete(&everybody(), &document.id).await.unwrap());
        }
    }
    let gone = ["zanzibarite", "quillonite", "older of"];
    assert!(!holding(folder.path(), &gone).is_empty(), "they are there until they are erased");
    assert!(store.erase_deleted().await.unwrap());
    assert_eq!(holding(folder.path(), &gone), Vec::<String>::new());
    assert_eq!(open_though_removed(folder.path()), Vec::<String>::new());
    assert!(!store.erase_deleted().await.unwrap(), "there is nothing more to do");

    assert!(
        find(&store, &everybody(), "quillonite").await.iter().all(|found| !found.text.contains("quillonite"))
    );
    assert!(find(&store, &everybody(), "newerite").await[0].text.contains("newerite"));
    assert!(find(&store, &everybody(), "staying").await[0].text.contains("staying"));
    let report = store.fsck(false, &ActiveLoads::default()).await.unwrap();
    assert!(report.is_clean(), "{report:?}");
}

/// A model that takes so long over a question that what is searched is replaced and erased meanwhile, the first time.
struct Slow {
    /// Another process, as it were.
    other: Arc<Store>,
    asked: AtomicUsize,
}

#[async_trait]
impl Embedder for Slow {
    fn name(&self) -> &str {
        Words.name()
    }

    fn dimensions(&self) -> usize {
        Words.dimensions()
    }

    async fn embed(&self, caller: &Caller, purpose: Purpose, texts: &[&str]) -> Result<Vectors, ModelError> {
        if self.asked.fetch_add(1, Ordering::Relaxed) == 0 {
            let ingestion = ingestion(&self.other);
            load(&ingestion, job("rules", "harbour.md"), b"# Harbour\n\nThe newer due is nine per cent.\n")
                .await;
            self.other.erase_deleted().await.unwrap();
        }
        Words.embed(caller, purpose, texts).await
    }
}

#[tokio::test]
async fn a_search_goes_on_when_the_version_that_it_reads_is_erased() {
    let place = Where::folder();
    let settings = MaintenanceSettings { keep_versions: Duration::ZERO, ..MaintenanceSettings::default() };
    let first = place.open_keeping(settings).await;
    load(&ingestion(&first), job("rules", "harbour.md"), b"# Harbour\n\nThe older due is five per cent.\n")
        .await;
    // It has read nothing yet that it could go on from.
    let store = place.open().await;
    let slow = Arc::new(Slow { other: first, asked: AtomicUsize::new(0) });
    let search = Search::new(store, slow.clone());
    let found = search.retrieve(&everybody(), &Question::new("due of the harbour")).await.unwrap();
    assert!(found.passages[0].text.contains("newer"), "{found:?}");
    assert_eq!(slow.asked.load(Ordering::Relaxed), 2, "the search began again");
}
