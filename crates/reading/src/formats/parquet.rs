//! Apache Parquet: the rows of a file, each value as a text.

use std::ops::Range;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::rows;
use crate::protocol::{Failure, Output};

/// Reads some of the pages.
pub(super) fn read(bytes: Vec<u8>, wanted: Range<u32>, output: &mut Output<'_>) -> Result<(), Failure> {
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).map_err(|_| Failure::Damaged)?;
    let schema = file.metadata().file_metadata().schema();
    let names = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
    let rows = file.get_row_iter(None).map_err(|_| Failure::Damaged)?.map(|row| {
        let row = row.map_err(|_| Failure::Damaged)?;
        Ok(row.get_column_iter().map(|(_, value)| text(value)).collect())
    });
    rows::tell(names, rows, wanted, output)
}

/// A value as a person would write it.
fn text(value: &Field) -> String {
    match value {
        Field::Null => String::new(),
        Field::Str(text) => text.trim().to_owned(),
        // Without the marks that its display has around texts and after whole numbers.
        Field::Double(number) => number.to_string(),
        Field::Float(number) => number.to_string(),
        other => other.to_string().trim_matches('"').to_owned(),
    }
}
