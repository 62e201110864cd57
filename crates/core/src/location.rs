//! Where in a document something stands, in the terms of the document's format: a sheet and cells, a slide, a heading and a
//! paragraph.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a format has in the place of pages.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LocationUnit {
    /// A page of a text, as the program that wrote it counts them.
    Page,
    /// A part of a text without pages.
    Section,
    /// A sheet of a spreadsheet.
    Sheet,
    /// A slide of a presentation.
    Slide,
    /// A chapter of a book.
    Chapter,
    /// An e-mail.
    Message,
    /// A page of what is attached to an e-mail.
    Attachment,
}

/// A place in a document whose format has more to say of it than the number of a page.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Location {
    /// What the format has in the place of pages.
    pub unit: LocationUnit,
    /// Its name: of the sheet, the slide, the chapter, the attachment; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The heading over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// Which paragraph or table it is under its heading, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paragraph: Option<u32>,
    /// Its cells, as a spreadsheet names them: `B2:D5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<String>,
}

impl Location {
    /// A whole sheet, slide, chapter or the like.
    pub fn of(unit: LocationUnit, name: impl Into<String>) -> Self {
        Self { unit, name: name.into(), heading: None, paragraph: None, cells: None }
    }

    /// The place in it of some words, by the headings over them and the parts of the page that they stand in.
    #[must_use]
    pub fn of_words(&self, path: &[String], boxes: &[[f32; 4]]) -> Self {
        let around = boxes.iter().copied().reduce(|one, other| {
            [one[0].min(other[0]), one[1].min(other[1]), one[2].max(other[2]), one[3].max(other[3])]
        });
        let mut found = self.clone();
        match self.unit {
            LocationUnit::Sheet => found.cells = around.and_then(cells),
            LocationUnit::Page | LocationUnit::Section => {
                found.heading = path.last().cloned();
                found.paragraph =
                    boxes.first().map(|sides| sides[3].round() as u32).filter(|number| *number > 0);
            }
            _ => {}
        }
        found
    }

    /// In words, with the number of the page that it is to ibid.
    pub fn in_words(&self, page: u32) -> String {
        let mut words = match self.unit {
            LocationUnit::Page => format!("page {page}"),
            LocationUnit::Section if self.heading.is_some() => String::new(),
            LocationUnit::Section => format!("part {page}"),
            LocationUnit::Sheet => format!("sheet {}", self.name),
            LocationUnit::Slide => format!("slide {page}"),
            LocationUnit::Chapter => format!("chapter {page}"),
            LocationUnit::Message => "message".to_owned(),
            LocationUnit::Attachment => format!("attachment {}", self.name),
        };
        let mut add = |more: &dyn fmt::Display| {
            if !words.is_empty() {
                words.push_str(", ");
            }
            words.push_str(&more.to_string());
        };
        if matches!(self.unit, LocationUnit::Slide | LocationUnit::Chapter) && !self.name.is_empty() {
            add(&self.name);
        }
        if let Some(heading) = &self.heading {
            add(heading);
        }
        if let Some(paragraph) = self.paragraph {
            add(&format_args!("paragraph {paragraph}"));
        }
        if let Some(cells) = &self.cells {
            add(cells);
        }
        words
    }
}

/// A place in words: that of the format if it has one, else the page.
pub fn place_in_words(location: Option<&Location>, page: u32) -> String {
    location.map_or_else(|| format!("page {page}"), |location| location.in_words(page))
}

/// The names of the first and last cell of a part of a sheet, whose sides count columns and rows.
fn cells([left, top, right, bottom]: [f32; 4]) -> Option<String> {
    let (first, last) = (cell(left, top)?, cell(right - 1.0, bottom - 1.0)?);
    Some(if first == last { first } else { format!("{first}:{last}") })
}

fn cell(column: f32, row: f32) -> Option<String> {
    if column < 0.0 || row < 0.0 || !column.is_finite() || !row.is_finite() {
        return None;
    }
    let mut letters = Vec::new();
    let mut rest = column.round() as u32 + 1;
    while rest > 0 {
        letters.push(char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    Some(format!("{}{}", letters.iter().rev().collect::<String>(), row.round() as u32 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_words_of_its_format() {
        let sheet = Location::of(LocationUnit::Sheet, "Rates");
        let row = [[0.0, 4.0, 1.0, 5.0], [3.0, 4.0, 4.0, 5.0]];
        assert_eq!(sheet.of_words(&[], &row).in_words(2), "sheet Rates, A5:D5");
        assert_eq!(sheet.of_words(&[], &row[..1]).in_words(2), "sheet Rates, A5");
        assert_eq!(sheet.in_words(2), "sheet Rates");
        assert_eq!(cell(27.0, 11.0).as_deref(), Some("AB12"));

        let path = ["Records".to_owned(), "Retention".to_owned()];
        let section = Location::of(LocationUnit::Section, "Records");
        assert_eq!(section.of_words(&path, &[[0.0, 1.0, 1.0, 2.0]]).in_words(3), "Retention, paragraph 2");
        assert_eq!(section.of_words(&[], &[]).in_words(3), "part 3");
        let page = Location::of(LocationUnit::Page, "");
        assert_eq!(page.of_words(&path, &[]).in_words(3), "page 3, Retention");
        assert_eq!(Location::of(LocationUnit::Slide, "Costs").in_words(3), "slide 3, Costs");
        assert_eq!(place_in_words(None, 7), "page 7");
    }
}
