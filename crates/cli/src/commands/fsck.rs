//! `ibid fsck`: whether the store is whole.

use std::io::Write;
use std::process::ExitCode;

use super::{counted, runtime};
use ibid_app::{OfflineLoads, Settings};
use ibid_knowledge::ActiveLoads;

/// Checks, repairs if asked to, and says what was found.
pub(super) fn run(config: &Settings, repair: bool) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let loads = OfflineLoads::open(config).await?;
        let guard = loads.as_ref().filter(|_| repair).map(OfflineLoads::lock).transpose()?;
        let active = match &loads {
            Some(loads) => loads.active().await?,
            None => ActiveLoads::default(),
        };
        let report = ibid_app::open_store(config).await?.fsck(repair, &active).await?;
        drop(guard);
        let mut out = std::io::stdout().lock();
        for problem in &report.problems {
            writeln!(out, "{}: {}", if problem.repaired { "repaired" } else { "WRONG" }, problem.what)?;
        }
        if report.underway > 0 {
            let many =
                if report.underway == 1 { "1 load was" } else { &format!("{} loads were", report.underway) };
            writeln!(out, "{many} interrupted, or goes on now; `ibid ingest` with the same files goes on.")?;
        }
        let left = report.problems.iter().filter(|problem| !problem.repaired).count();
        writeln!(
            out,
            "{}, {}, {}{}: {}",
            counted(report.documents, "document"),
            counted(report.chunks, "chunk"),
            counted(report.originals, "original"),
            match report.answers {
                0 => String::new(),
                many => format!(", {} kept to be given again", counted(many, "answer")),
            },
            match left {
                0 => "the store is whole".to_owned(),
                many => counted(many, "problem"),
            }
        )?;
        if left > 0 && !repair {
            writeln!(out, "`ibid fsck --repair` repairs what can be repaired.")?;
        }
        Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}
