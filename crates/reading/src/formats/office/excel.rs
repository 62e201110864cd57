//! Excel workbooks: cells as their formats show them, of formulas the last result. Hidden sheets, rows and columns are left out.

use std::collections::HashSet;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use ssfmt::{DateSystem, FormatOptions, NumberFormat};

use super::package::{Package, attribute, below, child, children, is_on, xml};
use super::sheet::{MOST_CELLS, Sheet, Shown, pages};
use crate::formats::Parsed;
use crate::protocol::Failure;

/// The title and sheets of a workbook.
pub(in crate::formats) fn read(bytes: &[u8]) -> Result<Parsed, Failure> {
    let mut package = Package::open(bytes)?;
    let main = package.main("xl/workbook.xml")?;
    let text = package.needed(&main)?;
    let workbook = xml(&text)?;
    let related = package.relationships(&main)?;
    let target = |kind: &str| related.values().find(|one| one.kind == kind).map(|one| one.target.clone());
    let strings = match target("sharedStrings") {
        Some(target) => shared_strings(&package.text(&target)?.unwrap_or_default())?,
        None => Vec::new(),
    };
    let since_1904 = child(workbook.root_element(), "workbookPr")
        .is_some_and(|properties| attribute(properties, "date1904").is_some_and(|value| is_on(Some(value))));
    let formats = match target("styles") {
        Some(target) => Formats::read(&package.text(&target)?.unwrap_or_default(), since_1904)?,
        None => Formats::default(),
    };
    let comments = package.names("xl/comments").len() + package.names("xl/threadedComments").len();
    let mut left = MOST_CELLS;
    let mut sheets = Vec::new();
    for node in child(workbook.root_element(), "sheets").into_iter().flat_map(|list| children(list, "sheet"))
    {
        let id = node.attributes().find(|one| one.name() == "id" && one.namespace().is_some());
        // A sheet that is a chart has no cells.
        let target = id.and_then(|id| related.get(id.value())).filter(|one| one.kind == "worksheet");
        let Some(target) = target.map(|one| one.target.clone()) else { continue };
        let mut sheet = Sheet {
            name: attribute(node, "name").unwrap_or_default().to_owned(),
            is_hidden: attribute(node, "state").is_some_and(|state| state != "visible"),
            ..Sheet::default()
        };
        if let Some(text) = package.text(&target)?.filter(|_| !sheet.is_hidden) {
            read_sheet(&text, &strings, &formats, &mut sheet, &mut left)?;
        }
        sheets.push(sheet);
    }
    if let Some(first) = sheets.first_mut().filter(|_| comments > 0) {
        first.remarks.push("The comments on its cells are left out.".to_owned());
    }
    Ok((package.title()?, pages(sheets)))
}

/// The texts that cells share.
fn shared_strings(text: &str) -> Result<Vec<String>, Failure> {
    let mut reader = Reader::from_str(text);
    let (mut strings, mut current) = (Vec::new(), String::new());
    let (mut in_text, mut in_reading) = (false, false);
    loop {
        match reader.read_event().map_err(|_| Failure::Damaged)? {
            Event::Start(start) => match start.local_name().as_ref() {
                "t" => in_text = true,
                // How Japanese words are read stands beside them.
                "rPh" => in_reading = true,
                _ => {}
            },
            Event::End(end) => match end.local_name().as_ref() {
                "t" => in_text = false,
                "rPh" => in_reading = false,
                "si" => strings.push(std::mem::take(&mut current)),
                _ => {}
            },
            Event::Empty(empty) if empty.local_name().as_ref() == "si" => strings.push(String::new()),
            Event::Eof => return Ok(strings),
            event => push_text(&event, in_text && !in_reading, &mut current)?,
        }
    }
}

/// Adds what an event says, if it is part of a text.
fn push_text(event: &Event<'_>, is_wanted: bool, to: &mut String) -> Result<(), Failure> {
    if !is_wanted {
        return Ok(());
    }
    match event {
        Event::Text(text) => to.push_str(text),
        Event::CData(text) => to.push_str(text),
        Event::GeneralRef(reference) => {
            if let Some(char) = reference.resolve_char_ref().map_err(|_| Failure::Damaged)? {
                to.push(char);
            } else {
                to.push_str(quick_xml::escape::resolve_predefined_entity(reference).unwrap_or_default());
            }
        }
        _ => {}
    }
    Ok(())
}

