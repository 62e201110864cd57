//! Whatever happens to a source, and whenever the server is killed, the documents end as the files are, and nothing is loaded twice.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use ibid_knowledge::{BlobStore, ContentHash};
use ibid_testkit::RealStorage;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;

use super::{Place, configured, documents, embedder, sync};
use crate::run;
use crate::serve::Serving;

/// How many changes are made, and how often the server is killed.
fn size() -> (usize, usize) {
    let read =
        |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    (read("IBID_CHANGES", 60), read("IBID_KILLS", 3))
}

/// Makes random changes while the server is killed again and again, and compares what is left.
async fn follows(place: &Place, seed: u64) {
    let embedder = embedder().await;
    let folder = configured(&embedder.url(), place, "brake_percent = 100\n");
    let folder = folder.path();
    let (changes, kills) = size();
    let mut random = StdRng::seed_from_u64(seed);
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut half_written: Option<(String, String)> = None;
    let mut serving = Serving::start(folder);
    let mut number = 0;
    for change in 0..changes {
        if change % (changes / kills).max(1) == 1 {
            serving.child.kill().unwrap();
            serving.child.wait().unwrap();
            serving = Serving::start(folder);
        }
        tokio::time::sleep(Duration::from_millis(random.random_range(0..60))).await;
        if let Some((path, content)) = half_written.take() {
            place.write(&path, &content).await;
            files.insert(path, content);
        }
        let known: Vec<String> = files.keys().cloned().collect();
        let one = known.choose(&mut random).cloned();
        number += 1;
        let new_path = format!("{}/file {number}.md", ["a", "b", "c d"].choose(&mut random).unwrap());
        let text = format!(
            "# Rule {number}\n\nWhoever imports goods of class {number} keeps the records of them.\n"
        );
        match (random.random_range(0..100), one) {
            (0..30, _) | (_, None) => {
                place.write(&new_path, &text).await;
                files.insert(new_path, text);
            }
            (30..45, Some(path)) => {
                place.write(&path, &text).await;
                files.insert(path, text);
            }
            // To a new path, or over another file.
            (45..65, Some(path)) => {
                let to = if random.random_bool(0.7) {
                    new_path
                } else {
                    known.choose(&mut random).unwrap().clone()
                };
                if to != path {
                    let content = files.remove(&path).unwrap();
                    place.rename(&path, &to, &content).await;
                    files.insert(to, content);
                }
            }
            (65..80, Some(path)) => {
                place.remove(&path).await;
                files.remove(&path);
            }
            (80..87, Some(path)) => {
                let content = files[&path].clone();
                place.write(&new_path, &content).await;
                files.insert(new_path, content);
            }
            (87..93, Some(path)) => place.set_time(&path, &mut random),
            (_, Some(_)) => {
                let half = text[..text.len() / 2].to_owned();
                place.write(&new_path, &half).await;
                files.insert(new_path.clone(), half);
                half_written = Some((new_path, text));
            }
        }
    }
    if let Some((path, content)) = half_written {
        place.write(&path, &content).await;
        files.insert(path, content);
    }
    serving.child.kill().unwrap();
    serving.child.wait().unwrap();
    let report = sync(folder);
    assert_eq!((&report["outcome"]["status"], &report["waiting"]), (&json!("done"), &json!(0)), "{report}");

    let (here, mut searched) = (documents(folder), HashSet::new());
    let paths: Vec<&String> = here.iter().map(|(path, _, _)| path).collect();
    assert_eq!(paths, files.keys().collect::<Vec<_>>(), "seed {seed}: {report}");
    for (path, status, content) in &here {
        assert_eq!(*content, ContentHash::of(files[path].as_bytes()).to_string(), "seed {seed}: {path}");
        assert!(["ready", "duplicate"].contains(&status.as_str()), "seed {seed}: {path} is {status}");
        if status == "ready" {
            searched.insert(content.clone());
        }
    }
    let contents: HashSet<String> =
        files.values().map(|content| ContentHash::of(content.as_bytes()).to_string()).collect();
    assert_eq!(searched, contents, "seed {seed}: each content is searched");
    let fsck = String::from_utf8_lossy(&run(folder, &["fsck"]).stdout).into_owned();
    assert!(fsck.contains("the store is whole"), "seed {seed}: {fsck}");
    let again = sync(folder);
    assert_eq!(again["unchanged"], json!(files.len()), "{again}");

    // A step that a kill ended is done again, at most those of two loads at once. What was deleted and comes back is loaded anew.
    let mut embedded: HashMap<String, usize> = HashMap::new();
    for seen in embedder.seen() {
        for text in seen.body["input"].as_array().into_iter().flatten() {
            *embedded.entry(text.to_string()).or_default() += 1;
        }
    }
    let twice: usize = embedded.values().map(|times| times - 1).sum();
    assert!(twice <= 2 * (kills + 2), "seed {seed}: {twice} of {} texts were embedded again", embedded.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_followed_through_changes_and_kills() {
    follows(&Place::Folder(tempfile::tempdir().unwrap()), 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn object_storage_is_followed_through_changes_and_kills() {
    let storage = RealStorage::get();
    let options = storage.options().into_iter().collect();
    let store = BlobStore::at(&format!("s3://tests/sync-{}", std::process::id()), options).await.unwrap();
    follows(&Place::S3(store), 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webdav_is_followed_through_changes_and_kills() {
    follows(&Place::webdav("sync").await, 3).await;
}
