//! `ibid health`: whether the server here can work, for health checks of containers.

use std::io::Write;
use std::process::ExitCode;

use ibid_app::{RunningServer, Settings};
use url::Url;

use super::runtime;
use crate::arguments::Health;
use crate::client::Client;

/// Asks the server, and says which of its parts cannot work.
pub(super) fn run(config: &Settings, health: &Health) -> anyhow::Result<ExitCode> {
    let address = health.address.unwrap_or(config.serve.address);
    let server = Client::at(&Url::parse(&RunningServer::on(address).url)?)?;
    let parts = runtime()?.block_on(server.readiness())?;
    let broken: Vec<_> = parts.iter().filter(|(_, ready)| !**ready).map(|(name, _)| name.as_str()).collect();
    let mut out = std::io::stdout().lock();
    if broken.is_empty() {
        writeln!(out, "ready")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "not ready: {}; `ibid doctor` says why", broken.join(", "))?;
    Ok(ExitCode::FAILURE)
}
