//! What can be typed by whoever runs a server.

use clap::{Args, Subcommand};
use ibid_app::EngineLocation;
use ibid_app::settings::ServeRole;
use ibid_core::{AccessRole, Corpus, KeyName, Label, Tenant};

use super::Target;

/// Serve the assistants.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen [default: `serve.address`]
    #[arg(long, short, value_name = "ADDRESS:PORT")]
    pub(crate) address: Option<std::net::SocketAddr>,
    /// What this process does: all, server or worker [default: `serve.role`]
    #[arg(long, value_name = "ROLE", value_parser = role)]
    pub(crate) role: Option<ServeRole>,
}

/// Ask a server whether it can work.
#[derive(Debug, Args)]
pub(crate) struct Health {
    /// Where it listens [default: `serve.address`]
    #[arg(long, short, value_name = "ADDRESS:PORT")]
    pub(crate) address: Option<std::net::SocketAddr>,
}

fn role(text: &str) -> Result<ServeRole, String> {
    match text {
        "all" => Ok(ServeRole::All),
        "server" => Ok(ServeRole::Server),
        "worker" => Ok(ServeRole::Worker),
        _ => Err("it is all, server or worker".to_owned()),
    }
}

/// Keys, here or at a server.
#[derive(Debug, Args)]
pub(crate) struct Keys {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

/// What can be done with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key and print it once
    New(NewKey),
    /// List the keys that were made; those of ibid.toml stand there
    List,
    /// Delete a key: nobody gets in with it any more
    Delete {
        /// Which one
        name: KeyName,
        /// Without asking
        #[arg(long, short)]
        yes: bool,
    },
}

/// A key to be made.
#[derive(Debug, Args)]
pub(crate) struct NewKey {
    /// What it is called in lists and in the log
    pub(crate) name: KeyName,
    /// What its holder may do: reader (ask), editor (documents, too) or admin (keys, and the threads of all)
    #[arg(long, value_name = "ROLE", default_value = "reader")]
    pub(crate) role: AccessRole,
    /// Only this set of documents; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) corpus: Vec<Corpus>,
    /// With permission to see what has this label; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Vec<Label>,
    /// It ends after so many days [default: never]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) days: Option<std::num::NonZeroU32>,
    /// Keep it nowhere, and print what belongs into ibid.toml instead
    #[arg(long, conflicts_with_all = ["days", "server"])]
    pub(crate) print_config: bool,
}

/// Copy what there is.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// A folder, or a URL such as s3://bucket/folder
    pub(crate) to: String,
    /// Remove all but so many of the newest backups there
    #[arg(long, value_name = "COUNT")]
    pub(crate) keep: Option<usize>,
}

/// Bring a backup back.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The folder or the URL where backups are
    pub(crate) from: String,
    /// This backup [default: the newest]
    #[arg(long, value_name = "NAME")]
    pub(crate) backup: Option<String>,
    /// Only list the backups
    #[arg(long, conflicts_with_all = ["backup", "check"])]
    pub(crate) list: bool,
    /// Only read everything and compare it with its hashes
    #[arg(long)]
    pub(crate) check: bool,
}

/// What to do with tenants.
#[derive(Debug, Subcommand)]
pub(crate) enum TenantsCommand {
    /// Delete all conversations, documents and keys of a tenant, so that no byte of them is left, while no server runs
    Purge {
        /// Name of the tenant
        tenant: Tenant,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Where conversations are kept.
#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Copy conversations and loads, and compare the copy by counts and hashes
    Copy {
        /// From where: sqlite:FOLDER with a data folder, or postgres://user@host/database
        from: EngineLocation,
        /// To where: the other of the two, with nothing in it
        to: EngineLocation,
    },
}
