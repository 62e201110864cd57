//! The power fails: what the disk was not asked to keep is gone, or is there in part. Whatever was said to be loaded is there, and
//! everything else can be loaded again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ibid_knowledge::{ActiveLoads, Disk, LoadOutcome, Store};

use super::stage::{Where, everybody, find, ingestion, job, load};

/// A disk that remembers, for each moment, which files were safe. Files never change once they are there, so a link is a copy.
#[derive(Debug)]
struct RememberingDisk {
    store: PathBuf,
    moments: PathBuf,
    /// For each moment, whether one file became safe by itself; it is whole then, or not there.
    by_itself: Mutex<Vec<bool>>,
}

impl RememberingDisk {
    fn moment(&self, number: usize) -> PathBuf {
        self.moments.join(number.to_string())
    }
}

impl Disk for RememberingDisk {
    fn sync(&self, folder: &Path) -> io::Result<()> {
        let mut moments = self.by_itself.lock().unwrap();
        link_all(folder, &self.moment(moments.len()))?;
        moments.push(false);
        Ok(())
    }

    fn is_safe(&self, file: &Path) {
        let mut moments = self.by_itself.lock().unwrap();
        let next = self.moment(moments.len());
        if let Some(last) = moments.len().checked_sub(1) {
            link_all(&self.moment(last), &next).unwrap();
        }
        let safe = next.join(file.strip_prefix(&self.store).unwrap());
        std::fs::create_dir_all(safe.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&safe);
        std::fs::hard_link(file, safe).unwrap();
        moments.push(true);
    }
}

fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            link_all(&entry.path(), &to)?;
        } else if let Err(error) = std::fs::hard_link(entry.path(), to)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
    }
    Ok(())
}

/// Adds what a later moment has and this one has not, as a disk may have written it by then: in part, or as a name only.
fn add_torn(later: &Path, now: &Path, torn: &mut impl FnMut() -> u64) {
    std::fs::create_dir_all(now).unwrap();
    for entry in std::fs::read_dir(later).unwrap().map(Result::unwrap) {
        let to = now.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            add_torn(&entry.path(), &to, torn);
        } else if !to.exists() {
            let bytes = std::fs::read(entry.path()).unwrap();
            match torn() % 4 {
                0 => {}
                1 => std::fs::write(to, []).unwrap(),
                2 => std::fs::write(to, &bytes[..bytes.len() / 2]).unwrap(),
                _ => std::fs::write(to, bytes).unwrap(),
            }
        }
    }
}

const TEXTS: [(&str, &str); 3] = [
    ("tariff.md", "# Tariff\n\nLamps of copper are charged four per cent of their worth.\n"),
    ("rules.md", "# Rules\n\nA lamp without a shade is no lamp in the sense of these rules.\n"),
    ("tariff.md", "# Tariff\n\nLamps of copper are free since the first of May.\n"),
];

