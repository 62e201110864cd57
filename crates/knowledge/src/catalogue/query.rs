//! A question to a catalogue, as DataFusion runs it over the stored rows. It holds numbers alone: names are asked for by their
//! places, so that nothing that a person or a model wrote gets into it.

use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::TableProvider;
use datafusion::logical_expr::{Expr, SortExpr, col, lit};
use datafusion::prelude::SessionContext;
use ibid_core::catalogue::{
    CatalogueColumnKind, CatalogueCondition, CatalogueQuery, CatalogueRow, CatalogueRows, CatalogueValue,
    Wanted,
};
use ibid_core::value::Decimal;

use super::table::{ROW, StoredCatalogue, column_name};
use crate::Error;

/// So many rows come along at most.
const MOST_ROWS: usize = 100;

/// Asks for the rows that fulfil conditions, and how many there are.
pub(super) async fn ask(
    session: &SessionContext,
    rows: Arc<dyn TableProvider>,
    catalogue: &StoredCatalogue,
    query: &CatalogueQuery,
) -> Result<CatalogueRows, Error> {
    let mut filter: Option<Expr> = None;
    for condition in &query.conditions {
        let Some(fulfilled) = fulfilled(catalogue, condition)? else { return Ok(CatalogueRows::default()) };
        filter = Some(filter.map_or(fulfilled.clone(), |filter| filter.and(fulfilled)));
    }
    let mut frame = session.read_table(rows).map_err(unreadable)?;
    if let Some(filter) = filter {
        frame = frame.filter(filter).map_err(unreadable)?;
    }
    let count = frame.clone().count().await.map_err(unreadable)?;
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    if count == 0 || query.top == 0 {
        return Ok(CatalogueRows { count, rows: Vec::new() });
    }
    let rows = first(frame, query, catalogue).await?;
    Ok(CatalogueRows { count, rows })
}

/// What a condition asks of a row; none if no row can fulfil it.
fn fulfilled(catalogue: &StoredCatalogue, condition: &CatalogueCondition) -> Result<Option<Expr>, Error> {
    let CatalogueCondition { column, is } = condition;
    let known = catalogue.info.columns.get(*column).ok_or_else(|| no_column(*column))?;
    let cell = || col(column_name(*column));
    let places = |names: &[String]| -> Vec<Expr> {
        let place = |name: &String| known.names.iter().position(|known| known.name == *name);
        names.iter().filter_map(place).filter_map(|place| Some(lit(u32::try_from(place).ok()?))).collect()
    };
    Ok(match (is, known.kind) {
        (Wanted::OneOf(names), CatalogueColumnKind::Name) => {
            let places = places(names);
            match places.as_slice() {
                [] => None,
                [only] => Some(cell().eq(only.clone())),
                _ => Some(cell().in_list(places, false)),
            }
        }
        (Wanted::NoneOf(names), CatalogueColumnKind::Name) => {
            let places = places(names);
            Some(if places.is_empty() { lit(true) } else { cell().in_list(places, true) })
        }
        (Wanted::Between(least, most), CatalogueColumnKind::Number) => {
            let decimals = catalogue.places.get(*column).copied().unwrap_or_default();
            let least = least.map(|least| cell().gt_eq(lit(whole(least, decimals, true))));
            let most = most.map(|most| cell().lt_eq(lit(whole(most, decimals, false))));
            Some(least.into_iter().chain(most).reduce(Expr::and).unwrap_or_else(|| cell().is_not_null()))
        }
        _ => return Err(Error::Document(format!("`{}` cannot be compared with this", known.name))),
    })
}

fn no_column(column: usize) -> Error {
    Error::Document(format!("the catalogue has no column {}", column + 1))
}

/// A bound as the column has its numbers: the nearest one within it.
fn whole(number: Decimal, decimals: u32, up: bool) -> i64 {
    let huge = if number > Decimal::from(0) { i64::MAX } else { i64::MIN };
    if number.places() <= decimals {
        return number.scaled(decimals).and_then(|digits| i64::try_from(digits).ok()).unwrap_or(huge);
    }
    let shift = 10_i128.checked_pow(number.places() - decimals);
    let digits = number.scaled(number.places()).zip(shift).map(|(digits, shift)| {
        let down = digits.div_euclid(shift);
        if up && digits.rem_euclid(shift) != 0 { down + 1 } else { down }
    });
    digits.and_then(|digits| i64::try_from(digits).ok()).unwrap_or(huge)
}

/// The first rows in order.
async fn first(
    frame: DataFrame,
    query: &CatalogueQuery,
    catalogue: &StoredCatalogue,
) -> Result<Vec<CatalogueRow>, Error> {
    let columns = catalogue.info.columns.len();
    let mut order: Vec<SortExpr> = Vec::new();
    for (column, is_descending) in &query.order {
        if *column >= columns {
            return Err(no_column(*column));
        }
        order.push(col(column_name(*column)).sort(!is_descending, false));
    }
    order.push(col(ROW).sort(true, false));
    let frame = frame
        .sort(order)
        .and_then(|frame| frame.limit(0, Some(query.top.min(MOST_ROWS))))
        .map_err(unreadable)?;
    let mut rows = Vec::new();
    for batch in frame.collect().await.map_err(unreadable)? {
        for at in 0..batch.num_rows() {
            rows.push(row(&batch, at, catalogue)?);
        }
    }
    Ok(rows)
}

fn row(batch: &RecordBatch, at: usize, catalogue: &StoredCatalogue) -> Result<CatalogueRow, Error> {
    let number = column_of::<UInt64Array>(batch, ROW)?.value(at);
    let values = catalogue.info.columns.iter().enumerate().map(|(place, column)| {
        let name = column_name(place);
        Ok(match column.kind {
            CatalogueColumnKind::Name => {
                let places = column_of::<UInt32Array>(batch, &name)?;
                let found =
                    places.is_valid(at).then(|| column.names.get(places.value(at) as usize)).flatten();
                found.map(|name| CatalogueValue::Text(name.name.clone()))
            }
            CatalogueColumnKind::Number => {
                let numbers = column_of::<Int64Array>(batch, &name)?;
                let decimals = catalogue.places.get(place).copied().unwrap_or_default();
                numbers
                    .is_valid(at)
                    .then(|| CatalogueValue::Number(Decimal::of_digits(numbers.value(at).into(), decimals)))
            }
            CatalogueColumnKind::Text => {
                let texts = column_of::<StringArray>(batch, &name)?;
                texts.is_valid(at).then(|| CatalogueValue::Text(texts.value(at).to_owned()))
            }
        })
    });
    Ok(CatalogueRow { number, values: values.collect::<Result<_, Error>>()? })
}

fn column_of<'a, A: 'static>(batch: &'a RecordBatch, name: &str) -> Result<&'a A, Error> {
    let column = batch.column_by_name(name).and_then(|column| column.as_any().downcast_ref::<A>());
    column.ok_or_else(|| Error::Damaged(format!("the rows of a catalogue have no column {name}")))
}

fn unreadable(error: datafusion::error::DataFusionError) -> Error {
    Error::Damaged(format!("the catalogue cannot be asked: {error}"))
}
