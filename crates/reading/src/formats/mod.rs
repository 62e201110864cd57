//! The file formats that can be read, in one table: which files have them, how they are recognised, shown and parsed. Folder
//! walks, messages and the server derive from it. A new format is a row here and a parser beside this file.

mod blocks;
mod epub;
mod flow;
mod html;
mod image;
mod mail;
mod markdown;
mod office;
mod parquet;
mod rows;
mod text;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::page::Page;
use crate::protocol::{Failure, Output};

/// A file format that can be read.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    /// Portable Document Format.
    Pdf,
    /// Markdown.
    Markdown,
    /// HTML.
    Html,
    /// Plain text; a form feed begins a page.
    Text,
    /// Rows of values with separators between them, under a row of names.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Word documents.
    Word,
    /// Excel workbooks.
    Excel,
    /// Excel workbooks of before 2007, and binary ones.
    LegacyExcel,
    /// PowerPoint presentations.
    PowerPoint,
    /// Word documents and PowerPoint presentations of before 2007, which are named and not read.
    LegacyOffice,
    /// OpenDocument texts, sheets and presentations.
    OpenDocument,
    /// EPUB books.
    Epub,
    /// E-mails as they are sent.
    Mail,
    /// E-mails as Outlook keeps them.
    OutlookMail,
    /// PNG, JPEG and TIFF.
    Image,
}

/// What is known of a format.
pub struct FormatEntry {
    /// Which one.
    pub format: FileFormat,
    /// Its name for people.
    pub label: &'static str,
    /// The endings of its files, in lower case.
    pub extensions: &'static [&'static str],
    /// As which media type a browser may show the original. What could run in a browser is plain text.
    pub shown_as: &'static str,
    /// Whether a file begins like one.
    sniff: fn(&[u8]) -> bool,
    /// How it is read.
    pub(crate) parser: Parser,
}

/// So many of the first bytes tell a format.
pub const SNIFFED: usize = 4096;

/// How a format is read.
#[derive(Clone, Copy)]
pub(crate) enum Parser {
    /// By PDFium, page by page.
    Pdfium,
    /// From its text, all at once.
    Text(fn(&str) -> Parsed),
    /// From its bytes, all at once.
    Whole(fn(&[u8]) -> Result<Parsed, Failure>),
    /// Image by image, with pixels to recognise.
    Images(ReadImages),
    /// Row by row, so many of which are a page.
    Rows(ReadRows),
}

