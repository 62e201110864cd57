//! From a file to evidence, and away again.

use ibid_core::evidence::{Index, Question};
use ibid_core::model::{Caller, Embedder, Purpose};
use ibid_core::{RunId, Tenant};
use ibid_knowledge::{ActiveLoads, ChunkSize, DocumentStatus, LoadOutcome, LoadRequest, MaintenanceSettings};

use crate::stage::{Where, Words, everybody, find, ingestion, job, load, sample, search};

async fn a_schedule_is_loaded_found_replaced_and_deleted(place: Where) {
    let store = place.open().await;
    let ingestion = ingestion(&store);
    let pdf = std::fs::read(sample("hts-chapter-85-pages-70-71.pdf")).unwrap();
    let summary = load(&ingestion, job("tariffs", "chapter-85.pdf"), &pdf).await;
    assert_eq!(summary.outcome, LoadOutcome::Loaded, "{summary:?}");
    assert_eq!((summary.pages, summary.skipped, summary.tables), (2, 0, 1));

    // A code is found by itself, by its beginning, and however it is written.
    for question in ["What is the rate of 8539.22.80.40?", "8539228040", "8539.22.8040"] {
        let found = find(&store, &everybody(), question).await;
        assert!(
            found[0].text.contains("8539.22.80.40 | 40 | Of a power 15 W or more"),
            "{question}: {}",
            found[0].text
        );
        assert_eq!(found[0].page, 1);
        assert!(
            found[0].text.starts_with("Heading/ Subheading | Stat. Suf-fix | Article Description"),
            "{}",
            found[0].text
        );
        assert!(!found[0].places.is_empty());
        assert!(found[0].path[0].starts_with("8539 Electrical filament"), "{:?}", found[0].path);
    }
    let evidence =
        search(&store).retrieve(&everybody(), &Question::new("Christmas-tree lamps")).await.unwrap();
    assert!(evidence.passages.iter().all(|passage| passage.chunks.0 <= passage.chunks.1));

    // Again: nothing to do. Under another name: nothing to do either.
    let again = load(&ingestion, job("tariffs", "chapter-85.pdf"), &pdf).await;
    assert_eq!(again.outcome, LoadOutcome::Unchanged);
    let copy = load(&ingestion, job("tariffs", "copy.pdf"), &pdf).await;
    assert_eq!(copy.outcome, LoadOutcome::Duplicate { of: "chapter-85.pdf".to_owned() });

    let documents = store.documents(&everybody()).await.unwrap();
    let stood: Vec<DocumentStatus> = documents.iter().map(|document| document.state.status()).collect();
    assert_eq!(stood, [DocumentStatus::Ready, DocumentStatus::Duplicate]);
    assert!(store.delete(&everybody(), &documents[1].id).await.unwrap());

    // A new version takes its place, for words and for meaning.
    let text = b"LED lamps are now free of duty under heading 9999.10, says the new schedule of this year.";
    let mut newer = job("tariffs", "chapter-85.pdf");
    newer.source = "chapter-85.txt".to_owned();
    assert_eq!(load(&ingestion, newer, text).await.outcome, LoadOutcome::Loaded);
    let found = find(&store, &everybody(), "8539.22.80.40").await;
    assert!(found.iter().all(|passage| passage.text.contains("9999.10")), "{found:?}");
    store.maintain().await.unwrap();
    let report = store.fsck(false, &ActiveLoads::default()).await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.documents, report.chunks, report.originals), (1, 1, 1));

    let document = store.documents(&everybody()).await.unwrap().remove(0);
    assert!(store.delete(&everybody(), &document.id).await.unwrap());
    assert!(find(&store, &everybody(), "LED lamps").await.is_empty());
    let report = store.fsck(false, &ActiveLoads::default()).await.unwrap();
    assert_eq!(
        (report.documents, report.chunks, report.originals, report.problems.len()),
        (0, 0, 0, 0),
        "{report:?}"
    );
}

#[tokio::test]
async fn in_a_folder_a_schedule_is_loaded_found_replaced_and_deleted() {
    Box::pin(a_schedule_is_loaded_found_replaced_and_deleted(Where::folder())).await;
}

