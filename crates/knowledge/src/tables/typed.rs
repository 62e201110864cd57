//! The cells of a table as columns of their types: codes as digits, rates and amounts as exact numbers, dates as days.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Date32Builder, Decimal128Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use chrono::NaiveDate;
use ibid_core::table::{CellKind, TableCell};
use ibid_core::value::{Decimal, Value, Worth, values};

use super::{TableChunk, unreadable};
use crate::{Error, terms};

/// Digits and decimals of numbers. Sums and means of them have room for ten digits more.
pub(super) const PRECISION: u8 = 28;
pub(super) const SCALE: i8 = 9;

/// Languages that write decimals behind a comma.
const COMMA: [&str; 8] = ["de", "es", "fr", "it", "nl", "pl", "pt", "sv"];

/// The columns that stand for column `n` of a table: its text, its digits if it is a code, the number and the day that it
/// holds, and whether the row has it itself.
pub(super) fn text(column: usize) -> String {
    format!("text_{column}")
}
pub(super) fn digits(column: usize) -> String {
    format!("digits_{column}")
}
pub(super) fn number(column: usize) -> String {
    format!("number_{column}")
}
pub(super) fn day(column: usize) -> String {
    format!("day_{column}")
}
pub(super) fn is_own(column: usize) -> String {
    format!("is_own_{column}")
}
/// And which row it is.
pub(super) const ROW: &str = "row";

/// A table with some of its columns by type.
pub(super) struct TypedTable {
    pub(super) chunks: Vec<TableChunk>,
    /// The chunk of each row, and its place among the rows there.
    pub(super) rows: Vec<(usize, usize)>,
    pub(super) batch: RecordBatch,
}

/// How many rows say something.
pub(super) fn count(chunks: &[TableChunk]) -> usize {
    let records = chunks.iter().flat_map(|chunk| chunk.rows.records(&chunk.text));
    records.filter(|record| !record.is_heading()).count()
}

impl TypedTable {
    /// A table with these of its columns.
    pub(super) fn of(
        chunks: Vec<TableChunk>,
        kinds: &BTreeMap<usize, CellKind>,
        language: &str,
    ) -> Result<Self, Error> {
        let mut rows = Vec::new();
        let mut cells: BTreeMap<usize, Vec<TableCell<'_>>> = BTreeMap::new();
        for (at, chunk) in chunks.iter().enumerate() {
            for (place, record) in chunk.rows.records(&chunk.text).enumerate() {
                if record.is_heading() {
                    continue;
                }
                rows.push((at, place));
                for column in kinds.keys() {
                    let empty = TableCell { text: "".into(), span: 0..0, is_inherited: false };
                    let cell = record.cells.get(*column).cloned().unwrap_or(empty);
                    cells.entry(*column).or_default().push(cell);
                }
            }
        }
        let numbers = (0..rows.len() as u64).collect::<Vec<u64>>();
        let mut fields = vec![Field::new(ROW, DataType::UInt64, false)];
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from(numbers))];
        for (column, kind) in kinds {
            let cells = cells.get(column).map_or(&[][..], Vec::as_slice);
            for (name, array) in arrays_of(*column, *kind, cells, language)? {
                fields.push(Field::new(name, array.data_type().clone(), true));
                arrays.push(array);
            }
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(unreadable)?;
        Ok(Self { chunks, rows, batch })
    }

    /// The numbers of the chunks that some rows are in, each once.
    pub(super) fn chunks_of(&self, rows: &[usize]) -> Vec<u32> {
        let mut all: Vec<u32> = Vec::new();
        for (chunk, _) in rows.iter().filter_map(|row| self.rows.get(*row)) {
            let number = self.chunks[*chunk].chunk;
            if !all.contains(&number) {
                all.push(number);
            }
        }
        all
    }
}

