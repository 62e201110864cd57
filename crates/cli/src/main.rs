//! The binary `ibid`: reads its arguments, runs one command, and says what went wrong.

#![expect(clippy::print_stderr, reason = "the terminal is this crate's output")]

mod arguments;
mod client;
mod commands;
mod config;
mod conversations;
mod machine;
mod place;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;

/// A server makes and drops many small things on many threads, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Something is wrong with what was asked for.
const FAILED: u8 = 1;
/// The arguments cannot be read.
const UNREADABLE: u8 = 64;

fn main() -> ExitCode {
    // Before anything else is set up, since that process gives up what it does not need.
    if let Some(read) = ibid_app::read_document_if_asked() {
        return if read { ExitCode::SUCCESS } else { ExitCode::from(FAILED) };
    }
    // Missing is fine: the file is for those who want one.
    let _ = dotenvy::dotenv();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(UNREADABLE) } else { ExitCode::SUCCESS };
        }
    };
    let telemetry = match commands::telemetry(&arguments.global) {
        Ok(telemetry) => telemetry,
        Err(error) => return failed(&error),
    };
    match commands::run(arguments, &telemetry) {
        Ok(code) => code,
        // Whoever read the output has seen enough, as `| head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {}", commands::printable(&error_chain(error)));
    ExitCode::from(FAILED)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(broken)
}

/// An error with everything underneath it that it does not say itself.
fn error_chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text.push_str("\n  because: ");
            text.push_str(&cause);
        }
    }
    text
}