#[tokio::test]
async fn a_store_of_a_later_format_is_neither_read_nor_written_nor_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let chunks = folder.path().join("chunks.lance");
    let place = Where::Folder(folder);
    let store = place.open().await;
    load(&ingestion(&store), job("tariffs", "lamps.txt"), b"The rate for such lamps is 2%, as of this year.")
        .await;
    let mut table = lance::Dataset::open(chunks.to_str().unwrap()).await.unwrap();
    assert_eq!(table.config().get("ibid.format").map(String::as_str), Some("1"));
    table.update_config([("ibid.format", "2")]).await.unwrap();

    let store = place.open().await;
    let search = search(&store);
    let found = search.retrieve(&everybody(), &Question::new("What is the rate for lamps?")).await;
    let expected = "the store has format 2, and this version knows 1; use a newer ibid";
    assert!(found.unwrap_err().to_string().contains(expected));
    let checked = store.fsck(true, &ActiveLoads::default()).await;
    assert!(checked.unwrap_err().to_string().contains(expected));
    let ingestion = ingestion(&store);
    let mut request = job("tariffs", "more.txt");
    request.content =
        Some(ingestion.keep(b"The rate for other lamps is 3%, as of this year.").await.unwrap());
    let loaded = ingestion.load(request).await;
    assert!(loaded.is_err_and(|error| error.to_string().contains(expected)));
}

#[tokio::test]
async fn on_object_storage_a_schedule_is_loaded_found_replaced_and_deleted() {
    Box::pin(a_schedule_is_loaded_found_replaced_and_deleted(Where::storage("loading"))).await;
}

#[tokio::test]
async fn what_cannot_be_read_is_in_the_ledger_and_never_ready() {
    let place = Where::folder();
    let store = place.open().await;
    let ingestion = ingestion(&store);
    let broken = load(&ingestion, job("c", "broken.pdf"), b"%PDF-1.7 and then nothing").await;
    assert!(matches!(broken.outcome, LoadOutcome::Failed { .. }), "{broken:?}");
    let empty = load(&ingestion, job("c", "empty.txt"), b"  \n ").await;
    assert_eq!(empty.outcome, LoadOutcome::Empty);
    let zip = load(&ingestion, job("c", "files.zip"), b"PK\x03\x04\x00\x00\x00\x00\x00").await;
    assert!(
        matches!(&zip.outcome, LoadOutcome::Failed { why } if why.contains("no format that can be read")),
        "{zip:?}"
    );
    let documents = store.documents(&everybody()).await.unwrap();
    let stood: Vec<(&str, DocumentStatus)> =
        documents.iter().map(|document| (document.source.as_str(), document.state.status())).collect();
    assert_eq!(
        stood,
        [
            ("broken.pdf", DocumentStatus::Failed),
            ("empty.txt", DocumentStatus::Empty),
            ("files.zip", DocumentStatus::Failed)
        ]
    );
    assert!(documents[0].state.problem().unwrap().contains("damaged"));
    assert!(store.fsck(false, &ActiveLoads::default()).await.unwrap().is_clean());
}

#[tokio::test]
async fn a_version_that_cannot_be_read_leaves_the_one_before_it() {
    let place = Where::folder();
    let store = place.open().await;
    let ingestion = ingestion(&store);
    load(&ingestion, job("c", "rules.pdf.txt"), b"Records are kept for five years after entry.").await;
    let mut newer = job("c", "rules.pdf.txt");
    newer.source = "rules.pdf".to_owned();
    load(&ingestion, newer, b"%PDF-1.7 cut off").await;
    assert_eq!(find(&store, &everybody(), "records five years").await.len(), 1);
    let document = store.documents(&everybody()).await.unwrap().remove(0);
    assert!(document.state.is_ready());
    assert!(document.state.problem().unwrap().contains("a newer version could not be read"));
    assert!(store.fsck(false, &ActiveLoads::default()).await.unwrap().is_clean());
}