/// Reads the pages that are wanted of a file, and tells them.
pub(crate) type ReadRows = fn(Vec<u8>, Range<u32>, &mut Output<'_>) -> Result<(), Failure>;

/// Reads the pages that are wanted of an image file, and tells them, with their pixels if these are wanted.
pub(crate) type ReadImages = fn(&[u8], bool, Range<u32>, &mut Output<'_>) -> Result<(), Failure>;

/// The title of a document, if it says one, and its pages.
pub(crate) type Parsed = (Option<String>, Vec<Page>);

/// How images begin, and as what a browser may show them.
const IMAGES: [(&str, &[u8]); 4] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", &[0xff, 0xd8, 0xff]),
    ("image/tiff", b"II*\0"),
    ("image/tiff", b"MM\0*"),
];

const PLAIN: &str = "text/plain; charset=utf-8";

/// All of them, the surest sign first.
pub const FILE_FORMATS: &[FormatEntry] = &[
    FormatEntry {
        format: FileFormat::Pdf,
        label: "PDF",
        extensions: &["pdf"],
        shown_as: "application/pdf",
        // Some programs write a little before it.
        sniff: |beginning| beginning.windows(5).take(1024).any(|bytes| bytes == b"%PDF-"),
        parser: Parser::Pdfium,
    },
    FormatEntry {
        format: FileFormat::Parquet,
        label: "Parquet",
        extensions: &["parquet"],
        shown_as: "application/octet-stream",
        sniff: |beginning| beginning.starts_with(b"PAR1"),
        parser: Parser::Rows(parquet::read),
    },
    FormatEntry {
        format: FileFormat::Word,
        label: "Word",
        extensions: &["docx", "docm", "dotx", "dotm"],
        shown_as: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        sniff: |beginning| is_archive_of(beginning, b"word/"),
        parser: Parser::Whole(office::word),
    },
    FormatEntry {
        format: FileFormat::Excel,
        label: "Excel",
        extensions: &["xlsx", "xlsm", "xltx", "xltm"],
        shown_as: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        sniff: |beginning| is_archive_of(beginning, b"xl/"),
        parser: Parser::Whole(office::excel),
    },
    FormatEntry {
        format: FileFormat::LegacyExcel,
        label: "Excel 97 and binary Excel",
        extensions: &["xls", "xlt", "xlsb"],
        shown_as: "application/vnd.ms-excel",
        sniff: |_| false,
        parser: Parser::Whole(office::legacy_excel),
    },
    FormatEntry {
        format: FileFormat::PowerPoint,
        label: "PowerPoint",
        extensions: &["pptx", "pptm", "ppsx", "potx"],
        shown_as: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        sniff: |beginning| is_archive_of(beginning, b"ppt/"),
        parser: Parser::Whole(office::powerpoint),
    },
    FormatEntry {
        format: FileFormat::LegacyOffice,
        label: "Word and PowerPoint of before 2007",
        extensions: &["doc", "dot", "ppt", "pps"],
        shown_as: "application/octet-stream",
        sniff: |_| false,
        parser: Parser::Whole(|_| Err(Failure::Legacy)),
    },
    FormatEntry {
        format: FileFormat::OpenDocument,
        label: "OpenDocument",
        extensions: &["odt", "ods", "odp", "ott", "ots", "otp"],
        shown_as: "application/vnd.oasis.opendocument.text",
        sniff: |beginning| is_archive_of(beginning, b"mimetypeapplication/vnd.oasis.opendocument"),
        parser: Parser::Whole(office::open_document),
    },
    FormatEntry {
        format: FileFormat::Epub,
        label: "EPUB",
        extensions: &["epub"],
        shown_as: "application/epub+zip",
        sniff: |beginning| is_archive_of(beginning, b"mimetypeapplication/epub+zip"),
        parser: Parser::Whole(epub::read),
    },
    FormatEntry {
        format: FileFormat::OutlookMail,
        label: "Outlook",
        extensions: &["msg"],
        shown_as: "application/vnd.ms-outlook",
        sniff: |_| false,
        parser: Parser::Whole(mail::outlook),
    },
    FormatEntry {
        format: FileFormat::Mail,
        label: "e-mail",
        extensions: &["eml"],
        shown_as: PLAIN,
        sniff: |_| false,
        parser: Parser::Whole(mail::message),
    },
    FormatEntry {
        format: FileFormat::Image,
        label: "image",
        extensions: &["png", "jpg", "jpeg", "tif", "tiff"],
        shown_as: "application/octet-stream",
        sniff: |beginning| IMAGES.iter().any(|(_, magic)| beginning.starts_with(magic)),
        parser: Parser::Images(image::read),
    },
    FormatEntry {
        format: FileFormat::Html,
        label: "HTML",
        extensions: &["html", "htm", "xhtml"],
        shown_as: PLAIN,
        sniff: |beginning| {
            let start = String::from_utf8_lossy(beginning).trim_start().to_ascii_lowercase();
            is_text(beginning) && (start.starts_with("<!doctype html") || start.starts_with("<html"))
        },
        parser: Parser::Text(html::parse),
    },
    FormatEntry {
        format: FileFormat::Markdown,
        label: "Markdown",
        extensions: &["md", "markdown"],
        shown_as: PLAIN,
        sniff: |_| false,
        parser: Parser::Text(markdown::parse),
    },
    FormatEntry {
        format: FileFormat::Text,
        label: "plain text",
        extensions: &["txt", "text", "log", "rst", "adoc"],
        shown_as: PLAIN,
        sniff: |_| false,
        parser: Parser::Text(text::parse),
    },
    FormatEntry {
        format: FileFormat::Csv,
        label: "CSV",
        extensions: &["csv", "tsv"],
        shown_as: PLAIN,
        sniff: |_| false,
        parser: Parser::Rows(rows::read),
    },
];

impl FileFormat {
    /// What is known of it.
    pub fn entry(self) -> &'static FormatEntry {
        // Every format is in the table, which a test shows.
        FILE_FORMATS
            .iter()
            .find(|entry| entry.format == self)
            .unwrap_or(&FILE_FORMATS[FILE_FORMATS.len() - 1])
    }

    /// Whether it is read; some are only named.
    pub fn is_read(self) -> bool {
        self != Self::LegacyOffice
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Mail) || matches!(self.entry().parser, Parser::Text(_))
    }

    /// Whether it holds files of other formats.
    pub(crate) fn has_attachments(self) -> bool {
        matches!(self, Self::Mail | Self::OutlookMail)
    }

    /// As which media type a browser may show a file that begins so.
    pub fn shown_as(self, beginning: &[u8]) -> &'static str {
        let image = IMAGES.iter().find(|(_, magic)| beginning.starts_with(magic));
        image.map_or(self.entry().shown_as, |(shown_as, _)| shown_as)
    }
}

