//! The commands, one file each.

mod ask;
mod config;
mod doctor;
mod graph;
mod models;
mod threads;

use std::process::ExitCode;

use ibid_core::model::Caller;
use ibid_core::{Scope, Tenant};
use tokio::runtime::Runtime;

use crate::arguments::{Arguments, Command, ConfigCommand, Global};
use crate::config::{self as settings, Loaded};

/// Runs a command.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let global = &arguments.global;
    match arguments.command {
        Command::Ask(ask) => ask::run(&load(global)?.config, &ask),
        Command::Graph { name } => graph::run(name.as_deref()),
        Command::Threads(command) => threads::run(&load(global)?.config, &command),
        Command::Models(command) => models::run(&load(global)?.config, &command),
        Command::Config(ConfigCommand::Check) => config::check(&load(global)?),
        Command::Config(ConfigCommand::Reference) => config::print_reference(),
        Command::Doctor => doctor::run(load(global)),
    }
}

fn load(global: &Global) -> anyhow::Result<Loaded> {
    settings::load(global.config.as_deref(), std::env::vars(), &global.set)
}

/// What others wrote must not steer the terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() || "\n\t".contains(*letter)).collect()
}

/// The terminal serves one party: whoever may read the file.
fn scope() -> Scope {
    Scope::of(Tenant::local())
}

/// That party is waiting.
fn caller() -> Caller {
    Caller::chat(scope().tenant().clone())
}

/// What commands run on that have to wait for something.
fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}
