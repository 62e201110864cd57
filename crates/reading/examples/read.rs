//! Reads a document in a process of its own and prints its pages as JSON lines.
//!
//! usage: read LIBPDFIUM FILE

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the terminal is the output of an example")]

use std::process::ExitCode;

use ibid_reading::{Reader, format_of, read_in_this_process, whole};

/// How this program calls itself.
const READ: &str = "read-one-document";

fn main() -> ExitCode {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, command, request] if command == READ => {
            if read_in_this_process(request) {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        [_, library, file] => match read(library, file) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{file}: {error}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("usage: read LIBPDFIUM FILE");
            ExitCode::FAILURE
        }
    }
}

fn read(library: &str, file: &str) -> Result<(), Box<dyn std::error::Error>> {
    let kind = format_of(file, &std::fs::read(file)?).ok_or("it has no format that can be read")?;
    let reader = Reader::new(std::env::current_exe()?, [READ]).with_pdfium(library);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut reading = runtime.block_on(reader.read(file.as_ref(), kind, 0..u32::MAX, |_, _| {}))?;
    whole::complete(&mut reading.pages, 100);
    for page in &reading.pages {
        println!("{}", serde_json::to_string(page)?);
    }
    Ok(())
}
