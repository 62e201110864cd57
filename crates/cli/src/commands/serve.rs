//! `ibid serve`: the assistants over HTTP. It says what it found, what it will use, and what is missing.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use ibid_core::Scope;
use ibid_engine::LocalEngine;
use ibid_server::{Access, Key, Offer, Parts};
use tokio::net::TcpListener;

use super::{caller, runtime, scope};
use crate::arguments::Serve;
use crate::assistants::Lineup;
use crate::config::{Config, KeyConfig};
use crate::library::Library;

/// Serves until told to stop.
pub(super) fn run(config: &Config, serve: &Serve) -> anyhow::Result<ExitCode> {
    let address = serve.address.unwrap_or(config.serve.address);
    let access = access(config)?;
    if config.serve.keys.is_empty() && !address.ip().is_loopback() {
        bail!(
            "{address} can be reached by others, and no key is configured: make one with `ibid keys new NAME`, or \
             listen on 127.0.0.1"
        );
    }
    runtime()?.block_on(async {
        let library = Library::open(config, &caller()).await?;
        let lineup = Lineup::of(config, &library, |_| true).await?;
        let engine = LocalEngine::open(&config.engine_file(), lineup.assistants(), config.engine_settings())
            .await
            .context("conversations cannot be kept, so nothing is served")?;
        let listener =
            TcpListener::bind(address).await.with_context(|| format!("{address} cannot be listened on"))?;
        say(&lineup, &format!("http://{}", listener.local_addr()?));
        let router = ibid_server::router(Parts {
            engine: Arc::new(engine.clone()),
            assistants: offers(lineup),
            access,
        });
        ibid_server::serve(listener, router, stopped()).await?;
        engine.close().await;
        Ok(ExitCode::SUCCESS)
    })
}

async fn stopped() {
    // Without a signal to wait for, it is served until the process is ended.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    eprintln!("stopping; turns that are under way go on with the next start");
}

fn offers(lineup: Lineup) -> BTreeMap<String, Offer> {
    let offers = lineup.ready.into_iter().map(|ready| {
        let shape = ready.runnable.program.shape().clone();
        (ready.name, Offer { definition: ready.definition, shape, tools: ready.tools })
    });
    offers.collect()
}

fn say(lineup: &Lineup, url: &str) {
    for ready in &lineup.ready {
        eprintln!("  {:<20} {}", ready.name, ready.definition.description);
    }
    for (name, error) in &lineup.left_out {
        eprintln!("  {name:<20} cannot answer: {error:#}");
    }
    eprintln!("ibid listens on {url}; Ctrl-C stops it");
}

/// Who may use the server.
fn access(config: &Config) -> anyhow::Result<Access> {
    if config.serve.keys.is_empty() {
        return Ok(Access::open(scope()));
    }
    let keys = config.serve.keys.iter().map(|(name, key)| {
        let hash = hash_of(&key.sha256).with_context(|| format!("in `serve.keys.{name}.sha256`"))?;
        anyhow::Ok(Key { name: name.clone(), hash, scope: scope_of(key) })
    });
    Ok(Access::keys(keys.collect::<anyhow::Result<Vec<_>>>()?))
}

fn scope_of(key: &KeyConfig) -> Scope {
    let scope = Scope::of(key.tenant.clone()).holding(key.labels.iter().cloned());
    if key.corpora.is_empty() { scope } else { scope.within(key.corpora.iter().cloned()) }
}

fn hash_of(text: &str) -> anyhow::Result<[u8; 32]> {
    let digit =
        |byte: u8| char::from(byte).to_digit(16).context("it has signs that are no hexadecimal digits");
    let mut hash = [0; 32];
    if text.len() != 64 {
        bail!("it must have 64 hexadecimal digits; `ibid keys new` prints them");
    }
    for (byte, pair) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?)?;
    }
    Ok(hash)
}
