//! `ibid config`

use std::io::Write;
use std::process::ExitCode;

use crate::config::{Loaded, reference};

/// Shows each setting with where it comes from. Getting here means that all of them can be used.
pub(super) fn check(loaded: &Loaded) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match &loaded.file {
        Some(path) => writeln!(out, "{} and the environment are fine.", path.display())?,
        None => writeln!(out, "There is no ibid.toml here, which is fine: every setting has a default.")?,
    }
    writeln!(out)?;
    let width = loaded.settings.keys().map(String::len).max().unwrap_or_default();
    for (key, setting) in &loaded.settings {
        writeln!(out, "{key:width$} = {}  # {}", setting.value, setting.source)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the reference of all settings.
pub(super) fn print_reference() -> anyhow::Result<ExitCode> {
    write!(std::io::stdout(), "{}", reference()?)?;
    Ok(ExitCode::SUCCESS)
}