/// How numbers are shown, by the number of a cell's style.
#[derive(Default)]
struct Formats {
    of_style: Vec<Option<NumberFormat>>,
    options: FormatOptions,
}

impl Formats {
    fn read(text: &str, since_1904: bool) -> Result<Self, Failure> {
        let document = xml(text)?;
        let root = document.root_element();
        let own: Vec<(u32, &str)> = child(root, "numFmts")
            .into_iter()
            .flat_map(|list| children(list, "numFmt"))
            .filter_map(|node| {
                Some((attribute(node, "numFmtId")?.parse().ok()?, attribute(node, "formatCode")?))
            })
            .collect();
        let styles = below(root, &["cellXfs"]).into_iter().flat_map(|list| children(list, "xf"));
        let of_style = styles.map(|style| {
            let id: u32 = attribute(style, "numFmtId")?.parse().ok()?;
            let own = own.iter().find(|(number, _)| *number == id).map(|(_, code)| *code);
            let code = own.or_else(|| match id {
                // The date as the language of whoever looks writes it: here so that everybody can read it.
                14 => Some("yyyy-mm-dd"),
                22 => Some("yyyy-mm-dd hh:mm"),
                id => ssfmt::format_code_from_id(id),
            })?;
            NumberFormat::parse(code).ok()
        });
        let date_system = if since_1904 { DateSystem::Date1904 } else { DateSystem::Date1900 };
        Ok(Self {
            of_style: of_style.collect(),
            options: FormatOptions { date_system, ..FormatOptions::default() },
        })
    }

    /// A number as its style shows it.
    fn shown(&self, raw: &str, style: usize) -> String {
        let Ok(value) = raw.parse::<f64>() else { return raw.to_owned() };
        let format = self.of_style.get(style).and_then(Option::as_ref);
        let shown = format.and_then(|format| format.try_format(value, &self.options).ok());
        let shown = shown
            .filter(|shown| !shown.trim().is_empty())
            .unwrap_or_else(|| ssfmt::format_default(value, "General").unwrap_or_default());
        shown.trim().to_owned()
    }
}

/// The cell that is being read.
#[derive(Default)]
struct Current {
    row: u32,
    column: u32,
    style: usize,
    kind: String,
    text: String,
}

fn read_sheet(
    text: &str,
    strings: &[String],
    formats: &Formats,
    sheet: &mut Sheet,
    left: &mut usize,
) -> Result<(), Failure> {
    let mut reader = Reader::from_str(text);
    let mut current = Current::default();
    let mut hidden_columns: HashSet<u32> = HashSet::new();
    let (mut is_row_hidden, mut is_wanted) = (false, false);
    let (mut row, mut column) = (0, 0);
    loop {
        let event = reader.read_event().map_err(|_| Failure::Damaged)?;
        let (start, is_empty) = match &event {
            Event::Start(start) => (Some(start), false),
            Event::Empty(start) => (Some(start), true),
            Event::Eof => break,
            _ => (None, false),
        };
        if let Some(start) = start {
            match start.local_name().as_ref() {
                "col" if value(start, "hidden").is_some_and(|value| is_on(Some(&value))) => {
                    let bound = |name| value(start, name).and_then(|value| value.parse::<u32>().ok());
                    if let (Some(first), Some(last)) = (bound("min"), bound("max")) {
                        hidden_columns.extend(
                            (first..=last.min(first.saturating_add(16_384)))
                                .map(|column| column.saturating_sub(1)),
                        );
                    }
                }
                "row" => {
                    let number = value(start, "r").and_then(|number| number.parse::<u32>().ok());
                    row = number.map_or(row + 1, |number| number.max(1));
                    column = 0;
                    is_row_hidden = value(start, "hidden").is_some_and(|value| is_on(Some(&value)));
                    if is_row_hidden {
                        sheet.hidden_rows.insert(row - 1);
                    }
                }
                "c" => {
                    let at = value(start, "r").and_then(|name| position(&name));
                    column = at.map_or(column, |(_, column)| column);
                    current = Current {
                        row: row.saturating_sub(1),
                        column,
                        style: value(start, "s").and_then(|style| style.parse().ok()).unwrap_or_default(),
                        kind: value(start, "t").unwrap_or_default(),
                        text: String::new(),
                    };
                    column += 1;
                }
                "v" | "t" => is_wanted = !is_empty,
                "mergeCell" => {
                    if let Some((first, last)) = value(start, "ref").and_then(|range| range_of(&range)) {
                        sheet.merged.add(first, last);
                    }
                }
                _ => {}
            }
            continue;
        }
        if let Event::End(end) = &event {
            match end.local_name().as_ref() {
                "v" | "t" => is_wanted = false,
                "c" if !is_row_hidden && !hidden_columns.contains(&current.column) => {
                    *left = left.checked_sub(1).ok_or(Failure::TooManyCells(MOST_CELLS))?;
                    keep(&mut sheet.rows, std::mem::take(&mut current), strings, formats);
                }
                _ => {}
            }
        }
        push_text(&event, is_wanted, &mut current.text)?;
    }
    for (count, what) in [(sheet.hidden_rows.len(), "rows"), (hidden_columns.len().min(16_384), "columns")] {
        if count > 0 {
            sheet.remarks.push(format!("{count} hidden {what} are left out."));
        }
    }
    Ok(())
}

