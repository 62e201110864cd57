//! Excel workbooks of before 2007 and binary ones, which calamine reads; and the container that older office files are.

use std::io::{Cursor, Read, Seek};

use calamine::{Data, Reader, SheetVisible, Sheets, open_workbook_auto_from_rs};

use super::sheet::{MOST_CELLS, Sheet, Shown, pages};
use crate::formats::Parsed;
use crate::protocol::Failure;

/// Whether some bytes begin a Compound File, as older office files and mails of Outlook are.
pub(in crate::formats) fn is_compound(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1])
}

/// Whether such a file holds another one that a password protects.
pub(super) fn is_encrypted(bytes: &[u8]) -> bool {
    cfb::CompoundFile::open(Cursor::new(bytes)).is_ok_and(|file| file.is_stream("/EncryptedPackage"))
}

/// The sheets of a workbook.
pub(in crate::formats) fn read(bytes: &[u8]) -> Result<Parsed, Failure> {
    if is_compound(bytes) && is_encrypted(bytes) {
        return Err(Failure::Password);
    }
    let mut workbook = open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(|error| failure(&error))?;
    let mut sheets = Vec::new();
    let mut left = MOST_CELLS;
    for sheet in workbook.sheets_metadata().to_vec() {
        let mut found = Sheet {
            name: sheet.name.clone(),
            is_hidden: sheet.visible != SheetVisible::Visible,
            ..Sheet::default()
        };
        if !found.is_hidden {
            read_cells(&mut workbook, &mut found, &mut left)?;
        }
        sheets.push(found);
    }
    Ok((None, pages(sheets)))
}

fn failure(error: &calamine::Error) -> Failure {
    let password = matches!(error, calamine::Error::Xls(calamine::XlsError::Password));
    if password { Failure::Password } else { Failure::Damaged }
}

fn read_cells<R: Read + Seek + Clone>(
    workbook: &mut Sheets<R>,
    sheet: &mut Sheet,
    left: &mut usize,
) -> Result<(), Failure> {
    // A sheet that is a chart or a macro has no cells.
    let Ok(range) = workbook.worksheet_range(&sheet.name) else { return Ok(()) };
    let (top, first) = range.start().unwrap_or_default();
    for (row, cells) in (top..).zip(range.rows()) {
        let said = (first..).zip(cells).filter_map(|(column, cell)| Some((column, shown(cell)?)));
        let said: Vec<(u32, Shown)> = said.collect();
        *left = left.checked_sub(said.len()).ok_or(Failure::TooManyCells(MOST_CELLS))?;
        if !said.is_empty() {
            sheet.rows.push((row, said));
        }
    }
    Ok(())
}

/// What a cell shows. How its number is written is not known here, but for dates.
fn shown(cell: &Data) -> Option<Shown> {
    let (text, is_value) = match cell {
        Data::Empty => return None,
        Data::String(text) => (text.clone(), false),
        Data::Error(error) => (error.to_string(), false),
        Data::Bool(value) => ((if *value { "TRUE" } else { "FALSE" }).to_owned(), true),
        Data::DateTime(date) if date.is_duration() => (general(date.as_f64(), "[h]:mm:ss"), true),
        Data::DateTime(date) if date.as_f64().fract() == 0.0 => (general(date.as_f64(), "yyyy-mm-dd"), true),
        Data::DateTime(date) => (general(date.as_f64(), "yyyy-mm-dd hh:mm"), true),
        Data::Float(value) => (general(*value, "General"), true),
        Data::Int(value) => (value.to_string(), true),
        other => (other.to_string(), true),
    };
    (!text.trim().is_empty()).then_some(Shown { text, is_value })
}

fn general(value: f64, format: &str) -> String {
    ssfmt::format_default(value, format).unwrap_or_else(|_| value.to_string())
}
