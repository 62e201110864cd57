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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    #[test]
    fn the_rows_of_a_file_are_texts() {
        let schema = "message cars { optional binary make (UTF8); optional double price; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::default())).unwrap();
        let mut rows = writer.next_row_group().unwrap();
        let mut makes = rows.next_column().unwrap().unwrap();
        let names = [ByteArray::from("Nissan"), ByteArray::from(" Kia ")];
        makes.typed::<ByteArrayType>().write_batch(&names, Some(&[1, 1]), None).unwrap();
        makes.close().unwrap();
        let mut prices = rows.next_column().unwrap().unwrap();
        prices.typed::<DoubleType>().write_batch(&[199_999.5], Some(&[1, 0]), None).unwrap();
        prices.close().unwrap();
        rows.close().unwrap();
        writer.close().unwrap();
        let mut said = Vec::new();
        read(bytes, 0..1, &mut Output::new(&mut said)).unwrap();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains(r#""columns":["make","price"]"#), "{said}");
        assert!(said.contains(r#"{"cells":["Nissan","199999.5"]},{"cells":["Kia",null]}"#), "{said}");
        assert_eq!(
            read(b"PAR1 and no more".to_vec(), 0..1, &mut Output::new(&mut Vec::new())),
            Err(Failure::Damaged)
        );
    }
}
