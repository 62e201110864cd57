//! What a search promises, with real models on real documents: a reranker that is asked, a floor, a scale that is found
//! out, and neighbours over the end of a page.

use std::sync::Arc;

use ibid_core::Corpus;
use ibid_core::evidence::{Index, Passage, Question};
use ibid_core::model::Reranker;
use ibid_models::{LocalReranker, Runtime};
use ibid_testkit::RealModels;

use crate::library::search;
use crate::stage::scope;

fn corpus(name: &str) -> Corpus {
    name.parse().unwrap()
}

async fn found(index: &dyn Index, within: &str, question: &Question) -> Vec<Passage> {
    index.retrieve(&scope().within([corpus(within)]), question).await.unwrap().passages
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reranker_that_is_configured_has_the_last_word() {
    let models = RealModels::find();
    let runtime = Runtime::load(&models.runtime()).unwrap();
    let reranker: Arc<dyn Reranker> =
        Arc::new(LocalReranker::load(&runtime, &models.path("reranker"), None).unwrap());
    let (plain, reranked) = (search().await, search().await.with_reranker(Some(reranker)));
    let mut question = Question::new("How long do records have to be kept?");
    question.neighbours = 0;
    let scores = |found: &[Passage]| found.iter().map(|passage| passage.score).collect::<Vec<_>>();
    let (by_search, by_reranker) =
        (found(&plain, "policies", &question).await, found(&reranked, "policies", &question).await);
    assert_ne!(scores(&by_search), scores(&by_reranker));
    let sorted = scores(&by_reranker).is_sorted_by(|one, other| one >= other);
    assert!(sorted && !by_reranker.is_empty(), "{:?}", scores(&by_reranker));
    question.reranked = 0;
    assert_eq!(scores(&found(&reranked, "policies", &question).await), scores(&by_search));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_floor_leaves_out_what_does_not_fit_and_keeps_what_holds_the_code() {
    let search = search().await;
    let mut question = Question::new("My grandmother bakes the best cakes in town");
    assert!(!found(&search, "policies", &question).await.is_empty());
    question.floor = 0.5;
    assert_eq!(found(&search, "policies", &question).await, []);
    question.phrasings = vec!["8539.52.00".to_owned()];
    let by_code = found(&search, "trade", &question).await;
    assert!(by_code.iter().any(|passage| passage.text.contains("8539.52.00")), "{by_code:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calibration_tells_questions_from_remarks() {
    let search = search().await;
    let calibration = search.calibrate().await.unwrap();
    assert!(
        calibration.now.related > calibration.now.unrelated && calibration.passages >= 10,
        "{calibration:?}"
    );
    let scope = scope();
    for question in
        ["How must imported articles be marked?", "\u{bf}Qu\u{e9} obligaciones hay de conservar documentos?"]
    {
        let relevance = search.relevance(&scope, question).await.unwrap().unwrap();
        assert!(relevance > 0.25, "{question}: {relevance} by {calibration:?}");
    }
    for remark in
        ["I had pancakes with my cousin this morning", "Anoche so\u{f1}\u{e9} con un drag\u{f3}n azul"]
    {
        let relevance = search.relevance(&scope, remark).await.unwrap().unwrap();
        assert!(relevance < 0.25, "{remark}: {relevance} by {calibration:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_on_the_next_page_comes_along_with_its_own_page() {
    let search = search().await;
    let mut question = Question::new("8539.52.00 LED lamps");
    question.top = 1;
    let passages = found(&search, "trade", &question).await;
    let pages: Vec<u32> = passages.iter().map(|passage| passage.page).collect();
    assert_eq!(pages, [3, 2], "the page of the hit, and the one before it");
    assert!(passages[0].text.contains("8539.52.00") && passages[1].text.contains("8539.49.00.40"));
    question.neighbours = 0;
    assert_eq!(found(&search, "trade", &question).await.len(), 1);
}
