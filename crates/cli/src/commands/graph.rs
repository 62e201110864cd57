//! `ibid graph`

use std::io::Write;
use std::process::ExitCode;

use crate::assistants::{all, drawn};
use crate::config::Config;
use crate::rehearsal;

/// Draws an assistant's graph, or lists the assistants.
pub(super) fn run(config: &Config, name: Option<&str>) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match name {
        None => {
            for (name, ..) in all(config)? {
                writeln!(out, "{name}")?;
            }
            writeln!(out, "{}", rehearsal::NAME)?;
        }
        Some(rehearsal::NAME) => write!(out, "{}", rehearsal::assistant()?.program.shape().mermaid())?,
        Some(name) => write!(out, "{}", drawn(config, name)?.shape().mermaid())?,
    }
    Ok(ExitCode::SUCCESS)
}
