//! What the reading process is asked, and what it says: one JSON document on each line.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::formats::FileFormat;
use crate::page::Page;
use crate::sandbox::{ProcessLimits, SandboxStatus};

/// What a process is to do with the file on its standard input.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Request {
    pub(crate) limits: ProcessLimits,
    pub(crate) work: Work,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Work {
    /// To read pages of a document.
    Read {
        kind: FileFormat,
        /// Which pages, counted from 0.
        pages: Range<u32>,
        /// Where PDFium's library is.
        pdfium: Option<PathBuf>,
        /// Whether the pixels of pages that are images are wanted.
        images: bool,
    },
    /// To recognise the text of an image, in languages as tesseract names them.
    Recognise { languages: String },
}

/// What a reading process says.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReaderMessage {
    /// It gave up what it does not need, and has read nothing yet.
    Confined(SandboxStatus),
    Opened {
        pages: u32,
        title: Option<String>,
    },
    Page(Page),
    /// A page that is an image. Its pixels follow the line, a byte for each.
    Image {
        page: Page,
        size: ImageSize,
    },
    Failed(Failure),
    Done,
}

/// The size of an image of a page.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct ImageSize {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Pixels for each point.
    pub(crate) scale: f32,
}

impl ImageSize {
    /// No side of an image is longer than this.
    pub(crate) const MOST_PIXELS: u32 = 5000;

    /// How many bytes it takes; none if it is larger than images are.
    pub(crate) fn bytes(self) -> Option<u64> {
        let fits = |side: u32| (1..=Self::MOST_PIXELS).contains(&side);
        let whole = fits(self.width) && fits(self.height) && (0.01..=5.0).contains(&self.scale);
        whole.then(|| u64::from(self.width) * u64::from(self.height))
    }
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
    /// It is in a format that is not read any more.
    #[error("Word and PowerPoint files of before 2007 are not read; save it as .docx or .pptx")]
    Legacy,
    /// Its parts are larger than is read.
    #[error("unpacked, the file is larger than is read ({0} MB); split it")]
    TooLarge(u64),
    /// Its sheets have more cells than are read.
    #[error(
        "the file has more than {0} cells that say something; split it, or load it as a catalogue from CSV"
    )]
    TooManyCells(usize),
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

    pub(crate) fn image(&mut self, page: Page, size: ImageSize, pixels: &[u8]) {
        self.say(&ReaderMessage::Image { page, size });
        self.closed |= self.to.write_all(pixels).and_then(|()| self.to.flush()).is_err();
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
