//! `ibid tenants`: what becomes of those who go.

use std::io::Write;
use std::process::ExitCode;

use ibid_app::{Settings, purge_tenant};

use super::{confirmed, counted, runtime};
use crate::arguments::TenantsCommand;

/// Runs one of the subcommands.
pub(super) fn run(config: &Settings, command: &TenantsCommand) -> anyhow::Result<ExitCode> {
    let TenantsCommand::Purge { tenant, yes } = command;
    let what = format!("all conversations, documents and keys of the tenant {tenant}");
    if !yes && !confirmed(tenant.as_str(), &what)? {
        return Ok(ExitCode::SUCCESS);
    }
    let purged = runtime()?.block_on(purge_tenant(config, tenant))?;
    writeln!(
        std::io::stdout().lock(),
        "{} and {} of {tenant} are gone. Earlier backups and lines of the audit log still have theirs.",
        counted(purged.threads, "conversation"),
        counted(purged.documents, "document")
    )?;
    Ok(ExitCode::SUCCESS)
}
