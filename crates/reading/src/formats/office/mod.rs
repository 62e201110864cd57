//! Files of word processors, spreadsheets and presentations: archives of XML.

mod chart;
mod excel;
mod grid;
mod legacy;
mod numbering;
mod open_document;
mod package;
mod powerpoint;
mod sheet;
mod word;

pub(super) use excel::read as excel;
pub(super) use legacy::read as legacy_excel;
pub(super) use open_document::read as open_document;
pub(super) use package::{Package, attribute, children, xml};
pub(super) use powerpoint::read as powerpoint;
pub(super) use word::read as word;
