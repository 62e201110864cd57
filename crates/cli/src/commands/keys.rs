//! `ibid keys`: who may use the server. Only the hash of a key is kept, so a key is printed once.

use std::io::Write;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Context;
use http::Method;
use ibid_app::{OfflineKeys, Settings};
use ibid_core::{Scope, Secret};
use ibid_engine::ApiKey;
use ibid_server::{KEY_PREFIX, key_expiry, key_hash};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{confirmed, printable, runtime};
use crate::arguments::{Keys, KeysCommand, NewKey};
use crate::client::Client;
use crate::place::Place;

/// Makes, lists or deletes keys.
pub(super) fn run(config: &Settings, keys: &Keys) -> anyhow::Result<ExitCode> {
    if let KeysCommand::New(new) = &keys.command
        && new.print_config
    {
        return print_config(new, keys.target.tenant().as_str());
    }
    runtime()?.block_on(run_at(config, keys))
}

async fn run_at(config: &Settings, keys: &Keys) -> anyhow::Result<ExitCode> {
    let source = match Place::of(config, &keys.target, &[]).await? {
        Place::Server(client) => KeySource::Server(client),
        Place::Here(scope) => KeySource::Folder(OfflineKeys::open(config).await?, scope),
    };
    match &keys.command {
        KeysCommand::New(new) => {
            writeln!(std::io::stdout(), "{}", source.create(new).await?)?;
            eprintln!("\nThis is the key of {}, {}; it is not told again.", new.name, new.role);
            if let KeySource::Server(_) = &source {
                eprintln!(
                    "A server that was started without any key goes on without until it is started again."
                );
            }
            Ok(ExitCode::SUCCESS)
        }
        KeysCommand::List => list(&source).await,
        KeysCommand::Delete { name, yes } => {
            if *yes || confirmed(name.as_str(), &format!("the key {name}"))? {
                source.delete(name.as_str()).await?;
                eprintln!("deleted; nobody gets in with it any more");
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Where keys are kept.
enum KeySource {
    Folder(OfflineKeys, Scope),
    Server(Client),
}

/// A key in a list.
struct Listed {
    name: String,
    role: String,
    created_by: String,
    created: Timestamp,
    expires: Option<Timestamp>,
}

impl KeySource {
    /// Makes a key, and tells it.
    async fn create(&self, new: &NewKey) -> anyhow::Result<String> {
        let corpora = (!new.corpus.is_empty()).then_some(&new.corpus);
        match self {
            Self::Folder(keys, scope) => {
                let (key, created) = (Secret::random(KEY_PREFIX), SystemTime::now());
                let scope = scope.clone().holding(new.label.iter().cloned());
                let about = ApiKey {
                    name: new.name.to_string(),
                    scope: match corpora {
                        Some(corpora) => scope.within(corpora.iter().cloned()),
                        None => scope,
                    },
                    role: new.role,
                    per_minute: None,
                    created_by: "terminal".to_owned(),
                    created,
                    expires: new.days.map(|days| key_expiry(created, days)),
                };
                keys.add(key_hash(key.reveal()), &about).await?;
                Ok(key.reveal().to_owned())
            }
            Self::Server(server) => {
                let asked = json!({
                    "name": new.name, "role": new.role, "corpora": corpora, "labels": new.label, "expires_days": new.days,
                });
                let made: Value = server.call(Method::POST, "/keys", Some(asked)).await?;
                Ok(made["key"].as_str().context("the server told no key")?.to_owned())
            }
        }
    }

    async fn list(&self) -> anyhow::Result<Vec<Listed>> {
        match self {
            Self::Folder(keys, scope) => keys.list(scope).await?.into_iter().map(Listed::try_from).collect(),
            Self::Server(server) => {
                let listed: Vec<Value> = server.call(Method::GET, "/keys", None).await?;
                listed.iter().map(listed_at).collect()
            }
        }
    }

    async fn delete(&self, name: &str) -> anyhow::Result<()> {
        match self {
            Self::Folder(keys, scope) => Ok(keys.delete(scope, name).await?),
            Self::Server(server) => {
                let path = format!("/keys/{name}");
                server.call::<Value>(Method::DELETE, &path, None).await.map(drop)
            }
        }
    }
}

impl TryFrom<ApiKey> for Listed {
    type Error = anyhow::Error;

    fn try_from(key: ApiKey) -> anyhow::Result<Self> {
        Ok(Self {
            name: key.name,
            role: key.role.to_string(),
            created_by: key.created_by,
            created: key.created.try_into()?,
            expires: key.expires.map(Timestamp::try_from).transpose()?,
        })
    }
}

fn listed_at(key: &Value) -> anyhow::Result<Listed> {
    let text = |field: &str| key[field].as_str().map(printable).unwrap_or_default();
    Ok(Listed {
        name: text("name"),
        role: text("role"),
        created_by: text("created_by"),
        created: text("created_at").parse()?,
        expires: key["expires_at"].as_str().map(str::parse).transpose()?,
    })
}

async fn list(source: &KeySource) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let keys = source.list().await?;
    if keys.is_empty() {
        writeln!(out, "No keys are kept here. Make one with: ibid keys new NAME")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{:24}  {:8}  {:10}  {:10}  MADE BY", "KEY", "ROLE", "MADE", "EXPIRES")?;
    for key in keys {
        let day = |time: Timestamp| time.strftime("%Y-%m-%d").to_string();
        let expires = key.expires.map_or_else(|| "never".to_owned(), day);
        let Listed { name, role, created_by, .. } = &key;
        writeln!(out, "{name:24}  {role:8}  {:10}  {expires:10}  {created_by}", day(key.created))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes a key that the configuration keeps.
fn print_config(new: &NewKey, tenant: &str) -> anyhow::Result<ExitCode> {
    let key = Secret::random(KEY_PREFIX);
    let key = key.reveal();
    let hash: String = key_hash(key).iter().map(|byte| format!("{byte:02x}")).collect();
    let list =
        |names: Vec<&str>| names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let mut out = std::io::stdout().lock();
    writeln!(out, "{key}")?;
    eprintln!("\nThis is the key; it is not kept anywhere. In ibid.toml:\n");
    eprintln!(
        "[serve.keys.{}]\nsha256 = \"{hash}\"\ntenant = \"{tenant}\"\nrole = \"{}\"",
        new.name, new.role
    );
    if !new.corpus.is_empty() {
        eprintln!("corpora = [{}]", list(new.corpus.iter().map(|corpus| corpus.as_str()).collect()));
    }
    if !new.label.is_empty() {
        eprintln!("labels = [{}]", list(new.label.iter().map(|label| label.as_str()).collect()));
    }
    Ok(ExitCode::SUCCESS)
}