async fn open(folder: &Path) -> Arc<Store> {
    Arc::new(Store::open(&folder.to_string_lossy(), Default::default(), "words", 64).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_was_said_to_be_loaded_survives_a_loss_of_power() {
    let folder = tempfile::tempdir().unwrap();
    let (live, moments) = (folder.path().join("live"), folder.path().join("moments"));
    std::fs::create_dir_all(&live).unwrap();
    let live = live.canonicalize().unwrap();
    let disk = Arc::new(RememberingDisk { store: live.clone(), moments, by_itself: Mutex::default() });
    let store = Store::open_on_disk(&live.to_string_lossy(), "words", 64, disk.clone()).await.unwrap();
    let store = Arc::new(store);
    // After which moment each load was said to be done.
    let mut said = Vec::new();
    for (name, text) in TEXTS {
        assert_eq!(
            load(&ingestion(&store), job("rules", name), text.as_bytes()).await.outcome,
            LoadOutcome::Loaded
        );
        said.push(disk.by_itself.lock().unwrap().len() - 1);
    }
    store.maintain().await.unwrap();
    store.erase_deleted().await.unwrap();
    let whole = store.content(&everybody()).await.unwrap();
    let by_itself = disk.by_itself.lock().unwrap().clone();
    let last = by_itself.len();
    assert!(last > 30, "{last} moments");

    let mut seed = 7_u64;
    let mut torn = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    // A few moments, unless all are asked for.
    let every = if std::env::var_os("IBID_ALL_MOMENTS").is_some() { 1 } else { 5 };
    for moment in (0..last).filter(|moment| moment % every == 0 || said.contains(moment)) {
        // Exactly what was safe; and the same with parts of what came next.
        for with_torn in [false, true] {
            let now = folder.path().join(format!("after-{moment}-{with_torn}"));
            link_all(&disk.moment(moment), &now).unwrap();
            if with_torn && by_itself.get(moment + 1) == Some(&false) {
                add_torn(&disk.moment(moment + 1), &now, &mut torn);
            }
            let store = open(&now).await;
            let report = store.fsck(true, &ActiveLoads::default()).await;
            let report = report.unwrap_or_else(|error| panic!("after {moment}: {error}"));
            let lost: Vec<_> =
                report.problems.iter().filter(|problem| problem.what.contains("damaged")).collect();
            assert!(with_torn || lost.is_empty(), "after {moment}: {lost:?}");
            let done = said.iter().filter(|said| **said <= moment).count();
            for (name, text) in TEXTS[..done].iter().rev().take(1) {
                let found = find(&store, &everybody(), text).await;
                let words = text.lines().last().unwrap();
                assert!(
                    found.iter().any(|found| found.text.contains(words)),
                    "after {moment}, {name} is lost"
                );
            }
            for (name, text) in TEXTS {
                load(&ingestion(&store), job("rules", name), text.as_bytes()).await;
            }
            let report = store.fsck(true, &ActiveLoads::default()).await.unwrap();
            assert_eq!(store.content(&everybody()).await.unwrap(), whole, "after {moment}: {report:?}");
            let report = store.fsck(false, &ActiveLoads::default()).await.unwrap();
            assert!(report.is_clean(), "after {moment}: {report:?}");
            std::fs::remove_dir_all(&now).unwrap();
        }
    }
}

#[tokio::test]
async fn a_broken_original_is_found_and_healed_by_loading_it_again() {
    let place = Where::folder();
    let Where::Folder(folder) = &place else { unreachable!() };
    let store = place.open().await;
    let (name, text) = TEXTS[0];
    load(&ingestion(&store), job("rules", name), text.as_bytes()).await;
    let originals = folder.path().join("originals");
    let original = std::fs::read_dir(&originals).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&original, "something else").unwrap();
    let report = store.fsck(true, &ActiveLoads::default()).await.unwrap();
    assert_eq!(report.problems.len(), 1, "{report:?}");
    assert!(report.problems[0].what.contains("is damaged; load its document again"), "{report:?}");
    let again = load(&ingestion(&store), job("rules", name), text.as_bytes()).await;
    assert_eq!(again.outcome, LoadOutcome::Unchanged);
    assert!(store.fsck(false, &ActiveLoads::default()).await.unwrap().is_clean());
    assert_eq!(std::fs::read(&original).unwrap(), text.as_bytes());
}

#[tokio::test]
async fn a_broken_index_is_found_and_made_anew() {
    let place = Where::folder();
    let Where::Folder(folder) = &place else { unreachable!() };
    let store = place.open().await;
    for (name, text) in TEXTS {
        load(&ingestion(&store), job("rules", name), text.as_bytes()).await;
    }
    store.maintain().await.unwrap();
    drop(store);
    for index in std::fs::read_dir(folder.path().join("chunks.lance/_indices")).unwrap() {
        for file in std::fs::read_dir(index.unwrap().path()).unwrap() {
            std::fs::write(file.unwrap().path(), b"broken").unwrap();
        }
    }
    let store = place.open().await;
    let report = store.fsck(true, &ActiveLoads::default()).await.unwrap();
    assert!(
        report.problems.iter().any(|problem| problem.what.contains("indexes of the table chunks")),
        "{report:?}"
    );
    assert!(store.fsck(false, &ActiveLoads::default()).await.unwrap().is_clean());
    assert!(find(&store, &everybody(), "copper lamps").await[0].text.contains("free since"));
}
