//! The packages, which `dist/make` makes.

use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Makes the packages, in the folder that is named, if one is.
pub(crate) fn run(folder: impl Iterator<Item = String>) -> Result<()> {
    let make = concat!(env!("CARGO_MANIFEST_DIR"), "/../dist/make");
    let status = Command::new("bash").arg(make).args(folder).status().context("bash cannot be run")?;
    ensure!(status.success(), "the packages were not made");
    Ok(())
}
