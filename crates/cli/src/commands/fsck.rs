//! `ibid fsck`: whether the store is whole.

use std::io::Write;
use std::process::ExitCode;

use super::{caller, runtime};
use crate::config::Config;
use crate::library::Library;

/// Checks, repairs if asked to, and says what was found.
pub(super) fn run(config: &Config, repair: bool) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let library = Library::open(config, &caller()).await?;
        let report = library.store.fsck(repair).await?;
        let mut out = std::io::stdout().lock();
        for problem in &report.problems {
            writeln!(out, "{}: {}", if problem.repaired { "repaired" } else { "WRONG" }, problem.what)?;
        }
        let left = report.problems.iter().filter(|problem| !problem.repaired).count();
        writeln!(
            out,
            "{} documents, {} chunks, {} originals: {}",
            report.documents,
            report.chunks,
            report.originals,
            match left {
                0 => "the store is whole".to_owned(),
                1 => "1 problem".to_owned(),
                many => format!("{many} problems"),
            }
        )?;
        if left > 0 && !repair {
            writeln!(out, "`ibid fsck --repair` repairs what can be repaired.")?;
        }
        Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}