/// Keeps what a cell shows, if it shows something.
fn keep(rows: &mut Vec<(u32, Vec<(u32, Shown)>)>, cell: Current, strings: &[String], formats: &Formats) {
    let (text, is_value) = match &*cell.kind {
        "s" => (
            cell.text
                .trim()
                .parse()
                .ok()
                .and_then(|number: usize| strings.get(number))
                .cloned()
                .unwrap_or_default(),
            false,
        ),
        "str" | "inlineStr" | "e" => (cell.text, false),
        "b" => ((if cell.text.trim() == "1" { "TRUE" } else { "FALSE" }).to_owned(), true),
        "d" => (cell.text, true),
        _ if cell.text.trim().is_empty() => return,
        _ => (formats.shown(cell.text.trim(), cell.style), true),
    };
    if text.trim().is_empty() {
        return;
    }
    match rows.last_mut() {
        Some((last, cells)) if *last == cell.row => cells.push((cell.column, Shown { text, is_value })),
        // Rows come in their order; a file in which they do not is read as far as they do.
        Some((last, _)) if *last > cell.row => {}
        _ => rows.push((cell.row, vec![(cell.column, Shown { text, is_value })])),
    }
}

/// An attribute of an element.
fn value(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = start.attributes().flatten().find(|one| one.key.local_name().as_ref() == name)?;
    Some(found.value.into_owned())
}

/// The row and column, from 0, of a cell that is named like `B7`.
fn position(name: &str) -> Option<(u32, u32)> {
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic).count();
    let mut column = 0_u32;
    for letter in name[..letters].bytes() {
        column = column.checked_mul(26)?.checked_add(u32::from(letter.to_ascii_uppercase() - b'A') + 1)?;
    }
    Some((name[letters..].parse::<u32>().ok()?.checked_sub(1)?, column.checked_sub(1)?))
}

fn range_of(range: &str) -> Option<((u32, u32), (u32, u32))> {
    let (first, last) = range.split_once(':')?;
    Some((position(first)?, position(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_named_by_letters_and_numbers() {
        assert_eq!(position("A1"), Some((0, 0)));
        assert_eq!(position("AB12"), Some((11, 27)));
        assert_eq!(position("A0"), None);
        assert_eq!(position("ZZZZZZZZZ1"), None);
        assert_eq!(range_of("B2:C5"), Some(((1, 1), (4, 2))));
    }

    #[test]
    fn numbers_are_shown_as_their_style_shows_them() {
        let text = r##"<styleSheet><numFmts><numFmt numFmtId="164" formatCode="&quot;$&quot;#,##0.00"/></numFmts><cellXfs>
            <xf numFmtId="0"/><xf numFmtId="10"/><xf numFmtId="164"/><xf numFmtId="14"/><xf numFmtId="3"/></cellXfs></styleSheet>"##;
        let formats = Formats::read(text, false).unwrap();
        for (raw, style, shown) in [
            ("0.025", 1, "2.50%"),
            ("1234.5", 2, "$1,234.50"),
            ("45658", 3, "2025-01-01"),
            ("1234567", 4, "1,234,567"),
            ("0.1", 0, "0.1"),
            ("7", 9, "7"),
        ] {
            assert_eq!(formats.shown(raw, style), shown);
        }
    }
}
