//! The commands, one file each.

mod ask;
mod assistants;
mod backup;
mod chat;
mod config;
mod doctor;
mod documents;
mod engine;
mod eval;
mod fsck;
mod graph;
mod health;
mod ingest;
mod keys;
mod markdown;
mod models;
mod printer;
mod search;
mod serve;
mod setup;
mod sync;
mod tenants;
mod threads;
mod tune;
mod typed;

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use ibid_app::Settings;
use ibid_core::Tenant;
use ibid_core::model::Caller;
use ibid_telemetry::{LogSettings, Telemetry};
use tokio::runtime::Runtime;

use crate::arguments::{Arguments, Command, ConfigCommand, Global, Target, TenantsCommand};
use crate::config::{self as settings, Loaded};

/// Sets up the log and traces. A configuration that cannot be read is the command's to tell.
pub(crate) fn telemetry(global: &Global) -> anyhow::Result<Telemetry> {
    let config = load(global).map(|loaded| loaded.config).unwrap_or_default();
    let log = LogSettings { filter: log_filter(&config), ..config.log };
    Ok(Telemetry::install(&log, &config.traces)?)
}

/// What is logged: as the environment says, or else the settings.
fn log_filter(config: &Settings) -> String {
    std::env::var("IBID_LOG").ok().filter(|filter| !filter.is_empty()).unwrap_or(config.log.filter.clone())
}

/// Runs a command.
pub(crate) fn run(arguments: Arguments, telemetry: &Telemetry) -> anyhow::Result<ExitCode> {
    let global = &arguments.global;
    let Some(command) = arguments.command else { return setup::welcome(global) };
    match command {
        Command::Serve(serve) => {
            let reread = || {
                let filter = log_filter(&load(global)?.config);
                telemetry.set_log_filter(&filter)?;
                anyhow::Ok(filter)
            };
            serve::run(global, &load(global)?, &serve, &reread)
        }
        Command::Keys(command) => keys::run(&load_for(global, &command.target)?, &command),
        Command::Chat(chat) => chat::run(&load_for(global, &chat.target)?, &chat),
        Command::Ask(ask) => ask::run(&load_for(global, &ask.target)?, &ask),
        Command::Assistants(command) => assistants::run(&load(global)?.config, &command),
        Command::Graph { name } => graph::run(&load(global)?.config, name.as_deref()),
        Command::Threads(command) => threads::run(&load_for(global, &command.target)?, &command),
        Command::Ingest(ingest) => ingest::run(&load_for(global, &ingest.target)?, &ingest),
        Command::Sync(sync) => sync::run(&load_for(global, &sync.target)?, &sync),
        Command::Documents(command) => documents::run(&load_for(global, &command.target)?, &command),
        Command::Search(search) => search::run(&load_for(global, &search.target)?, &search),
        Command::Fsck { repair } => fsck::run(&load(global)?.config, repair),
        Command::Backup(backup) => backup::back_up(&load(global)?.config, &backup),
        Command::Restore(restore) => backup::restore(&load(global)?.config, &restore),
        Command::Engine(command) => engine::run(&load(global)?.config, &command),
        Command::Tenants(command) => {
            let TenantsCommand::Purge { tenant, .. } = &command;
            tenants::run(&load(global)?.config.of_tenant(tenant)?, &command)
        }
        Command::Eval(eval) => eval::run(global, &eval),
        Command::Tune(tune) => tune::run(&load(global)?.config, &tune),
        Command::Models(command) => models::run(&load(global)?.config, &command),
        Command::Config(ConfigCommand::Check) => config::check(&load(global)?),
        Command::Config(ConfigCommand::Reference) => config::print_reference(),
        Command::Doctor => doctor::run(load(global)),
        Command::Health(health) => health::run(&load(global)?.config, &health),
    }
}

/// The settings, of the one cell that is named if one is.
fn load(global: &Global) -> anyhow::Result<Loaded> {
    if global.config.len() > 1 {
        bail!("one configuration file is read; `ibid eval` compares two");
    }
    let file = global.config.first().map(PathBuf::as_path);
    let mut loaded = settings::load(file, std::env::vars(), &global.set)?;
    if let Some(cell) = &global.cell {
        loaded.config = loaded.config.of_cell(cell)?;
    }
    Ok(loaded)
}

/// The settings of the cell that a command works in.
fn load_for(global: &Global, target: &Target) -> anyhow::Result<Settings> {
    let config = load(global)?.config;
    Ok(config.of_tenant(&target.tenant())?)
}

/// What others wrote must not steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() || "\n\t".contains(*letter)).collect()
}

/// How many of a thing there are, in words.
fn counted<N: std::fmt::Display + PartialEq + From<u8>>(number: N, thing: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Asks whether something is to be deleted for good, and says so if it is not.
fn confirmed(name: &str, what: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("nobody is here to confirm; delete `{name}` with --yes");
    }
    let mut out = std::io::stdout().lock();
    write!(out, "Delete {what} for good? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    let yes = ["y", "yes"].contains(&answer.trim().to_lowercase().as_str());
    if !yes {
        writeln!(out, "Nothing was deleted.")?;
    }
    Ok(yes)
}

/// Whoever may read the data folder, and is waiting.
fn caller() -> Caller {
    Caller::chat(Tenant::local())
}

/// What commands run on that have to wait for something.
fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}
