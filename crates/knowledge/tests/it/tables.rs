//! Tables as data: what governs a row and where its cells stand comes with the passage, also in a store of before.

use ibid_core::evidence::Passage;
use ibid_core::table::CellKind;
use ibid_knowledge::ActiveLoads;
use lance::dataset::Dataset;

use crate::stage::{Where, everybody, find, ingestion, job, load, sample};

/// What a row says, by the name of each column.
fn cell<'a>(passage: &'a Passage, code: &str, column: &str) -> Option<(String, &'a [String], bool)> {
    let record =
        passage.records().find(|record| record.cells.first().is_some_and(|cell| cell.text == code))?;
    let column = record.table.columns.iter().position(|known| known.name == column)?;
    let cell = record.cells.get(column)?;
    Some((cell.text.to_string(), record.path, cell.is_inherited))
}

#[tokio::test]
async fn rows_come_with_what_governs_them_what_they_inherit_and_their_places() {
    let place = Where::folder();
    let store = place.open().await;
    let pdf = std::fs::read(sample("hts-chapter-85-pages-70-71.pdf")).unwrap();
    load(&ingestion(&store), job("tariffs", "chapter-85.pdf"), &pdf).await;
    let found = find(&store, &everybody(), "8539.22.80.40").await;
    let passage = &found[0];
    let (rate, path, is_inherited) =
        cell(passage, "8539.22.80.40", "Rates of Duty 1 General").expect("the row and the column are there");
    assert!(is_inherited && rate.ends_with('%'), "{rate}");
    assert!(path.iter().any(|heading| heading.starts_with("8539.22.80")), "{path:?}");
    let kinds: Vec<CellKind> = passage.tables[0].columns.iter().map(|column| column.kind).collect();
    assert_eq!((kinds[0], kinds[4]), (CellKind::Code, CellKind::Rate));
    // Each cell of a row has a place of its own, from left to right.
    let record = passage.records().find(|record| record.cells[0].text == "8539.22.80.40").unwrap();
    let places: Vec<_> =
        passage.places.iter().filter(|place| record.span.contains(&(place.at as usize))).collect();
    assert!(places.len() >= 3, "{places:?}");
    assert!(places.is_sorted_by(|one, other| one.sides[0] < other.sides[0]), "{places:?}");
}

#[tokio::test]
async fn a_store_without_tables_is_searched_and_gets_them_with_the_next_load() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_string_lossy().into_owned();
    let open = async || {
        std::sync::Arc::new(
            ibid_knowledge::Store::open(&path, Default::default(), "words", 64).await.unwrap(),
        )
    };
    let pdf = std::fs::read(sample("hts-chapter-85-pages-70-71.pdf")).unwrap();
    load(&ingestion(&open().await), job("tariffs", "chapter-85.pdf"), &pdf).await;
    let chunks = std::fs::read_dir(folder.path()).unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let chunks = chunks.into_iter().find(|path| path.to_string_lossy().contains("chunks")).unwrap();
    let mut dataset = Dataset::open(&chunks.to_string_lossy()).await.unwrap();
    dataset.drop_columns(&["table_number", "table_rows"]).await.unwrap();

    let store = open().await;
    let found = find(&store, &everybody(), "8539.22.80.40").await;
    assert!(found[0].tables.is_empty() && found[0].text.contains("8539.22.80.40"));
    let table = b"| Port | Fee |\n|---|---|\n| Bilbao | 25 |\n| Vigo | 30 |\n";
    load(&ingestion(&store), job("tariffs", "fees.md"), table).await;
    let found = find(&store, &everybody(), "the fee of Bilbao").await;
    let fees = found.iter().find(|passage| passage.source == "fees.md").expect("the table is found");
    assert_eq!(cell(fees, "Vigo", "Fee").map(|(fee, _, _)| fee), Some("30".to_owned()));
    assert!(store.fsck(false, &ActiveLoads::default()).await.unwrap().is_clean());
}
