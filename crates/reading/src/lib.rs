//! Untrusted documents to pages: lines, tables and their places.
//!
//! A document is read by a process of its own, with limits of memory and time and without a network
//! ([`Reader`]); what it says of each page arrives as soon as the page is read. [`whole`] then looks at
//! all pages together: running headers, tables over page breaks, pages without content.

mod child;
pub mod codes;
mod formats;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod page;
mod pdf;
mod protocol;
mod reader;
mod recognition;
mod sandbox;
pub mod whole;

pub use child::read_in_this_process;
pub use formats::{
    FILE_FORMATS, FileFormat, FormatEntry, SNIFFED, format_of, format_of_name, format_of_rows,
};
pub use protocol::Failure;
pub use reader::{Reader, ReaderLimits, Reading};
pub use sandbox::SandboxStatus;
