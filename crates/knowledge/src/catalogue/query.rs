//! A question to a catalogue, as DataFusion runs it over the stored rows. It holds numbers alone: names are asked for by their
//! places, so that nothing that a person or a model wrote gets into it.

use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::TableProvider;
use datafusion::logical_expr::{Expr, col, lit};
use datafusion::prelude::SessionContext;
use futures_util::TryStreamExt;
use ibid_core::catalogue::{
    CatalogueColumnKind, CatalogueCondition, CatalogueQuery, CatalogueRow, CatalogueRows, CatalogueValue,
    FieldFilter,
};
use ibid_core::value::Decimal;

use super::table::{ROW, StoredCatalogue, column_name};
use crate::Error;

/// So many rows come along at most.
const MOST_ROWS: usize = 100;

/// The rows of a catalogue, as DataFusion reads them; all of them, if they are in memory.
pub(super) struct RowTable {
    pub(super) provider: Arc<dyn TableProvider>,
    pub(super) in_memory: Option<RecordBatch>,
}

/// Asks for the rows that fulfil conditions, and how many there are.
pub(super) async fn ask(
    session: &SessionContext,
    table: &RowTable,
    catalogue: &StoredCatalogue,
    query: &CatalogueQuery,
) -> Result<CatalogueRows, Error> {
    let mut filter: Option<Expr> = None;
    for condition in &query.conditions {
        let Some(fulfilled) = fulfilled(catalogue, condition)? else { return Ok(CatalogueRows::default()) };
        filter = Some(filter.map_or(fulfilled.clone(), |filter| filter.and(fulfilled)));
    }
    let mut frame = session.read_table(table.provider.clone()).map_err(unreadable)?;
    if let Some(filter) = filter {
        frame = frame.filter(filter).map_err(unreadable)?;
    }
    let (count, numbers) = first(frame, query, catalogue).await?;
    if numbers.is_empty() {
        return Ok(CatalogueRows { count, rows: Vec::new() });
    }
    let rows = match &table.in_memory {
        Some(whole) => rows_in(whole, &numbers, catalogue)?,
        None => {
            let frame = session.read_table(table.provider.clone()).map_err(unreadable)?;
            whole_rows(frame, &numbers, catalogue).await?
        }
    };
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
        (FieldFilter::OneOf(names), CatalogueColumnKind::Name) => {
            let places = places(names);
            match places.as_slice() {
                [] => None,
                [only] => Some(cell().eq(only.clone())),
                _ => Some(cell().in_list(places, false)),
            }
        }
        (FieldFilter::NoneOf(names), CatalogueColumnKind::Name) => {
            let places = places(names);
            Some(if places.is_empty() { lit(true) } else { cell().in_list(places, true) })
        }
        (FieldFilter::Between(least, most), CatalogueColumnKind::Number) => {
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

/// How many rows there are, and the numbers of the first ones in order. One pass tells both; of all rows, only what they are put in
/// order by is read, and only as many are kept as are wanted.
async fn first(
    frame: DataFrame,
    query: &CatalogueQuery,
    catalogue: &StoredCatalogue,
) -> Result<(u64, Vec<u64>), Error> {
    let mut needed = vec![ROW.to_owned()];
    for (column, _) in &query.order {
        let known = catalogue.info.columns.get(*column).ok_or_else(|| no_column(*column))?;
        if known.kind != CatalogueColumnKind::Number {
            return Err(Error::Document(format!("`{}` has no numbers to put rows in order by", known.name)));
        }
        needed.push(column_name(*column));
    }
    let needed: Vec<&str> = needed.iter().map(String::as_str).collect();
    let frame = frame.select_columns(&needed).map_err(unreadable)?;
    let mut batches = frame.execute_stream().await.map_err(unreadable)?;
    let most = query.top.min(MOST_ROWS);
    // The last of the first rows is on top.
    let mut best: BinaryHeap<(Vec<(bool, i64)>, u64)> = BinaryHeap::new();
    let mut count = 0_usize;
    while let Some(batch) = batches.try_next().await.map_err(unreadable)? {
        count += batch.num_rows();
        let numbers = column_of::<UInt64Array>(&batch, ROW)?;
        let mut keys = Vec::new();
        for (column, is_descending) in &query.order {
            keys.push((column_of::<Int64Array>(&batch, &column_name(*column))?, *is_descending));
        }
        let key = |at: usize| -> Vec<(bool, i64)> {
            let one = |(values, is_descending): &(&Int64Array, bool)| ranked(values, at, *is_descending);
            keys.iter().map(one).collect()
        };
        for (at, number) in numbers.values().iter().enumerate() {
            if best.len() == most {
                let Some((last, row)) = best.peek() else { break };
                // Hardly a row of many is among the first: most are told by one number.
                let is_after = match (keys.first(), last.first()) {
                    (Some((values, is_descending)), Some(last)) => ranked(values, at, *is_descending) > *last,
                    _ => number > row,
                };
                if is_after || (key(at), *number) > (last.clone(), *row) {
                    continue;
                }
                best.pop();
            }
            best.push((key(at), *number));
        }
    }
    let numbers = best.into_sorted_vec().into_iter().map(|(_, number)| number).collect();
    Ok((u64::try_from(count).unwrap_or(u64::MAX), numbers))
}

/// What a value is put in order by: rows without one come last, and the greatest first is the least of the opposites.
fn ranked(values: &Int64Array, at: usize, is_descending: bool) -> (bool, i64) {
    let value = values.value(at);
    (values.is_null(at), if is_descending { !value } else { value })
}

/// The rows of these numbers among all in memory, which are in the order of the file.
fn rows_in(
    whole: &RecordBatch,
    numbers: &[u64],
    catalogue: &StoredCatalogue,
) -> Result<Vec<CatalogueRow>, Error> {
    let known = column_of::<UInt64Array>(whole, ROW)?.values();
    let places = numbers.iter().filter_map(|number| known.binary_search(number).ok());
    places.map(|at| row(whole, at, catalogue)).collect()
}

/// The rows of these numbers, in their order.
async fn whole_rows(
    frame: DataFrame,
    numbers: &[u64],
    catalogue: &StoredCatalogue,
) -> Result<Vec<CatalogueRow>, Error> {
    let wanted = col(ROW).in_list(numbers.iter().map(|number| lit(*number)).collect(), false);
    let frame = frame.filter(wanted).map_err(unreadable)?;
    let mut rows = Vec::new();
    for batch in frame.collect().await.map_err(unreadable)? {
        for at in 0..batch.num_rows() {
            rows.push(row(&batch, at, catalogue)?);
        }
    }
    rows.sort_by_key(|row: &CatalogueRow| numbers.iter().position(|number| *number == row.number));
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

pub(super) fn unreadable(error: datafusion::error::DataFusionError) -> Error {
    Error::Damaged(format!("the catalogue cannot be asked: {error}"))
}
