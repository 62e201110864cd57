//! A query over a table, as DataFusion runs it.

use std::collections::BTreeMap;

use arrow_array::{Array, Date32Array, Decimal128Array, UInt64Array};
use chrono::{NaiveDate, TimeDelta};
use datafusion::common::ScalarValue;
use datafusion::dataframe::DataFrame;
use datafusion::functions_aggregate::expr_fn::{avg, max, min, sum};
use datafusion::logical_expr::{Expr, col, lit};
use datafusion::prelude::SessionContext;
use ibid_core::table::{CellKind, TableColumn};
use ibid_core::table_query::{Aggregate, AggregateFunction, Comparison, Condition, TableQuery};
use ibid_core::value::Decimal;

use super::columns::{ColumnNames, only};
use super::typed::{
    PRECISION, ROW, SCALE, TypedTable, day, day_in, digits, digits_of, folded, in_digits, is_own, number,
    number_in, text,
};
use super::unreadable;
use crate::Error;

/// A query whose columns are those of a table.
pub(super) struct Plan {
    conditions: Vec<(usize, Expr)>,
    aggregate: Option<(AggregateFunction, Option<(usize, CellKind)>)>,
    /// And whether the greatest comes first.
    order: Option<((usize, CellKind), bool)>,
    wanted: Vec<usize>,
    used: BTreeMap<usize, CellKind>,
    /// How many the table has.
    columns: usize,
}

/// What a query gives.
pub(super) struct Selected {
    /// The first of the rows that fit.
    pub(super) rows: Vec<usize>,
    /// How many fit.
    pub(super) count: usize,
    /// What was computed.
    pub(super) value: Option<String>,
    /// How many rows could not be computed with.
    pub(super) left_out: usize,
}

impl Plan {
    /// The plan of a query over these columns.
    ///
    /// # Errors
    /// Says what cannot be asked, and what can.
    pub(super) fn of(
        query: &TableQuery,
        names: &ColumnNames,
        columns: &[TableColumn],
    ) -> Result<Self, String> {
        let find = |name: &str| {
            let place = names.find(name).or_else(|| code_column(name, columns));
            place.and_then(|place| Some((place, columns.get(place)?.kind))).ok_or_else(|| {
                let names: Vec<String> = columns.iter().map(|column| format!("`{}`", column.name)).collect();
                format!("it is not clear which column `{name}` is; the columns are {}", names.join(", "))
            })
        };
        let mut conditions = Vec::new();
        for condition in &query.conditions {
            let (place, kind) = find(&condition.column)?;
            conditions.push((place, compared(place, kind, condition)?));
        }
        let aggregate = match &query.aggregate {
            None => None,
            Some(Aggregate { function: AggregateFunction::Count, column: None }) => {
                Some((AggregateFunction::Count, None))
            }
            Some(Aggregate { function, column }) => {
                let column = column.as_ref().ok_or("say of which column it is to be computed")?;
                Some((*function, Some(find(column)?)))
            }
        };
        let order = match &query.order {
            Some(order) => Some((find(&order.column)?, order.is_descending)),
            None => None,
        };
        let wanted: Result<Vec<_>, String> = query.columns.iter().map(|name| find(name)).collect();
        let wanted = wanted?.into_iter().map(|(place, _)| place).collect();
        let used = conditions.iter().map(|(place, _)| (*place, columns[*place].kind));
        let used = used.chain(aggregate.iter().filter_map(|(_, of)| *of));
        let used = used.chain(order.iter().map(|(column, _)| *column)).collect();
        Ok(Self { conditions, aggregate, order, wanted, used, columns: columns.len() })
    }

    /// The columns that are compared or computed with, and what they hold.
    pub(super) fn used(&self) -> &BTreeMap<usize, CellKind> {
        &self.used
    }

    /// The columns that are shown, in their order: those that are wanted and those that rows were chosen by; all if none is
    /// wanted.
    pub(super) fn shown(&self) -> Vec<usize> {
        if self.wanted.is_empty() {
            return (0..self.columns).collect();
        }
        let mut shown: Vec<usize> = self.wanted.iter().copied().chain(self.used.keys().copied()).collect();
        shown.sort_unstable();
        shown.dedup();
        shown
    }

