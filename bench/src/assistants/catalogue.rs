//! A query over a catalogue beside bare DataFusion over the same rows in memory, written by hand, in the same run.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{Expr, col, lit};
use datafusion::prelude::{DataFrame, SessionContext};
use ibid_core::catalogue::{
    CATALOGUE, CatalogueCondition, CatalogueInfo, CatalogueQuery, Catalogues, FieldFilter,
};
use ibid_core::model::Embedder;
use ibid_core::value::Decimal;
use ibid_core::{Scope, Tenant};
use ibid_knowledge::{Ingestion, LoadRequest, LoadSettings, Store, StoredCatalogues};
use ibid_testkit::cars::cars;

use crate::knowledge::{Potion, reader};

/// How often each query is asked on both sides, in turns.
const REPEATS: usize = 15;
/// So many rows are shown.
const TOP: usize = 5;
/// What the columns of the file are called.
const TEXTS: [(&str, usize); 7] = [
    ("marca", 1),
    ("modelo", 2),
    ("version", 3),
    ("color", 7),
    ("transmision", 8),
    ("carroceria", 9),
    ("ciudad", 11),
];
const NUMBERS: [(&str, usize); 3] = [("año", 4), ("precio", 5), ("kilometraje", 6)];

/// A query: names by column, the most of a price, the least year, and by which column rows are put in order.
struct Asked {
    names: &'static [(&'static str, &'static str)],
    most: Option<i64>,
    least_year: Option<i64>,
    order: Option<&'static str>,
}

const QUERIES: [(&str, Asked); 5] = [
    (
        "a model",
        Asked {
            names: &[("marca", "Volkswagen"), ("modelo", "Jetta")],
            most: None,
            least_year: None,
            order: None,
        },
    ),
    (
        "a model under a price, cheapest first",
        Asked { names: &[("modelo", "Versa")], most: Some(200_000), least_year: None, order: Some("precio") },
    ),
    (
        "a body and a colour from a year on",
        Asked {
            names: &[("carroceria", "SUV"), ("color", "Rojo")],
            most: None,
            least_year: Some(2019),
            order: None,
        },
    ),
    (
        "the cheapest automatics",
        Asked {
            names: &[("transmision", "Automática")],
            most: None,
            least_year: None,
            order: Some("precio"),
        },
    ),
    (
        "the newest in a city",
        Asked { names: &[("ciudad", "Puebla")], most: Some(400_000), least_year: None, order: Some("año") },
    ),
];

/// Measures at 20,000 rows and at as many as are asked for.
pub(crate) fn measure(most: usize) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        println!("| rows | query | found | ibid, median | bare DataFusion, median | ratio |");
        println!("|---:|---|---:|---:|---:|---:|");
        for rows in [20_000, most] {
            at(rows).await?;
        }
        Ok(())
    })
}