/// The format that the name of a file tells.
pub fn format_of_name(name: &str) -> Option<FileFormat> {
    let (_, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    let found = FILE_FORMATS.iter().find(|entry| entry.extensions.contains(&extension.as_str()));
    found.map(|entry| entry.format)
}

/// The format of a document by its first bytes, then by its name; none if it cannot be read.
pub fn format_of(name: &str, beginning: &[u8]) -> Option<FileFormat> {
    let window = &beginning[..beginning.len().min(SNIFFED)];
    if let Some(entry) = FILE_FORMATS.iter().find(|entry| (entry.sniff)(window)) {
        return Some(entry.format);
    }
    match format_of_name(name) {
        // Whoever reads it says what is wrong with it.
        Some(named) if !named.is_text() => Some(named),
        _ if !is_text(window) => None,
        Some(named) => Some(named),
        None => (!name.contains('.') || is_words(window)).then_some(FileFormat::Text),
    }
}

/// The format of rows of data by their first bytes; none if they cannot be read as such.
pub fn format_of_rows(beginning: &[u8]) -> Option<FileFormat> {
    let parquet = FileFormat::Parquet;
    if (parquet.entry().sniff)(beginning) {
        return Some(parquet);
    }
    is_text(beginning).then_some(FileFormat::Csv)
}

/// Whether these bytes begin an archive in whose beginning some words stand: the name of a part.
fn is_archive_of(beginning: &[u8], words: &[u8]) -> bool {
    beginning.starts_with(b"PK\x03\x04") && beginning.windows(words.len()).any(|window| window == words)
}

/// Whether these bytes may be text, also in two bytes a letter.
fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) || bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

/// Whether these bytes look like written text.
fn is_words(bytes: &[u8]) -> bool {
    let odd =
        bytes.iter().filter(|byte| **byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c)).count();
    !bytes.is_empty() && odd * 50 < bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_count_more_than_the_name() {
        assert_eq!(format_of("tariff.txt", b"%PDF-1.7 ..."), Some(FileFormat::Pdf));
        assert_eq!(format_of("rules", b"<!DOCTYPE html><html>"), Some(FileFormat::Html));
        assert_eq!(format_of("rules.md", b"# Rules"), Some(FileFormat::Markdown));
        assert_eq!(format_of("rules.dat", b"Plain words."), Some(FileFormat::Text));
        assert_eq!(format_of("rules.zip", b"PK\x03\x04\x00\x00\x00"), None);
    }

    #[test]
    fn every_format_is_in_the_table() {
        for format in [
            FileFormat::Pdf,
            FileFormat::Markdown,
            FileFormat::Html,
            FileFormat::Text,
            FileFormat::Csv,
            FileFormat::Parquet,
            FileFormat::Word,
            FileFormat::Excel,
            FileFormat::LegacyExcel,
            FileFormat::PowerPoint,
            FileFormat::LegacyOffice,
            FileFormat::OpenDocument,
            FileFormat::Epub,
            FileFormat::Mail,
            FileFormat::OutlookMail,
            FileFormat::Image,
        ] {
            assert_eq!(format.entry().format, format);
        }
    }
}
