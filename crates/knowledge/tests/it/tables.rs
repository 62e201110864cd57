//! Tables as data: what governs a row and where its cells stand comes with the passage, also in a store of before.

use ibid_core::evidence::{Index, Passage};
use ibid_core::table::CellKind;
use ibid_core::table_query::{
    Aggregate, AggregateFunction, Comparison, Condition, Order, TableAnswer, TableQuery,
};
use ibid_knowledge::{ActiveLoads, Search};
use lance::dataset::Dataset;

use crate::stage::{Where, everybody, find, ingestion, job, load, sample, search};

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

fn condition(column: &str, is: Comparison, value: &str) -> Condition {
    Condition { column: column.to_owned(), is, value: value.to_owned() }
}

fn aggregate(function: AggregateFunction, column: &str) -> Option<Aggregate> {
    Some(Aggregate { function, column: Some(column.to_owned()) })
}

async fn schedule_and_fees() -> (Where, Search) {
    let place = Where::folder();
    let store = place.open().await;
    let pdf = std::fs::read(sample("hts-chapter-85-pages-70-71.pdf")).unwrap();
    load(&ingestion(&store), job("tariffs", "chapter-85.pdf"), &pdf).await;
    let fees = b"# Fees of ports\n\n| Port | Fee in euros | Since | Note |\n|---|---|---|---|\n\
        | Bilbao | 1.250,50 | 2021-03-01 | 50% off at night |\n\
        | Vigo | 980,00 | 2019-07-15 | |\n\
        | Le\xc3\xb3n | (12,25) | 2023-01-01 | paid back |\n\
        | C\xc3\xa1diz | none | 2020-01-31 | |\n";
    let ships = b"# Ships of the fleet\n\n| Ship | Built |\n|---|---|\n| Aurora | 1912-05-01 |\n| Juno | 1955-06-30 |\n";
    load(&ingestion(&store), job("tariffs", "ships.md"), ships).await;
    load(&ingestion(&store), job("tariffs", "fees.md"), fees).await;
    store.maintain().await.unwrap();
    (place, search(&store))
}

#[tokio::test]
async fn a_cell_is_looked_up_and_comes_with_its_page_and_place() {
    let (_place, search) = Box::pin(schedule_and_fees()).await;
    let query = TableQuery {
        about: "lamps".to_owned(),
        conditions: vec![condition("subheading", Comparison::Equal, "8539.22.80")],
        columns: vec!["general rate".to_owned()],
        top: 5,
        ..TableQuery::default()
    };
    let answer = search.query_tables(&everybody(), &query).await.unwrap();
    assert_eq!((answer.rows, answer.problem.as_deref()), (1, None));
    let [passage] = answer.passages.as_slice() else { panic!("{:?}", answer.passages) };
    assert_eq!(passage.text, "Heading/ Subheading | Rates of Duty 1 General\n8539.22.80 | 2.6%");
    let record = passage.records().next().unwrap();
    let texts: Vec<&str> = record.cells.iter().map(|cell| cell.text.as_ref()).collect();
    assert_eq!(texts, ["8539.22.80", "2.6%"]);
    let places: Vec<u32> = passage.places.iter().map(|place| place.at).collect();
    assert_eq!(places.len(), 2, "one for each cell: {places:?}");
    assert_eq!(record.cells[1].span.start, places[1] as usize);
    assert!(passage.places[0].sides[2] < passage.places[1].sides[0], "{:?}", passage.places);

    // What a row inherits comes with it, and is no value of its own.
    let query = TableQuery {
        conditions: vec![
            condition("subheading", Comparison::StartsWith, "8539.22.80"),
            condition("general rate", Comparison::AtLeast, "2.6 %"),
        ],
        ..query
    };
    let rows = search.query_tables(&everybody(), &query).await.unwrap();
    assert!(rows.rows > 1, "{}", rows.rows);
    assert!(rows.passages[0].records().skip(1).all(|record| record.cells[1].is_inherited));
    let counted = TableQuery {
        aggregate: Some(Aggregate { function: AggregateFunction::Count, column: None }),
        ..query.clone()
    };
    let counted = search.query_tables(&everybody(), &counted).await.unwrap();
    assert_eq!((counted.value.as_deref(), counted.rows), (Some("1"), 1));
    // Nobody else's table is asked.
    let nobody = everybody().within(["other".parse().unwrap()]);
    assert_eq!(search.query_tables(&nobody, &query).await.unwrap(), TableAnswer::default());
}

#[tokio::test]
async fn values_are_compared_and_computed_by_what_they_are() {
    let (_place, search) = Box::pin(schedule_and_fees()).await;
    let about = || TableQuery { about: "fees of ports".to_owned(), top: 5, ..TableQuery::default() };
    for (conditions, aggregate, value, rows, left_out) in [
        (vec![], aggregate(AggregateFunction::Sum, "fee"), Some("2218.25"), 3, 1),
        (vec![], aggregate(AggregateFunction::Min, "fee"), Some("-12.25"), 3, 1),
        (vec![], aggregate(AggregateFunction::Max, "since"), Some("2023-01-01"), 4, 0),
        (
            vec![condition("fee", Comparison::Greater, "980")],
            aggregate(AggregateFunction::Mean, "fee"),
            Some("1250.5"),
            1,
            0,
        ),
        (vec![condition("since", Comparison::Less, "January 31, 2020")], None, None, 1, 0),
        (vec![condition("port", Comparison::Equal, "leon")], None, None, 1, 0),
        (vec![condition("port", Comparison::NotEqual, "LE\u{d3}N")], None, None, 3, 0),
        (vec![condition("note", Comparison::Contains, "50%")], None, None, 1, 0),
        (vec![condition("note", Comparison::Contains, "5_%")], None, None, 0, 0),
    ] {
        let query = TableQuery { conditions, aggregate, ..about() };
        let answer = search.query_tables(&everybody(), &query).await.unwrap();
        assert_eq!(
            (answer.value.as_deref(), answer.rows, answer.left_out),
            (value, rows, left_out),
            "{query:?}"
        );
    }
    let ships = TableQuery { about: "ships of the fleet".to_owned(), ..about() };
    let oldest = TableQuery { aggregate: aggregate(AggregateFunction::Min, "built"), ..ships };
    let answer = search.query_tables(&everybody(), &oldest).await.unwrap();
    assert_eq!(answer.value.as_deref(), Some("1912-05-01"), "before 1970");
    let order = Some(Order { column: "fee".to_owned(), is_descending: true });
    let query = TableQuery { order, columns: vec!["port".to_owned()], ..about() };
    let answer = search.query_tables(&everybody(), &query).await.unwrap();
    let ports: Vec<String> =
        answer.passages[0].records().map(|record| record.cells[0].text.to_string()).collect();
    assert_eq!(ports, ["Bilbao", "Vigo", "Le\u{f3}n", "C\u{e1}diz"]);
    for (conditions, aggregate, problem) in [
        (
            vec![condition("weight", Comparison::Equal, "1")],
            None,
            "which column `weight` is; the columns are `Port`",
        ),
        (vec![condition("fee", Comparison::Less, "many")], None, "`many` is no number and no date"),
        (vec![], Some(Aggregate { function: AggregateFunction::Sum, column: None }), "say of which column"),
    ] {
        let query = TableQuery { conditions, aggregate, ..about() };
        let answer = search.query_tables(&everybody(), &query).await.unwrap();
        let told = answer.problem.unwrap_or_default();
        assert!(told.contains(problem) && answer.passages.is_empty(), "{told}");
    }
}
