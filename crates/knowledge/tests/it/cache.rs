//! The table of answers that may be given again: kept, found, forgotten, bounded, and checked against the documents.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ibid_core::cache::{AnswerCache, CacheKey, CacheQuestion, CachedAnswer, EvidencePiece};
use ibid_core::{AnswerMetadata, RunId};
use ibid_knowledge::{ActiveLoads, CachedAnswers, MaintenanceSettings, Store};

use crate::stage::{Where, Words, corpus, everybody, find, ingestion, job, load};

const DAY: u64 = 24 * 3600 * 1000;

fn key() -> CacheKey {
    let text = |text: &str| text.to_owned();
    CacheKey { assistant: text("desk"), version: text("1"), format: text("text"), language: text("en") }
}

fn question(text: &str) -> CacheQuestion {
    CacheQuestion { text: text.to_owned(), form: text.to_lowercase() }
}

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn answer(evidence: Vec<EvidencePiece>) -> CachedAnswer {
    CachedAnswer {
        run: RunId::new(),
        question: "How long?".to_owned(),
        text: "Five years [1].".to_owned(),
        metadata: AnswerMetadata::default(),
        evidence,
        generation: 0,
        created: now(),
        expires: now() + DAY,
    }
}

async fn with_rules(store: &Arc<Store>) -> Vec<EvidencePiece> {
    load(&ingestion(store), job("rules", "rules.md"), b"# Rules\n\nInvoices are kept for five years.").await;
    find(store, &everybody(), "invoices").await.iter().map(EvidencePiece::from).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_found_by_its_question_in_its_scope() {
    let place = Where::folder();
    let store = place.open().await;
    let evidence = with_rules(&store).await;
    let cache = CachedAnswers::new(store.clone(), Arc::new(Words));
    let (scope, how_long) = (everybody(), question("How long are invoices kept?"));
    assert_eq!(cache.find(&scope, &key(), &how_long).await.unwrap(), None);
    let kept = answer(evidence.clone());
    cache.keep(&scope, &key(), &how_long, kept.clone()).await.unwrap();
    let found = cache.find(&scope, &key(), &how_long).await.unwrap().unwrap();
    assert_eq!(found.answer, kept);
    assert!(found.similarity > 0.99);

    let other = question("How long are receipts kept?");
    assert_eq!(cache.find(&scope, &key(), &other).await.unwrap(), None);
    let similar = cache.find_similar(&scope, &key(), &other, 0.5).await.unwrap();
    assert_eq!(similar.len(), 1);
    assert!(cache.find_similar(&scope, &key(), &other, 0.999).await.unwrap().is_empty());
    for elsewhere in [scope.clone().within([corpus("rules")]), ibid_core::Scope::of("other".parse().unwrap())]
    {
        assert_eq!(cache.find(&elsewhere, &key(), &how_long).await.unwrap(), None, "{elsewhere:?}");
        assert!(cache.find_similar(&elsewhere, &key(), &other, 0.1).await.unwrap().is_empty());
    }
    let another = CacheKey { version: "2".to_owned(), ..key() };
    assert_eq!(cache.find(&scope, &another, &how_long).await.unwrap(), None);

    // A later answer takes the place of an earlier one; one that is too old is none.
    let late = CachedAnswer { expires: now() - 1, ..answer(evidence) };
    cache.keep(&scope, &key(), &how_long, late).await.unwrap();
    assert_eq!(cache.find(&scope, &key(), &how_long).await.unwrap(), None);
    store.maintain().await.unwrap();
    let report = store.fsck(false, &ActiveLoads::default()).await.unwrap();
    assert_eq!((report.answers, report.is_clean()), (0, true), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn fsck_finds_and_removes_what_rests_on_another_content() {
    let place = Where::folder();
    let store = place.open().await;
    let evidence = with_rules(&store).await;
    let cache = CachedAnswers::new(store.clone(), Arc::new(Words));
    cache.keep(&everybody(), &key(), &question("kept"), answer(evidence.clone())).await.unwrap();
    // As if the process had ended between the commit of a new content and that of the cache.
    let before = EvidencePiece { version: "another content".to_owned(), ..evidence[0].clone() };
    cache.keep(&everybody(), &key(), &question("left"), answer(vec![before])).await.unwrap();
    assert_eq!(cache.find(&everybody(), &key(), &question("left")).await.unwrap(), None, "it is not given");
    let report = store.fsck(false, &ActiveLoads::default()).await.unwrap();
    assert_eq!((report.answers, report.problems.len()), (2, 1), "{report:?}");
    let report = store.fsck(true, &ActiveLoads::default()).await.unwrap();
    assert!(report.problems[0].repaired, "{report:?}");
    let report = store.fsck(false, &ActiveLoads::default()).await.unwrap();
    assert_eq!((report.answers, report.is_clean()), (1, true), "{report:?}");
    assert!(cache.find(&everybody(), &key(), &question("kept")).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_of_too_many_answers_are_forgotten() {
    let place = Where::folder();
    let maintenance =
        MaintenanceSettings { most_answers: 10, most_fragments: 8, ..MaintenanceSettings::default() };
    let store = place.open_keeping(maintenance).await;
    let evidence = with_rules(&store).await;
    let cache = CachedAnswers::new(store.clone(), Arc::new(Words));
    for number in 0..30 {
        let kept = CachedAnswer { created: number, ..answer(evidence.clone()) };
        cache.keep(&everybody(), &key(), &question(&format!("question {number}")), kept).await.unwrap();
    }
    store.maintain().await.unwrap();
    let report = store.fsck(false, &ActiveLoads::default()).await.unwrap();
    assert_eq!((report.answers, report.is_clean()), (10, true), "{report:?}");
    let found = async |number: u32| {
        let question = question(&format!("question {number}"));
        cache.find(&everybody(), &key(), &question).await.unwrap().is_some()
    };
    assert!(!found(19).await && found(20).await && found(29).await);
}
