//! The inside of a reading process: limits first, then the file.

use std::io::{Read, Write};
use std::ops::Range;

use crate::formats::{Parsed, Parser};
use crate::protocol::{Failure, Output, ReaderMessage, Request, Work};
use crate::sandbox::Duty;
use crate::{pdf, recognition, sandbox};

/// Does with the file on standard input what the request on the command line says, and writes what it finds to standard
/// output. A program that uses this library calls it, before anything else, when it was started with the arguments of its
/// [`Reader`](crate::Reader).
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
    let Request { limits, work } = serde_json::from_str(request)
        .map_err(|error| Failure::Machine(format!("the request is unclear: {error}")))?;
    let unconfined = |error: std::io::Error| {
        Failure::Machine(format!("the process that reads documents cannot be confined: {error}"))
    };
    let (kind, pages, pdfium, images) = match work {
        Work::Read { kind, pages, pdfium, images } => (kind, pages, pdfium, images),
        Work::Recognise { languages } => {
            let program = recognition::program()?;
            sandbox::enter(Duty::Recognise { program: &program }, &limits).map_err(unconfined)?;
            return Err(recognition::become_program(&program, &languages));
        }
    };
    let status = sandbox::enter(Duty::Read { pdfium: pdfium.as_deref() }, &limits).map_err(unconfined)?;
    output.say(&ReaderMessage::Confined(status));
    let mut bytes = Vec::new();
    input
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Ended(format!("the file could not be read: {error}")))?;
    match kind.entry().parser {
        Parser::Pdfium => {
            let library = pdfium.ok_or_else(|| Failure::Library("no path is configured".to_owned()))?;
            pdf::read(bytes, &library, images, pages, output)
        }
        Parser::Text(parse) => tell(parse(&decoded(&bytes)), &pages, output),
        Parser::Whole(parse) => tell(parse(&bytes)?, &pages, output),
        Parser::Images(read) => read(&bytes, images, pages, output),
        Parser::Rows(read) => read(bytes, pages, output),
    }
}

/// Tells the pages that are wanted of a document that was read at once.
fn tell((title, found): Parsed, wanted: &Range<u32>, output: &mut Output<'_>) -> Result<(), Failure> {
    let count = u32::try_from(found.len()).map_err(|_| Failure::TooManyPages(u32::MAX))?;
    output.opened(count, title);
    for page in found.into_iter().filter(|page| wanted.contains(&(page.number - 1))) {
        output.page(page);
    }
    Ok(())
}

/// UTF-8 where it is, else what a byte order mark says, else the Western code page.
pub(crate) fn decoded(bytes: &[u8]) -> String {
    let (text, _, malformed) = encoding_rs::UTF_8.decode(bytes);
    if malformed { encoding_rs::WINDOWS_1252.decode(bytes).0.into_owned() } else { text.into_owned() }
}
