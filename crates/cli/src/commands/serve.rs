//! `ibid serve`: the assistants over HTTP. It says what it found, what it will use, and what is missing.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use ibid_app::settings::{KeySettings, ServeRole, ServeSettings};
use ibid_app::{AssistantRegistry, Cells, CheckResult, RunningServer, Settings, Setup, sandbox_check};
use ibid_core::{Scope, Tenant};
use ibid_egress::{Egress, EgressLimits, Host, Rules};
use ibid_server::{Access, Claims, Issuer, Key};
use ibid_telemetry::MetricsRegistry;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{load, runtime, setup};
use crate::arguments::{Global, Serve};
use crate::config::Loaded;

/// So long turns may take to come to the end of the step that they are at.
const GRACE: Duration = Duration::from_secs(20);

/// And so long connections may take to close after that.
const FAREWELL: Duration = Duration::from_secs(3);

/// So often it is looked how much the store holds.
const BETWEEN_COUNTS: Duration = Duration::from_secs(15);

/// Serves until told to stop. A hang-up has the log filter read again.
pub(super) fn run(
    global: &Global,
    loaded: &Loaded,
    serve: &Serve,
    reread_log: &dyn Fn() -> anyhow::Result<String>,
) -> anyhow::Result<ExitCode> {
    let mut config = with_role(&loaded.config, serve);
    let address = serve.address.unwrap_or(config.serve.address);
    // Every stream is a connection to a client and one to a model. Systems give few at first, and more to who asks.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "not many connections can be open at once");
    }
    let metrics = config.metrics.enabled.then(MetricsRegistry::install).transpose()?;
    runtime()?.block_on(async {
        // Before anything is opened, which may take a while.
        let listener = listen(address).await?;
        let cells = if may_set_up(&config, address) && Setup::is_needed(&config, loaded.file.is_some()).await? {
            let opened =
                setup::run_in_browser(global, loaded, duplicate(&listener)?, stopped(reread_log)).await?;
            let Some(cells) = opened else { return Ok(ExitCode::SUCCESS) };
            config = with_role(&load(global)?.config, serve);
            cells
        } else {
            Cells::open(&config).await?
        };
        let (config, listener) = (&config, TcpListener::from_std(listener)?);
        let tenants = cells.api_key_tenants().await?;
        let is_open = is_open(config) && tenants.is_empty();
        let access = access(config, is_open)?;
        if is_open && !address.ip().is_loopback() {
            cells.close().await;
            bail!(
                "{address} can be reached by others, and there is no key: make one with `ibid keys new NAME`, or \
                 listen on 127.0.0.1"
            );
        }
        if config.serve.role == ServeRole::Worker {
            return work(&cells, listener, access, metrics, reread_log).await;
        }
        if let Some((provider, model)) = cells.first().models().chat_in_use() {
            eprintln!("no model is configured; {model} of {provider} was found and answers");
        }
        let address = listener.local_addr()?;
        let running = RunningServer::on(address);
        let access = access.and_terminal(&running.key);
        let router = ibid_server::cells_router(cells.clone(), access, metrics.clone())?;
        // From here on, commands beside it come to it.
        let written = running.write(&config.data).context("the data folder cannot be written to")?;
        say(&cells.first().assistants(), &format!("http://{address}"));
        tokio::spawn(log_sandbox(config.clone()));
        keep_in_step(&cells, config)?;
        let named = tokio::spawn(load_named(cells.clone(), scopes(config, tenants)));
        let stop = CancellationToken::new();
        let serving = tokio::spawn(ibid_server::serve(listener, router, stop.clone().cancelled_owned()));
        let counting = metrics.map(|_| tokio::spawn(count_stores(cells.clone())));
        stopped(reread_log).await;
        named.abort();
        counting.iter().for_each(tokio::task::JoinHandle::abort);
        drop(written);
        stop.cancel();
        cells.shutdown(GRACE).await;
        // Whoever still reads or sends something by then has to come back.
        if let Ok(served) = tokio::time::timeout(FAREWELL, serving).await {
            served?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Takes the address for itself.
async fn listen(address: SocketAddr) -> anyhow::Result<std::net::TcpListener> {
    let bound = TcpListener::bind(address).await.and_then(TcpListener::into_std);
    bound.with_context(|| {
        let other = SocketAddr::new(address.ip(), address.port().wrapping_add(1));
        format!("{address} cannot be listened on; `ibid serve --address {other}` takes another port")
    })
}

/// The same listener once more: what has not been accepted through one is accepted through the other.
fn duplicate(listener: &std::net::TcpListener) -> std::io::Result<TcpListener> {
    TcpListener::from_std(listener.try_clone()?)
}

/// Whether a first start may be finished in a browser: only whoever is on this machine reaches the server, and needs no key.
fn may_set_up(config: &Settings, address: SocketAddr) -> bool {
    is_open(config) && address.ip().is_loopback() && config.serve.role == ServeRole::default()
}

fn with_role(config: &Settings, serve: &Serve) -> Settings {
    let role = serve.role.unwrap_or(config.serve.role);
    Settings { serve: ServeSettings { role, ..config.serve.clone() }, ..config.clone() }
}

/// Works on turns and loads that servers take, until told to stop. It answers how it is, and what it counts.
async fn work(
    cells: &Cells,
    listener: TcpListener,
    access: Access,
    metrics: Option<MetricsRegistry>,
    reread_log: &dyn Fn() -> anyhow::Result<String>,
) -> anyhow::Result<ExitCode> {
    let router = ibid_server::worker_router(cells.clone(), access, metrics.clone())?;
    eprintln!("ibid works on turns and loads; its health is at http://{}", listener.local_addr()?);
    for (_, app) in cells.all() {
        app.sources()?.keep_in_step();
    }
    let stop = CancellationToken::new();
    let serving = tokio::spawn(ibid_server::serve(listener, router, stop.clone().cancelled_owned()));
    let counting = metrics.map(|_| tokio::spawn(count_stores(cells.clone())));
    stopped(reread_log).await;
    counting.iter().for_each(tokio::task::JoinHandle::abort);
    // It is not ready from now on, and what it works on goes to others at the next step.
    cells.shutdown(GRACE).await;
    stop.cancel();
    if let Ok(served) = tokio::time::timeout(FAREWELL, serving).await {
        served?;
    }
    Ok(ExitCode::SUCCESS)
}

/// For whom documents are loaded that assistants name: each tenant that has a key, or the one that is here.
fn scopes(config: &Settings, mut tenants: Vec<Tenant>) -> Vec<Scope> {
    tenants.extend(config.serve.keys.values().map(|key| key.tenant.clone()));
    tenants.sort();
    tenants.dedup();
    if tenants.is_empty() {
        tenants.push(Tenant::local());
    }
    tenants.into_iter().map(Scope::of).collect()
}

/// Says in the log what confines the processes that read documents.
async fn log_sandbox(config: Settings) {
    match sandbox_check(&config).await {
        CheckResult::Fine { what } | CheckResult::Missing { what } => tracing::info!("{what}"),
        CheckResult::Wrong { what, .. } => tracing::warn!("documents cannot be read: {what}"),
    }
}

/// Follows the sources, unless others work for this process.
fn keep_in_step(cells: &Cells, config: &Settings) -> anyhow::Result<()> {
    if config.serve.role != ServeRole::Server {
        for (_, app) in cells.all() {
            app.sources()?.keep_in_step();
        }
    }
    Ok(())
}

async fn load_named(cells: Cells, scopes: Vec<Scope>) {
    for (index, (_, app)) in cells.all().enumerate() {
        let here = scopes.iter().filter(|scope| cells.index_of(scope.tenant()) == index);
        let here: Vec<Scope> = here.cloned().collect();
        match Box::pin(app.load_named_documents(&here)).await {
            Ok(0) => {}
            Ok(begun) => eprintln!("loading {begun} documents that assistants name"),
            Err(error) => tracing::warn!("the documents that assistants name are not loaded: {error}"),
        }
    }
}

/// Counts from time to time what the stores hold.
async fn count_stores(cells: Cells) {
    loop {
        cells.measure_stores().await;
        tokio::time::sleep(BETWEEN_COUNTS).await;
    }
}

/// Has the log filter read again with every hang-up.
async fn reread_at_hangup(reread_log: &dyn Fn() -> anyhow::Result<String>) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return std::future::pending().await };
    while hangup.recv().await.is_some() {
        match reread_log() {
            Ok(filter) => eprintln!("the log is filtered by `{filter}` now"),
            Err(error) => eprintln!("the log is filtered as before: {error:#}"),
        }
    }
    std::future::pending::<()>().await;
}

/// Waits until somebody wants the server to end: with Ctrl-C, or as systems end their services.
async fn stopped(reread_log: &dyn Fn() -> anyhow::Result<String>) {
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
        () = reread_at_hangup(reread_log) => {}
    }
    eprintln!("stopping; turns that are under way go on with the next start");
}

