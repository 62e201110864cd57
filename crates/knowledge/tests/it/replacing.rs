//! Readers see the old version or the new one, never a mixture.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ibid_core::evidence::Question;
use ibid_knowledge::ActiveLoads;

use crate::stage::{Where, everybody, ingestion, job, load, search};

/// So many chunks does each version have.
const CHUNKS: usize = 12;

fn version(number: usize) -> String {
    (0..CHUNKS)
        .map(|chunk| {
            format!(
                "version{number} of the rules, part{chunk}, {}\n\n",
                "with many words to fill the part ".repeat(5)
            )
        })
        .collect()
}

async fn searches_see_one_version_whole(place: Where, replacements: usize, searches: usize) {
    let store = place.open().await;
    let ingestion = ingestion(&store);
    let mut job = job("rules", "rules.txt");
    job.settings.size.characters = 210;
    job.settings.size.overlap = 0;
    load(&ingestion, job.clone(), version(0).as_bytes()).await;
    let over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (store, over) = (store.clone(), over.clone());
            tokio::spawn(async move {
                let mut done = 0;
                while done < searches / 4 || !over.load(Ordering::Relaxed) {
                    let mut question = Question::new("rules part words");
                    question.top = 40;
                    let found = search(&store).hits(&everybody(), &question).await.unwrap();
                    let versions: BTreeSet<&str> =
                        found.iter().map(|passage| passage.version.as_str()).collect();
                    let chunks: BTreeSet<u32> = found.iter().map(|passage| passage.chunks.0).collect();
                    assert_eq!(versions.len(), 1, "a mixture of versions");
                    assert_eq!((found.len(), chunks.len()), (CHUNKS, CHUNKS), "a part of a version");
                    done += 1;
                }
                done
            })
        })
        .collect();
    for number in 1..=replacements {
        load(&ingestion, job.clone(), version(number).as_bytes()).await;
        if number % 10 == 0 {
            store.maintain().await.unwrap();
        }
    }
    over.store(true, Ordering::Relaxed);
    let mut done = 0;
    for reader in readers {
        done += reader.await.expect("a reader saw only whole versions");
    }
    assert!(done >= searches, "only {done} searches");
    let report = store.fsck(false, &ActiveLoads::default()).await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.chunks, CHUNKS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_folder_1000_searches_see_one_version_whole_while_it_is_replaced_100_times() {
    Box::pin(searches_see_one_version_whole(Where::folder(), 100, 1000)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_object_storage_searches_see_one_version_whole_while_it_is_replaced() {
    // A sample, unless `IBID_REPLACEMENTS` says more.
    let asked = std::env::var("IBID_REPLACEMENTS").ok().and_then(|number| number.parse().ok());
    let replacements: usize = asked.unwrap_or(20);
    Box::pin(searches_see_one_version_whole(Where::storage("replacing"), replacements, replacements * 10))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_that_load_at_once_both_get_through() {
    let place = Where::folder();
    let (one, two) = (place.open().await, place.open().await);
    let (first, second) = (ingestion(&one), ingestion(&two));
    // The same document for the first time, and others beside it.
    for round in 0..5 {
        let text = |who: &str| format!("What {who} says in round {round} about the rules of entry.");
        let (mine, yours) = (text("one"), text("two"));
        tokio::join!(
            load(&first, job("c", &format!("shared-{round}.txt")), mine.as_bytes()),
            load(&second, job("c", &format!("shared-{round}.txt")), yours.as_bytes()),
        );
        let (mine, yours) = (format!("{mine} alone"), format!("{yours} alone"));
        tokio::join!(
            load(&first, job("c", &format!("one-{round}.txt")), mine.as_bytes()),
            load(&second, job("c", &format!("two-{round}.txt")), yours.as_bytes()),
        );
    }
    let store = place.open().await;
    let documents = store.documents(&everybody()).await.unwrap();
    assert_eq!(documents.len(), 15);
    // An engine lets one run at a time load a document. Without one the ledger may tell of the other load, and
    // originals may be left; what is searched is one version whole with its original, and a repair settles
    // the rest.
    let repaired = store.fsck(true, &ActiveLoads::default()).await.unwrap();
    assert!(repaired.problems.iter().all(|problem| problem.repaired), "{repaired:?}");
    let report = store.fsck(false, &ActiveLoads::default()).await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.chunks, 15);
}
