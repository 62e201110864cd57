//! `ibid graph`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;

use crate::nearest::hint;
use crate::rehearsal;

/// Draws an assistant's graph, or lists the assistants.
pub(super) fn run(name: Option<&str>) -> anyhow::Result<ExitCode> {
    let (assistants, mut out) = (rehearsal::assistants()?, std::io::stdout().lock());
    let Some(name) = name else {
        for name in assistants.names() {
            writeln!(out, "{name}")?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let assistant = assistants
        .get(name)
        .with_context(|| format!("there is no assistant `{name}`; {}", hint(name, assistants.names())))?;
    write!(out, "{}", assistant.program.shape().mermaid())?;
    Ok(ExitCode::SUCCESS)
}