async fn at(rows: usize) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let embedder = Potion::load()?;
    let place = folder.path().to_string_lossy().into_owned();
    let store = Arc::new(Store::open(&place, HashMap::new(), embedder.name(), embedder.dimensions()).await?);
    let ingestion = Ingestion::new(store.clone(), embedder, reader()?).reading_at_once(4_000);
    let text = cars(rows, 7);
    let began = Instant::now();
    let job = LoadRequest {
        tenant: Tenant::local(),
        corpus: "cars".parse()?,
        key: "cars.csv".to_owned(),
        source: "cars.csv".to_owned(),
        content: Some(ingestion.keep(text.as_bytes()).await?),
        settings: LoadSettings { kind: CATALOGUE.to_owned(), ..LoadSettings::default() },
    };
    let summary = ingestion.load(job).await?;
    eprintln!("{rows} rows loaded in {:.1} s: {:?}", began.elapsed().as_secs_f64(), summary.outcome);
    let (scope, port) = (Scope::of(Tenant::local()), StoredCatalogues::new(store));
    let info = port.list(&scope).await?.pop().context("the catalogue is not there")?;
    let (session, table) = (SessionContext::new(), in_memory(&text)?);
    drop(text);
    for (name, asked) in QUERIES {
        let query = query(&info, &asked)?;
        let (mut ours, mut theirs, mut found) = (Vec::new(), Vec::new(), (0, 0));
        for _ in 0..REPEATS {
            let began = Instant::now();
            found.0 = port.rows(&scope, &query).await?.count;
            ours.push(began.elapsed());
            let began = Instant::now();
            found.1 = bare(&session, &table, &asked).await?;
            theirs.push(began.elapsed());
        }
        let (ours, theirs) = (median(ours), median(theirs));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
        // Names that the file misspells are found by ibid alone.
        println!(
            "| {rows} | {name} | {} ({}) | {:.1} ms | {:.1} ms | {ratio:.2} |",
            found.0,
            found.1,
            milliseconds(ours),
            milliseconds(theirs)
        );
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn query(info: &CatalogueInfo, asked: &Asked) -> anyhow::Result<CatalogueQuery> {
    let column = |name: &str| info.column(name).with_context(|| format!("no column {name}"));
    let mut conditions = Vec::new();
    for (name, value) in asked.names {
        conditions.push(CatalogueCondition {
            column: column(name)?,
            is: FieldFilter::OneOf(vec![(*value).to_owned()]),
        });
    }
    let number = |number: Option<i64>| number.map(|number| Decimal::from(i128::from(number)));
    if asked.most.is_some() {
        conditions.push(CatalogueCondition {
            column: column("precio")?,
            is: FieldFilter::Between(None, number(asked.most)),
        });
    }
    if asked.least_year.is_some() {
        conditions.push(CatalogueCondition {
            column: column("año")?,
            is: FieldFilter::Between(number(asked.least_year), None),
        });
    }
    let order = asked.order.map(|name| Ok::<_, anyhow::Error>((column(name)?, name == "año"))).transpose()?;
    Ok(CatalogueQuery {
        document: info.document.clone(),
        conditions,
        order: order.into_iter().collect(),
        top: TOP,
    })
}

/// The same question as a person would write it: how many, and the first of them.
async fn bare(session: &SessionContext, table: &Arc<MemTable>, asked: &Asked) -> anyhow::Result<u64> {
    let mut frame: DataFrame = session.read_table(table.clone())?;
    let mut filters: Vec<Expr> = asked.names.iter().map(|(name, value)| col(*name).eq(lit(*value))).collect();
    filters.extend(asked.most.map(|most| col("precio").lt_eq(lit(most))));
    filters.extend(asked.least_year.map(|least| col("año").gt_eq(lit(least))));
    if let Some(filter) = filters.into_iter().reduce(Expr::and) {
        frame = frame.filter(filter)?;
    }
    let count = frame.clone().count().await?;
    let order = asked.order.map(|name| col(name).sort(name != "año", false));
    let order = order.into_iter().chain([col("row").sort(true, false)]).collect();
    frame.sort(order)?.limit(0, Some(TOP))?.collect().await?;
    Ok(count as u64)
}

/// The rows of the file as they are, in memory.
fn in_memory(text: &str) -> anyhow::Result<Arc<MemTable>> {
    let mut seen = std::collections::HashSet::new();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(1)
        .filter(|line| line.split(',').count() == 13 && seen.insert(*line))
        .map(|line| line.split(',').collect())
        .collect();
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    let count = i64::try_from(rows.len())?;
    columns.push(("row", Arc::new(Int64Array::from_iter_values(0..count))));
    for (name, at) in TEXTS {
        let cells = rows.iter().map(|row| Some(row[at]).filter(|cell| !cell.is_empty()));
        columns.push((name, Arc::new(cells.collect::<StringArray>())));
    }
    for (name, at) in NUMBERS {
        let cells = rows.iter().map(|row| row[at].parse::<i64>().ok());
        columns.push((name, Arc::new(cells.collect::<Int64Array>())));
    }
    let whole = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )?;
    let step = 8192;
    let batches: Vec<RecordBatch> = (0..whole.num_rows())
        .step_by(step)
        .map(|at| whole.slice(at, step.min(whole.num_rows() - at)))
        .collect();
    Ok(Arc::new(MemTable::try_new(whole.schema(), vec![batches])?))
}