    /// What rows have to fulfil.
    fn filter(&self) -> Option<Expr> {
        let conditions = self.conditions.iter().map(|(_, condition)| condition.clone());
        // What a row inherits was counted with the row that has it.
        let of = self.aggregate.iter().filter_map(|(_, of)| *of).map(|(place, _)| place);
        let places = self.conditions.iter().map(|(place, _)| *place).chain(of);
        let own = places.filter(|_| self.aggregate.is_some()).map(|place| col(is_own(place)));
        conditions.chain(own).reduce(Expr::and)
    }
}

/// The column of codes, if there is only one and a name asks for codes.
fn code_column(name: &str, columns: &[TableColumn]) -> Option<usize> {
    let asks =
        folded(name).split_whitespace().any(|word| word.starts_with("code") || word.starts_with("codigo"));
    only(columns.iter().map(|column| asks && column.kind == CellKind::Code))
}

/// What a condition asks of a cell.
fn compared(place: usize, kind: CellKind, condition: &Condition) -> Result<Expr, String> {
    let Condition { column, is, value } = condition;
    let wanted = folded(value);
    let (as_number, as_day) = (number_of(value, kind), day_in(value));
    let text = || col(text(place));
    let same = || match kind {
        CellKind::Code if !digits_of(value).is_empty() => same_code(place, &digits_of(value)),
        _ => match (as_number.clone(), as_day) {
            (_, Some(wanted)) => col(day(place)).eq(of_day(wanted)),
            (Some(wanted), None) if is_counted(kind) => col(number(place)).eq(wanted),
            _ => text().eq(lit(wanted.clone())),
        },
    };
    Ok(match is {
        Comparison::Equal => same(),
        Comparison::NotEqual => same().is_not_true().and(text().not_eq(lit(""))),
        Comparison::Contains => text().like(lit(format!("%{}%", escaped(&wanted)))),
        Comparison::StartsWith if kind == CellKind::Code => {
            col(digits(place)).like(lit(format!("{}%", digits_of(value))))
        }
        Comparison::StartsWith => text().like(lit(format!("{}%", escaped(&wanted)))),
        Comparison::Less | Comparison::AtMost | Comparison::Greater | Comparison::AtLeast => {
            let (cell, wanted) = match (as_day, as_number) {
                (Some(wanted), _) => (col(day(place)), of_day(wanted)),
                (None, Some(wanted)) => (col(number(place)), wanted),
                (None, None) => {
                    return Err(format!(
                        "`{value}` is no number and no date, so `{column}` cannot be compared with it; \
                         use equal, contains or starts_with"
                    ));
                }
            };
            match is {
                Comparison::Less => cell.lt(wanted),
                Comparison::AtMost => cell.lt_eq(wanted),
                Comparison::Greater => cell.gt(wanted),
                _ => cell.gt_eq(wanted),
            }
        }
    })
}

fn is_counted(kind: CellKind) -> bool {
    matches!(kind, CellKind::Rate | CellKind::Amount)
}

/// Codes are the same if one has only zeros more.
fn same_code(place: usize, wanted: &str) -> Expr {
    const SHORTEST: usize = 4;
    const LONGEST: usize = 12;
    let mut short = wanted;
    while short.len() >= SHORTEST + 2 && short.ends_with("00") {
        short = &short[..short.len() - 2];
    }
    let mut same = Vec::new();
    let mut long = short.to_owned();
    while long.len() <= LONGEST.max(wanted.len()) {
        same.push(lit(long.clone()));
        long.push_str("00");
    }
    col(digits(place)).in_list(same, false)
}

/// A text in which nothing stands for something else.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

/// The number that a person or a model writes: with a point, unless it can only be read with a comma.
fn number_of(value: &str, kind: CellKind) -> Option<Expr> {
    let digits = in_digits(number_in(value, kind, false)?)?;
    Some(lit(ScalarValue::Decimal128(Some(digits), PRECISION, SCALE)))
}

fn of_day(day: i32) -> Expr {
    lit(ScalarValue::Date32(Some(day)))
}

