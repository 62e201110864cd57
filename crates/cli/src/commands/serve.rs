//! `ibid serve`: the assistants over HTTP. It says what it found, what it will use, and what is missing.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use ibid_assistants::Definition;
use ibid_core::tool::Tool;
use ibid_core::{Corpus, Scope};
use ibid_egress::{Egress, Host, Limits, Rules};
use ibid_engine::{Assistant, EngineFile, LocalEngine, LocalSettings};
use ibid_knowledge::Ingestion;
use ibid_server::{Access, Claims, Issuer, Key, Left, Offer, Parts};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::examine;
use super::ingest::{CORPUS, PROGRAM};
use super::{caller, runtime, scope};
use crate::arguments::Serve;
use crate::assistants::Lineup;
use crate::config::{Config, KeyConfig, ServeConfig};
use crate::library::Library;

/// So long turns may take to come to the end of the step that they are at.
const GRACE: Duration = Duration::from_secs(20);

/// And so long connections may take to close after that.
const FAREWELL: Duration = Duration::from_secs(3);

/// Serves until told to stop.
pub(super) fn run(config: &Config, serve: &Serve) -> anyhow::Result<ExitCode> {
    let address = serve.address.unwrap_or(config.serve.address);
    let access = access(config)?;
    if is_open(config) && !address.ip().is_loopback() {
        bail!(
            "{address} can be reached by others, and no key is configured: make one with `ibid keys new NAME`, or \
             listen on 127.0.0.1"
        );
    }
    // Every stream is a connection to a client and one to a model. Systems give few at first, and more to who asks.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "not many connections can be open at once");
    }
    runtime()?.block_on(async {
        let library = Library::open(config, &caller()).await?;
        let lineup = Lineup::of(config, &library, |_| true).await?;
        let engine = LocalEngine::open(&config.engine_file(), lineup.assistants(), config.engine_settings())
            .await
            .context("conversations cannot be kept, so nothing is served")?;
        library.parts.keep_spending(Arc::new(engine.clone()));
        let loads = loads(config, &library, &lineup).await?;
        let listener =
            TcpListener::bind(address).await.with_context(|| format!("{address} cannot be listened on"))?;
        if let Some((provider, model)) = library.parts.chat_in_use() {
            eprintln!("no model is configured; {model} of {provider} was found and answers");
        }
        say(&lineup, &format!("http://{}", listener.local_addr()?));
        let checks = examine::checks(config, &engine, &loads.engine, &library, &lineup)?;
        let router = ibid_server::router(Parts {
            engine: Arc::new(engine.clone()),
            library: loads.library,
            assistants: offers(lineup),
            access,
            checks,
            facts: examine::facts(config, &library),
        });
        let stop = CancellationToken::new();
        let serving = tokio::spawn(ibid_server::serve(listener, router, stop.clone().cancelled_owned()));
        stopped().await;
        stop.cancel();
        tokio::join!(engine.rest(GRACE), loads.engine.rest(GRACE));
        // Whoever still reads or sends something by then has to come back.
        if let Ok(served) = tokio::time::timeout(FAREWELL, serving).await {
            served?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// What loads documents while the server runs.
struct Loads {
    library: ibid_server::Library,
    engine: LocalEngine,
}

async fn loads(config: &Config, library: &Library<'_>, lineup: &Lineup) -> anyhow::Result<Loads> {
    let definitions: Vec<Definition> = lineup.ready.iter().map(|ready| ready.definition.clone()).collect();
    let named = definitions.iter().flat_map(|definition| &definition.documents);
    let ingestion = library.ingestion(named.map(|document| document.url.as_str()))?;
    let program = [(PROGRAM.to_owned(), Assistant::new(ingestion.program()?))].into_iter().collect();
    let settings = LocalSettings { at_once: Some(config.ingest.at_once), ..config.engine_settings() };
    let file = config.ingestion_file();
    let left = left(&file, &ingestion);
    let engine = LocalEngine::open(&file, program, settings)
        .await
        .context("documents cannot be loaded durably, so nothing is served")?;
    let ingest = config.ingest.clone();
    let treated = move |source: &str, corpus: &Corpus| {
        let name = source.rsplit('/').next().unwrap_or(source);
        // An assistant that answers from the corpus may know what its files are.
        let own = definitions.iter().find(|known| known.corpora.contains(corpus) && !known.types.is_empty());
        ingest.treated(name, own.map_or(&ingest.types, |known| &known.types))
    };
    let library = ibid_server::Library {
        store: library.store.clone(),
        ingestion,
        loads: Arc::new(engine.clone()),
        program: PROGRAM.to_owned(),
        index: Arc::new(library.search()?),
        corpus: CORPUS.parse()?,
        treated: Box::new(treated),
        largest: config.ingest.largest_mb << 20,
        upkeep: Arc::default(),
    };
    library.take_up(left);
    Ok(Loads { library, engine })
}

/// The loads that an earlier process left. What cannot be read of them goes on unwatched: what is wrong with the file is
/// told when it is opened.
fn left(file: &Path, ingestion: &Ingestion) -> Vec<Left> {
    let unfinished = if file.is_file() { EngineFile::at(file).unfinished() } else { Ok(Vec::new()) };
    let unfinished = unfinished.unwrap_or_else(|error| {
        tracing::warn!(%error, "loads that were left are not watched");
        Vec::new()
    });
    unfinished.into_iter().filter_map(|unfinished| Left::of(ingestion, unfinished).ok()).collect()
}

/// Waits until somebody wants the server to end: with Ctrl-C, or as systems end their services.
async fn stopped() {
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            // Without a signal to wait for, it is served until the process is ended.
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
    eprintln!("stopping; turns that are under way go on with the next start");
}

fn offers(lineup: Lineup) -> BTreeMap<String, Offer> {
    let offers = lineup.ready.into_iter().map(|ready| {
        let shape = ready.runnable.program.shape().clone();
        // What other servers offer is for the assistant alone, which knows what it may do with it.
        let own = |tool: &Arc<dyn Tool>| ready.definition.tools.contains(&tool.spec().name);
        let tools = ready.tools.into_iter().filter(own).collect();
        (ready.name, Offer { definition: ready.definition, shape, tools })
    });
    offers.collect()
}

fn say(lineup: &Lineup, url: &str) {
    for ready in &lineup.ready {
        eprintln!("  {:<20} {}", ready.name, ready.definition.description);
    }
    for obstacle in lineup.obstacles() {
        eprintln!("{obstacle}");
    }
    eprintln!("ibid listens on {url}; Ctrl-C stops it");
}

/// Who may use the server.
fn access(config: &Config) -> anyhow::Result<Access> {
    let ServeConfig { origins, per_minute, oidc, .. } = &config.serve;
    let access = match is_open(config) {
        true => Access::open(scope()),
        false => keys(config)?,
    };
    for origin in origins {
        let known = Url::parse(origin).is_ok_and(|url| url.origin().ascii_serialization() == *origin);
        if !known {
            bail!("`{origin}` in `serve.origins` is no origin; one looks like https://desk.example");
        }
    }
    let access = access.for_pages_of(origins.clone()).at_most(*per_minute);
    let Some(url) = &oidc.issuer else { return Ok(access) };
    let address = Url::parse(url).context("in `serve.oidc.issuer`")?;
    let egress = Egress::new(Rules::public().and([Host::of(&address)?]), Limits::default())?;
    let claims = Claims {
        tenant: oidc.tenant_claim.clone(),
        corpora: oidc.corpora_claim.clone(),
        labels: oidc.labels_claim.clone(),
    };
    let issuer = Issuer { url: url.clone(), audience: oidc.audience.clone(), claims, egress };
    Ok(access.and_tokens_of(issuer))
}

/// Whether whoever is on this machine may use the server without a key.
fn is_open(config: &Config) -> bool {
    config.serve.keys.is_empty() && config.serve.oidc.issuer.is_none()
}

fn keys(config: &Config) -> anyhow::Result<Access> {
    let keys = config.serve.keys.iter().map(|(name, key)| {
        let hash = hash_of(&key.sha256).with_context(|| format!("in `serve.keys.{name}.sha256`"))?;
        anyhow::Ok(Key { name: name.clone(), hash, scope: scope_of(key), per_minute: key.per_minute })
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
