//! `ibid engine`: where conversations are kept.

use std::io::Write;
use std::process::ExitCode;

use ibid_app::{Settings, copy_engine};

use super::{counted, runtime};
use crate::arguments::EngineCommand;

/// Copies conversations and loads, and says what was copied.
pub(super) fn run(config: &Settings, command: &EngineCommand) -> anyhow::Result<ExitCode> {
    let EngineCommand::Copy { from, to } = command;
    eprintln!("copying; no server may use either of them meanwhile");
    let report = runtime()?.block_on(copy_engine(config, from, to))?;
    let mut out = std::io::stdout().lock();
    for (name, count) in report.rows().filter(|(_, count)| *count > 0) {
        writeln!(out, "{count:>12}  {name}")?;
    }
    let threads = report.rows().find(|(name, _)| *name == "threads").map_or(0, |(_, count)| count);
    writeln!(out, "{} copied, and the same on both sides by counts and hashes", counted(threads, "thread"))?;
    Ok(ExitCode::SUCCESS)
}
