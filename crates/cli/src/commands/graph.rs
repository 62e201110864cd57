//! `ibid graph`

use std::io::Write;
use std::process::ExitCode;

use ibid_app::{AssistantRegistry, Settings, known_assistants, rehearsal};

/// Draws an assistant's graph, or lists the assistants.
pub(super) fn run(config: &Settings, name: Option<&str>) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match name {
        None => {
            for known in known_assistants(config, &[])? {
                writeln!(out, "{}", known.name)?;
            }
            writeln!(out, "{}", rehearsal::NAME)?;
        }
        Some(name) => write!(out, "{}", AssistantRegistry::topology(config, name)?.mermaid())?,
    }
    Ok(ExitCode::SUCCESS)
}
