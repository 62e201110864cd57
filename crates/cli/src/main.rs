//! The binary `ibid`: reads its arguments, runs one command, and says what went wrong.

#![expect(clippy::print_stderr, reason = "the terminal is this crate's output")]

mod arguments;
mod assistants;
mod commands;
mod config;
mod library;
mod nearest;
mod parts;
mod rehearsal;
mod remote;

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

/// How this program calls itself to read one untrusted document in a process of its own.
pub(crate) const READ: &str = "read-one-document";

fn main() -> ExitCode {
    // Before anything else is set up, since that process gives up what it does not need.
    if let [_, command, request] = std::env::args().collect::<Vec<_>>().as_slice()
        && command == READ
    {
        let read = ibid_reading::read_in_this_process(request);
        return if read { ExitCode::SUCCESS } else { ExitCode::from(FAILED) };
    }
    // Missing is fine: the file is for those who want one.
    let _ = dotenvy::dotenv();
    let filter = tracing_subscriber::EnvFilter::try_from_env("IBID_LOG");
    let filter = filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(told) => {
            let _ = told.print();
            return if told.use_stderr() { ExitCode::from(UNREADABLE) } else { ExitCode::SUCCESS };
        }
    };
    match commands::run(arguments) {
        Ok(code) => code,
        // Whoever read the output has seen enough, as `| head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", told(&error));
            ExitCode::from(FAILED)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(broken)
}

/// An error with everything underneath it that it does not say itself.
fn told(error: &anyhow::Error) -> String {
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