fn arrays_of(
    column: usize,
    kind: CellKind,
    cells: &[TableCell<'_>],
    language: &str,
) -> Result<Vec<(String, ArrayRef)>, Error> {
    let comma = has_comma(cells, language);
    let (mut texts, mut all_digits) = (StringBuilder::new(), StringBuilder::new());
    let mut numbers =
        Decimal128Builder::new().with_precision_and_scale(PRECISION, SCALE).map_err(unreadable)?;
    let (mut days, mut own) = (Date32Builder::new(), BooleanBuilder::new());
    for cell in cells {
        texts.append_value(folded(&cell.text));
        all_digits.append_option((kind == CellKind::Code).then(|| digits_of(&cell.text)));
        numbers.append_option(number_in(&cell.text, kind, comma).and_then(in_digits));
        days.append_option(day_in(&cell.text));
        own.append_value(!cell.is_inherited && !cell.text.is_empty());
    }
    Ok(vec![
        (text(column), Arc::new(texts.finish())),
        (digits(column), Arc::new(all_digits.finish())),
        (number(column), Arc::new(numbers.finish())),
        (day(column), Arc::new(days.finish())),
        (is_own(column), Arc::new(own.finish())),
    ])
}

/// A number as it stands in a column, unless it has too many digits.
pub(super) fn in_digits(number: Decimal) -> Option<i128> {
    let digits = number.rounded(SCALE.unsigned_abs().into()).scaled(SCALE.unsigned_abs().into())?;
    (digits.unsigned_abs() < 10_u128.pow(PRECISION.into())).then_some(digits)
}

/// A text as it is compared: without case, accents and needless space.
pub(crate) fn folded(text: &str) -> String {
    terms::folded(text).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The digits of a code.
pub(super) fn digits_of(code: &str) -> String {
    code.chars().filter(char::is_ascii_digit).collect()
}

/// Whether the numbers of a column have their decimals behind a comma: as most of those do that can be read in one way only, else
/// as is usual in the language.
fn has_comma(cells: &[TableCell<'_>], language: &str) -> bool {
    let mut votes = 0_i64;
    for cell in cells {
        for value in values(&cell.text) {
            if let ([reading], Some(last)) = (value.worth.readings(), value.written.rfind(['.', ',']))
                && reading.places() > 0
            {
                votes += if value.written[last..].starts_with(',') { 1 } else { -1 };
            }
        }
    }
    if votes == 0 { COMMA.contains(&language) } else { votes > 0 }
}

/// The one number in a text. What is free has the rate 0.
pub(super) fn number_in(text: &str, kind: CellKind, comma: bool) -> Option<Decimal> {
    let found = values(text);
    let [value] = found.as_slice() else {
        let is_free = kind == CellKind::Rate && found.is_empty() && CellKind::of([text]) == CellKind::Rate;
        return is_free.then(|| Decimal::from(0));
    };
    let readings = value.worth.readings();
    // The first way to read a number is that of points.
    let number = if comma { readings.last() } else { readings.first() };
    number.map(|number| if is_negative(text, value) { number.negated() } else { *number })
}

/// Whether a number stands behind a minus, or alone in brackets.
fn is_negative(text: &str, value: &Value) -> bool {
    let (before, after) = (text[..value.stands.start].trim(), text[value.stands.end..].trim());
    let before = before.trim_end_matches(['$', '\u{20ac}', '\u{a3}', ' ']);
    let has_minus = before.ends_with(['\u{2212}', '-', '\u{2013}'])
        && before.trim_end_matches(['\u{2212}', '-', '\u{2013}']).is_empty();
    has_minus || (before == "(" && after == ")")
}

/// The one day in a text, as days since 1970.
pub(super) fn day_in(text: &str) -> Option<i32> {
    let found = values(text);
    let [Value { worth: Worth::Date(dates), .. }] = found.as_slice() else { return None };
    let (year, month, day) = dates.first()?.parts();
    let day = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?;
    i32::try_from((day - NaiveDate::default()).num_days()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_numbers_with_their_sign_and_notation() {
        for (text, kind, comma, expected) in [
            ("2.5%", CellKind::Rate, false, Some("2.5")),
            ("Free", CellKind::Rate, false, Some("0")),
            ("Free (A, AU)", CellKind::Rate, false, Some("0")),
            ("3.5\u{a2}/kg + 2%", CellKind::Rate, false, None),
            ("1,234", CellKind::Amount, false, Some("1234")),
            ("1,234", CellKind::Amount, true, Some("1.234")),
            ("1.234,50 \u{20ac}", CellKind::Amount, false, Some("1234.5")),
            ("(17)", CellKind::Amount, false, Some("-17")),
            ("-$5.20", CellKind::Amount, false, Some("-5.2")),
            ("\u{2212}3", CellKind::Amount, false, Some("-3")),
            ("", CellKind::Amount, false, None),
            ("n/a", CellKind::Amount, false, None),
        ] {
            let found = number_in(text, kind, comma).map(|number| number.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        assert_eq!((day_in("1970-01-02"), day_in("January 3, 1970"), day_in("x")), (Some(1), Some(2), None));
        assert_eq!(folded("  Ca\u{f1}\u{f3}n\n Alto "), "canon alto");
    }

    #[test]
    fn the_column_tells_what_a_comma_means() {
        let cells = |texts: &[&'static str]| -> Vec<TableCell<'static>> {
            let cell =
                |text: &&'static str| TableCell { text: (*text).into(), span: 0..0, is_inherited: false };
            texts.iter().map(cell).collect()
        };
        assert!(has_comma(&cells(&["1.234", "12,5"]), "en"));
        assert!(!has_comma(&cells(&["1,234", "12.5"]), "es"));
        assert!(has_comma(&cells(&["1.234"]), "es") && !has_comma(&cells(&["1,234"]), "en"));
    }
}
