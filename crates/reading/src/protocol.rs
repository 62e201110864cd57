//! What the reading process is asked, and what it says: one JSON document on each line.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::formats::FileFormat;
use crate::page::Page;

/// What a reading process is to do with the file on its standard input.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Request {
    pub(crate) kind: FileFormat,
    /// Which pages, counted from 0.
    pub(crate) pages: Range<u32>,
    /// Where PDFium's library is.
    pub(crate) pdfium: Option<PathBuf>,
    /// The languages of pages that are images, as tesseract names them.
    pub(crate) languages: Option<String>,
    /// The most address space, in bytes.
    pub(crate) memory: u64,
    /// The most time on a processor, in seconds.
    pub(crate) seconds: u64,
}

/// What a reading process says.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReaderMessage {
    Opened { pages: u32, title: Option<String> },
    Page(Page),
    Failed(Failure),
    Done,
}

/// Why a document cannot be read at all.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// It asks for a password.
    #[error("the file is protected by a password; load a copy without one")]
    Password,
    /// It is no such file, or too damaged to open.
    #[error("the file is damaged, or not of the kind that it claims to be")]
    Damaged,
    /// PDFium is missing or unfit.
    #[error("PDFium could not be loaded ({0}); `ibid doctor` says where to get it")]
    Library(String),
    /// This machine could not begin to read.
    #[error("reading could not begin: {0}")]
    Machine(String),
    /// The process ended without a word.
    #[error("reading it was ended: {0}")]
    Ended(String),
    /// The file has more pages than are read.
    #[error("the file has {0} pages, more than are read from one file")]
    TooManyPages(u32),
}

impl Failure {
    /// Whether the machine is to blame, and not the document: another time it may be read.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Library(_) | Self::Machine(_))
    }
}

/// Where a reading process writes.
pub(crate) struct Output<'a> {
    to: &'a mut dyn Write,
    /// Whether nobody listens any more.
    closed: bool,
}

impl<'a> Output<'a> {
    pub(crate) fn new(to: &'a mut dyn Write) -> Self {
        Self { to, closed: false }
    }

    pub(crate) fn opened(&mut self, pages: u32, title: Option<String>) {
        self.say(&ReaderMessage::Opened { pages, title });
    }

    pub(crate) fn page(&mut self, page: Page) {
        self.say(&ReaderMessage::Page(page));
    }

    /// Whether nobody listens any more, so that reading on is for nothing.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn say(&mut self, said: &ReaderMessage) {
        let written = serde_json::to_vec(said).map_err(std::io::Error::other).and_then(|mut line| {
            line.push(b'\n');
            self.to.write_all(&line)?;
            self.to.flush()
        });
        self.closed |= written.is_err();
    }
}