fn say(assistants: &AssistantRegistry, url: &str) {
    for (name, info) in assistants.ready() {
        eprintln!("  {name:<20} {}", info.definition.description);
    }
    for obstacle in assistants.obstacles() {
        eprintln!("{obstacle}");
    }
    eprintln!("ibid listens on {url}; Ctrl-C stops it");
}

/// Who may use the server.
fn access(config: &Settings, is_open: bool) -> anyhow::Result<Access> {
    let ServeSettings { origins, per_minute, oidc, .. } = &config.serve;
    let access = match is_open {
        true => Access::open(Scope::of(Tenant::local())),
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
    let egress = Egress::new(Rules::public().and([Host::of_service(&address)?]), EgressLimits::default())?;
    let claims = Claims {
        tenant: oidc.tenant_claim.clone(),
        corpora: oidc.corpora_claim.clone(),
        labels: oidc.labels_claim.clone(),
        role: oidc.role_claim.clone(),
        default_role: oidc.default_role,
    };
    let issuer = Issuer { url: url.clone(), audience: oidc.audience.clone(), claims, egress };
    Ok(access.and_tokens_of(issuer))
}

/// Whether whoever is on this machine may use the server without a key, if none was made at it.
fn is_open(config: &Settings) -> bool {
    config.serve.keys.is_empty() && config.serve.oidc.issuer.is_none()
}

fn keys(config: &Settings) -> anyhow::Result<Access> {
    let keys = config.serve.keys.iter().map(|(name, key)| {
        let hash = hash_of(&key.sha256).with_context(|| format!("in `serve.keys.{name}.sha256`"))?;
        let (scope, role, per_minute) = (scope_of(key), key.role, key.per_minute);
        anyhow::Ok(Key { name: name.clone(), hash, scope, role, per_minute })
    });
    Ok(Access::keys(keys.collect::<anyhow::Result<Vec<_>>>()?))
}

fn scope_of(key: &KeySettings) -> Scope {
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
