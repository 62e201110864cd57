//! `ibid fsck`: whether the store is whole.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use ibid_engine::EngineFile;
use ibid_knowledge::{Job, Underway};

use super::{counted, runtime};
use crate::config::Config;
use crate::library;

/// Checks, repairs if asked to, and says what was found.
pub(super) fn run(config: &Config, repair: bool) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let file = config.ingestion_file();
        let (held, underway) = if file.is_file() {
            let file = EngineFile::at(&file);
            let held = repair.then(|| file.hold()).transpose();
            let held = held.context("nothing can be repaired while documents are being loaded")?;
            (held, underway(&file)?)
        } else {
            (None, Underway::default())
        };
        let report = library::store(config).await?.fsck(repair, &underway).await?;
        drop(held);
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
            "{}, {}, {}: {}",
            counted(report.documents, "document"),
            counted(report.chunks, "chunk"),
            counted(report.originals, "original"),
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

/// What is being loaded, or was interrupted and will go on.
fn underway(file: &EngineFile) -> anyhow::Result<Underway> {
    let mut underway = Underway::default();
    for unfinished in file.unfinished()? {
        if let Ok(job) = Job::asked(&unfinished.input) {
            underway.documents.insert(job.document());
            underway.contents.extend(job.version);
        }
    }
    Ok(underway)
}
