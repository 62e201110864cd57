//! The inside of a reading process: limits first, then the file.

use std::io::{Read, Write};

use crate::formats::Parser;
use crate::protocol::{Failure, Output, ReaderMessage, Request};
use crate::{pdf, sandbox};

/// Reads the file on standard input as the request on the command line says, and writes what it finds to
/// standard output. A program that uses this library calls it, before anything else, when it was started
/// with the arguments of its [`Reader`](crate::Reader).
pub fn read_in_this_process(request: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    run(request, &mut std::io::stdin().lock(), &mut stdout)
}

fn run(request: &str, input: &mut dyn Read, to: &mut dyn Write) -> bool {
    let mut output = Output::new(to);
    let result = attempt(request, input, &mut output);
    match &result {
        Ok(()) => output.say(&ReaderMessage::Done),
        Err(failure) => output.say(&ReaderMessage::Failed(failure.clone())),
    }
    result.is_ok()
}

fn attempt(request: &str, input: &mut dyn Read, output: &mut Output<'_>) -> Result<(), Failure> {
    let request: Request = serde_json::from_str(request)
        .map_err(|error| Failure::Machine(format!("the request is unclear: {error}")))?;
    sandbox::enter(&request).map_err(|error| {
        Failure::Machine(format!("the limits of the reading process could not be set: {error}"))
    })?;
    let mut bytes = Vec::new();
    input
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Ended(format!("the file could not be read: {error}")))?;
    match request.kind.entry().parser {
        Parser::Pdfium => {
            let library =
                request.pdfium.ok_or_else(|| Failure::Library("no path is configured".to_owned()))?;
            pdf::read(bytes, &library, request.languages.as_deref(), request.pages, output)
        }
        Parser::Text(parse) => {
            let (title, pages) = parse(&decoded(&bytes));
            let count = u32::try_from(pages.len()).map_err(|_| Failure::TooManyPages(u32::MAX))?;
            output.opened(count, title);
            for page in pages.into_iter().filter(|page| request.pages.contains(&(page.number - 1))) {
                output.page(page);
            }
            Ok(())
        }
        Parser::Rows(read) => read(bytes, request.pages, output),
    }
}

/// UTF-8 where it is, else what a byte order mark says, else the Western code page.
pub(crate) fn decoded(bytes: &[u8]) -> String {
    let (text, _, malformed) = encoding_rs::UTF_8.decode(bytes);
    if malformed { encoding_rs::WINDOWS_1252.decode(bytes).0.into_owned() } else { text.into_owned() }
}