#[tokio::test]
async fn neighbours_are_joined_in_reading_order_and_a_named_document_introduces_itself() {
    let place = Where::folder();
    let store = place.open().await;
    let mut job = job("c", "long.txt");
    job.settings.size.characters = 200;
    job.settings.size.overlap = 40;
    let text: String = (1..=20)
        .map(|number| {
            format!("Section {number} says what importers of kind number{number} must keep and show.\n\n")
        })
        .collect();
    load(&ingestion(&store), job.clone(), text.as_bytes()).await;
    let mut question = Question::new("number17");
    question.top = 1;
    question.introduce = vec![job.document()];
    let evidence = search(&store).retrieve(&everybody(), &question).await.unwrap();
    let [passage, beginning] = evidence.passages.as_slice() else { panic!("two passages: {evidence:?}") };
    assert_eq!(passage.chunks.1 - passage.chunks.0, 2);
    let places: Vec<usize> =
        [15, 17, 19].iter().filter_map(|number| passage.text.find(&format!("number{number} "))).collect();
    assert!(places.len() >= 2 && places.is_sorted(), "{}", passage.text);
    assert_eq!(passage.text.matches("Section 17 says").count(), 1, "{}", passage.text);
    assert!(beginning.text.starts_with("Section 1 says"));
    assert_eq!(beginning.chunks, (0, 2));
}

#[tokio::test]
async fn a_store_of_another_model_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_string_lossy().into_owned();
    let store = std::sync::Arc::new(
        ibid_knowledge::Store::open(&place, Default::default(), "words", 64).await.unwrap(),
    );
    load(&ingestion(&store), job("c", "a.txt"), b"Some words to be found later on.").await;
    let other = std::sync::Arc::new(
        ibid_knowledge::Store::open(&place, Default::default(), "other", 64).await.unwrap(),
    );
    let error = search(&other).hits(&everybody(), &Question::new("words")).await.unwrap_err();
    assert!(error.to_string().contains("the embedding model words, and other is configured"), "{error}");
}

#[tokio::test]
async fn a_copy_of_what_was_replaced_is_said_to_be_searched_no_more() {
    let place = Where::folder();
    let store = place.open().await;
    let ingestion = ingestion(&store);
    let old = b"Importers keep their records of entry for five years after the goods came in.";
    let new = b"Importers keep their records of entry for ten years after the goods came in.";
    load(&ingestion, job("rules", "first.txt"), old).await;
    let copy = load(&ingestion, job("rules", "second.txt"), old).await;
    assert_eq!(copy.outcome, LoadOutcome::Duplicate { of: "first.txt".to_owned() });
    load(&ingestion, job("rules", "first.txt"), new).await;
    let documents = store.documents(&everybody()).await.unwrap();
    assert_eq!(documents[1].state.status(), DocumentStatus::Failed, "{:?}", documents[1]);
    let again = load(&ingestion, job("rules", "second.txt"), old).await;
    assert_eq!(again.outcome, LoadOutcome::Loaded);
    assert!(store.fsck(false, &ActiveLoads::default()).await.unwrap().is_clean());
    assert_eq!(find(&store, &everybody(), "five years").await[0].source, "second.txt");
}

#[tokio::test]
async fn an_abandoned_load_leaves_what_was_there() {
    let place = Where::folder();
    let store = place.open().await;
    let ingestion = ingestion(&store);
    let text = b"Importers keep their records of entry for five years after the goods came in.";
    let mut first = job("rules", "first.txt");
    load(&ingestion, first.clone(), text).await;
    let before = store.content(&everybody()).await.unwrap();
    first.content = Some(ingestion.keep(b"Another content that was never read.").await.unwrap());
    assert!(!ingestion.rollback(&first, RunId::new()).await.unwrap());
    assert_eq!(store.content(&everybody()).await.unwrap(), before);
    assert!(store.fsck(false, &ActiveLoads::default()).await.unwrap().is_clean());
}

