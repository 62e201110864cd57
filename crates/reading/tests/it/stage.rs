//! What the tests read with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ibid_reading::page::{Block, Page, Table};
use ibid_reading::{Failure, FileFormat, Reader, ReaderLimits, Reading, whole};
use ibid_testkit::RealModels;

/// The example program, which cargo builds together with the tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().expect("the test knows itself");
    let folder = tests.ancestors().nth(2).expect("the folder of what was built");
    let program = folder.join("examples/read");
    assert!(program.exists(), "{} is missing; `cargo build --examples` makes it", program.display());
    program
}

pub(crate) fn reader() -> Reader {
    let limits = ReaderLimits {
        opening: Duration::from_secs(10),
        silence: Duration::from_secs(30),
        ..ReaderLimits::default()
    };
    Reader::new(program(), ["read-one-document"])
        .with_pdfium(RealModels::find().path("pdfium/libpdfium.so"))
        .within(limits)
}

pub(crate) async fn read_with(reader: &Reader, file: &Path, kind: FileFormat) -> Result<Reading, Failure> {
    let mut reading = reader.read(file, kind, 0..u32::MAX, |_, _| {}).await?;
    whole::complete(&mut reading.pages, 100);
    Ok(reading)
}

pub(crate) async fn read(file: &Path) -> Reading {
    let bytes = std::fs::read(file).expect("the file is there");
    let kind = ibid_reading::format_of(&file.to_string_lossy(), &bytes).expect("a known form");
    read_with(&reader(), file, kind).await.expect("it can be read")
}

/// A file among those that lie beside the tests.
pub(crate) fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name)
}

pub(crate) fn tables(page: &Page) -> impl Iterator<Item = &Table> {
    page.blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    })
}
