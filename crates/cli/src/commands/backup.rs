//! `ibid backup` and `ibid restore`.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use ibid_app::{Archive, BackupProgress, Settings, back_up as make_backup, check_backup, restore_backup};

use super::{counted, runtime};
use crate::arguments::{Backup, Restore};

/// Makes a backup, and says what it holds.
pub(super) fn back_up(config: &Settings, arguments: &Backup) -> anyhow::Result<ExitCode> {
    if config.engine.url.is_none() && !config.data.exists() {
        anyhow::bail!("there is no data folder {} to back up", config.data.display());
    }
    let report = runtime()?.block_on(async {
        let archive = Archive::open(config, &arguments.to).await?;
        make_backup(config, &archive, arguments.keep, &shown("copied")).await
    })?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: {}, {}, of which {} are new",
        report.name,
        counted(report.files, "file"),
        megabytes(report.bytes),
        megabytes(report.copied)
    )?;
    if report.removed > 0 {
        writeln!(out, "{} removed", counted(report.removed, "earlier backup"))?;
    }
    if report.missing > 0 {
        let many = counted(report.missing, "original");
        writeln!(out, "{many} could not be copied because the store has lost them; `ibid fsck` says which")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Restores a backup, or lists or checks what could be restored.
pub(super) fn restore(config: &Settings, arguments: &Restore) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        // A folder that is not there would be made.
        if !arguments.from.contains("://") && !Path::new(&arguments.from).exists() {
            anyhow::bail!("there is no folder {}; `ibid backup` makes one", arguments.from);
        }
        let archive = Archive::open(config, &arguments.from).await?;
        let backups = archive.list().await?;
        let mut out = std::io::stdout().lock();
        if arguments.list {
            for backup in backups {
                writeln!(out, "{}", backup.name)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        let newest = backups.into_iter().next_back().map(|backup| backup.name);
        let Some(name) = arguments.backup.clone().or(newest) else {
            anyhow::bail!("there is no backup at {}; `ibid backup` makes one", arguments.from);
        };
        if arguments.check {
            let files = check_backup(&archive, &name, &shown("checked")).await?;
            writeln!(out, "{name} is whole: {}", counted(files, "file"))?;
        } else {
            let files = restore_backup(config, &archive, &name, &shown("restored")).await?;
            let data = config.data.display();
            writeln!(out, "{name} is restored into {data}: {}", counted(files, "file"))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Shows how far it came, where somebody is looking.
fn shown(done: &str) -> impl Fn(BackupProgress) + Sync {
    let (looks, last) = (std::io::stderr().is_terminal(), AtomicU64::new(u64::MAX));
    move |progress| {
        let percent = progress.done * 100 / progress.total.max(1);
        if looks && last.swap(percent, Ordering::Relaxed) != percent {
            let end = if progress.done == progress.total { "\n" } else { "" };
            let _ = write!(
                std::io::stderr(),
                "\r{} of {} {done}{end}",
                megabytes(progress.done),
                megabytes(progress.total)
            );
        }
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10)
}