#[tokio::test]
async fn what_waits_to_be_loaded_is_listed_and_leaves_nothing_when_it_is_stopped() {
    let place = Where::folder();
    let store = place.open().await;
    let ingestion = ingestion(&store);
    let scope = everybody();
    let mark_pending = async |job: &LoadRequest| {
        ingestion.mark_pending(job, 9).await.unwrap();
        store.documents(&scope).await.unwrap().into_iter().next()
    };
    let text = b"Importers keep their records of entry for five years after the goods came in.";

    // A file and an address that nobody knows yet: they are listed, and gone when they are stopped.
    let mut file = job("rules", "first.txt");
    let address = file.clone();
    file.content = Some(ingestion.keep(text).await.unwrap());
    for waiting in [&file, &address] {
        let listed = mark_pending(waiting).await.unwrap();
        assert_eq!(
            (listed.state.status(), listed.content),
            (DocumentStatus::Loading, waiting.content.clone().unwrap_or_default())
        );
        assert!(!ingestion.rollback(waiting, RunId::new()).await.unwrap());
        assert_eq!(store.documents(&scope).await.unwrap(), []);
        assert!(store.fsck(false, &ActiveLoads::default()).await.unwrap().is_clean());
    }

    // What is searched stays so while another content waits, and needs no other if it is the same, whatever else is new.
    mark_pending(&file).await;
    assert_eq!(load(&ingestion, file.clone(), text).await.outcome, LoadOutcome::Loaded);
    let before = store.content(&scope).await.unwrap();
    let mut same = file.clone();
    same.settings.kind = "another".to_owned();
    for waiting in [&file, &same, &address] {
        assert_eq!(mark_pending(waiting).await.unwrap().state.pending(), None);
        assert!(!ingestion.rollback(waiting, RunId::new()).await.unwrap());
        assert_eq!(store.content(&scope).await.unwrap(), before);
    }
    file.content =
        Some(ingestion.keep(b"Records of entry are kept for six years from now on.").await.unwrap());
    let listed = mark_pending(&file).await.unwrap();
    assert_eq!(
        (listed.state.status(), listed.state.pending().cloned()),
        (DocumentStatus::Ready, file.content.clone())
    );

    // One of two that load the same goes: the content stays for the other, and goes with it.
    let held = || ingestion.pin(file.content.as_ref().unwrap());
    let (first, second) = (held(), held());
    assert!(!ingestion.rollback(&file, RunId::new()).await.unwrap());
    ingestion.release(&file, first).await.unwrap();
    assert_eq!(store.fsck(false, &ActiveLoads::default()).await.unwrap().originals, 2);
    ingestion.release(&file, second).await.unwrap();
    assert!(!ingestion.rollback(&file, RunId::new()).await.unwrap());
    assert_eq!(store.content(&scope).await.unwrap(), before);
    assert!(store.fsck(false, &ActiveLoads::default()).await.unwrap().is_clean());
}

#[tokio::test]
async fn above_a_size_vectors_are_found_through_an_index_that_is_made_anew_when_outgrown() {
    let place = Where::folder();
    let store =
        place.open_keeping(MaintenanceSettings { index_above: 300, ..MaintenanceSettings::default() }).await;
    let ingestion = ingestion(&store);
    let mut made = Vec::new();
    for part in 0..9 {
        let text: String =
            (0..250).map(|line| format!("Rule {part}-{line} of port {}.\n\n", line * 7)).collect();
        let mut job = job("rules", &format!("part-{part}.txt"));
        job.settings.size = ChunkSize { characters: 30, overlap: 0 };
        load(&ingestion, job, text.as_bytes()).await;
        made.push(store.maintain().await.unwrap().made_vector_index);
    }
    // 250 chunks a part: none below 300, one above, and the next above four times as many.
    assert_eq!(made, [false, true, false, false, false, false, false, false, true]);
    let caller = Caller::ingestion(Tenant::local());
    let asked = Words.embed(&caller, Purpose::Query, &["Rule 3-17 of port 119", "port 700"]).await.unwrap();
    let asked: Vec<Vec<f32>> = (0..2).filter_map(|at| asked.get(at).map(<[f32]>::to_vec)).collect();
    assert!(store.recall(&asked, 20).await.unwrap() >= 0.98);
    let found = find(&store, &everybody(), "Rule 3-17").await;
    assert!(found[0].text.contains("Rule 3-17"), "{}", found[0].text);
}