/// Runs a query, and gives so many rows at most.
pub(super) async fn select(table: &TypedTable, plan: &Plan, most: usize) -> Result<Selected, Error> {
    let mut frame = SessionContext::new().read_batch(table.batch.clone()).map_err(unreadable)?;
    if let Some(filter) = plan.filter() {
        frame = frame.filter(filter).map_err(unreadable)?;
    }
    let mut count = frame.clone().count().await.map_err(unreadable)?;
    let (mut value, mut left_out) = (None, 0);
    match plan.aggregate {
        None => {}
        Some((AggregateFunction::Count, _) | (_, None)) => value = Some(count.to_string()),
        Some((function, Some(of))) => {
            let computed = computed(&mut frame, function, of).await?;
            (left_out, count, value) = (count - computed.rows, computed.rows, computed.value);
        }
    }
    let order = plan
        .order
        .map(|((place, kind), is_descending)| col(sorted_by(place, kind)).sort(!is_descending, false));
    let order = order.into_iter().chain([col(ROW).sort(true, false)]).collect();
    let sorted = frame.sort(order).map_err(unreadable)?;
    let limited =
        sorted.limit(0, Some(most)).and_then(|frame| frame.select_columns(&[ROW])).map_err(unreadable)?;
    let mut rows = Vec::new();
    for batch in limited.collect().await.map_err(unreadable)? {
        if let Some(numbers) = batch.column(0).as_any().downcast_ref::<UInt64Array>() {
            rows.extend(numbers.values().iter().filter_map(|row| usize::try_from(*row).ok()));
        }
    }
    Ok(Selected { rows, count, value, left_out })
}

/// What a column is put in order by.
fn sorted_by(place: usize, kind: CellKind) -> String {
    match kind {
        CellKind::Rate | CellKind::Amount => number(place),
        CellKind::Date => day(place),
        CellKind::Code => digits(place),
        CellKind::Text => text(place),
    }
}

struct Computed {
    value: Option<String>,
    /// Of how many rows.
    rows: usize,
}

/// Computes, and leaves the rows behind the value in the frame.
async fn computed(
    frame: &mut DataFrame,
    function: AggregateFunction,
    (place, kind): (usize, CellKind),
) -> Result<Computed, Error> {
    let is_date =
        kind == CellKind::Date && matches!(function, AggregateFunction::Min | AggregateFunction::Max);
    let cell = if is_date { col(day(place)) } else { col(number(place)) };
    *frame = frame.clone().filter(cell.clone().is_not_null()).map_err(unreadable)?;
    let rows = frame.clone().count().await.map_err(unreadable)?;
    let made = match function {
        AggregateFunction::Sum => sum(cell.clone()),
        AggregateFunction::Min => min(cell.clone()),
        AggregateFunction::Max => max(cell.clone()),
        AggregateFunction::Mean | AggregateFunction::Count => avg(cell.clone()),
    };
    let batches = frame.clone().aggregate(Vec::new(), vec![made]).map_err(unreadable)?;
    let batches = batches.collect().await.map_err(unreadable)?;
    let result = batches.iter().find(|batch| batch.num_rows() > 0).map(|batch| batch.column(0).clone());
    let Some(result) = result.filter(|result| result.is_valid(0)) else {
        return Ok(Computed { value: None, rows });
    };
    if matches!(function, AggregateFunction::Min | AggregateFunction::Max) {
        let extreme = ScalarValue::try_from_array(&result, 0).map_err(unreadable)?;
        *frame = frame.clone().filter(cell.eq(lit(extreme))).map_err(unreadable)?;
    }
    Ok(Computed { value: written(result.as_ref(), kind), rows })
}

/// A result as it is told.
fn written(result: &dyn Array, kind: CellKind) -> Option<String> {
    if let Some(days) = result.as_any().downcast_ref::<Date32Array>() {
        let since = TimeDelta::try_days(i64::from(days.value(0)))?;
        return Some(NaiveDate::default().checked_add_signed(since)?.to_string());
    }
    let numbers = result.as_any().downcast_ref::<Decimal128Array>()?;
    let number = Decimal::of_digits(numbers.value(0), u32::from(numbers.scale().unsigned_abs()));
    let sign = if kind == CellKind::Rate { "%" } else { "" };
    Some(format!("{number}{sign}"))
}
