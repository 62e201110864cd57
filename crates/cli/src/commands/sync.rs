//! `ibid sync`: compares sources now, here or at a server, and says what followed.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use http::Method;
use ibid_app::{App, Deletions, Settings, SourceStatus, SyncOutcome, SyncPaths, SyncPlan, SyncReport};
use ibid_core::{Scope, SourceName};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::{counted, printable, runtime};
use crate::arguments::Sync;
use crate::client::Client;
use crate::place::Place;

/// How often it is looked how far a round is.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);
/// So long a round may take to begin.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many paths of a plan are named.
const MOST_NAMED: usize = 20;

/// Where sources are compared.
enum Sources {
    Here { app: App, scope: Scope },
    Server(Client),
}

pub(super) fn run(config: &Settings, sync: &Sync) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let place = Place::to_run(config, &sync.target, &[]).await?;
        let sources = match place {
            Place::Here(scope) => {
                let app = App::builder(config.clone()).documents_only().open().await?;
                Sources::Here { app, scope }
            }
            Place::Server(client) => Sources::Server(client),
        };
        let done = Box::pin(all(&sources, sync)).await;
        if let Sources::Here { app, .. } = &sources {
            Box::pin(app.close()).await;
        }
        done
    })
}

async fn all(sources: &Sources, sync: &Sync) -> anyhow::Result<ExitCode> {
    let known = sources.list().await?;
    if known.is_empty() {
        bail!(
            "no source is configured: name one in ibid.toml, such as\n\n[sources.contracts]\nlocation = \"/srv/contracts\""
        );
    }
    if let Some(unknown) = sync.sources.iter().find(|name| known.iter().all(|source| source.name != **name)) {
        let names: Vec<&str> = known.iter().map(|source| source.name.as_str()).collect();
        bail!("there is no source `{unknown}`; there are {}", names.join(", "));
    }
    let wanted =
        known.into_iter().filter(|source| sync.sources.is_empty() || sync.sources.contains(&source.name));
    let mut exit = ExitCode::SUCCESS;
    for source in wanted {
        if sync.list {
            show(sync.json, &source, || standing(&source))?;
        } else if sync.dry_run {
            let plan = sources.plan(&source.name).await?;
            show(sync.json, &plan, || planned(&source.name, &plan))?;
        } else {
            let report = follow(sources, &source, sync.allow_deletions, sync.json).await?;
            show(sync.json, &report, || reported(&source.name, &report))?;
            if report.outcome != SyncOutcome::Done || report.failed > 0 {
                exit = ExitCode::FAILURE;
            }
        }
    }
    Ok(exit)
}

fn show<T: serde::Serialize>(json: bool, value: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    let text = if json { serde_json::to_string(value)? } else { text() };
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Starts a round, or joins the one that goes on, and waits for its end.
async fn follow(
    sources: &Sources,
    before: &SourceStatus,
    allow_deletions: Option<usize>,
    json: bool,
) -> anyhow::Result<SyncReport> {
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template("{prefix:30!} {bar:30} {pos}/{len} {msg}")?);
    bar.set_prefix(before.name.to_string());
    if json || !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar.set_message("comparing");
    // One that goes on may have begun before what has to follow, and knows of no permission.
    let mut started = before.running.is_none();
    if started {
        sources.start(&before.name, allow_deletions).await?;
    }
    let (mut last, mut idle_since) = (before.last.as_ref().map(|last| last.ended), Instant::now());
    loop {
        tokio::time::sleep(BETWEEN_LOOKS).await;
        let now = sources.status(&before.name).await?;
        if let Some(running) = &now.running {
            bar.set_length(running.of as u64);
            bar.set_position(running.done as u64);
            bar.set_message(if running.of == 0 { "comparing" } else { "loading" });
            idle_since = Instant::now();
            continue;
        }
        let ended = now.last.as_ref().map(|last| last.ended);
        match now.last {
            Some(report) if ended != last && started => {
                bar.finish_and_clear();
                return Ok(report);
            }
            _ if !started => {
                sources.start(&before.name, allow_deletions).await?;
                (started, last) = (true, ended);
            }
            _ if idle_since.elapsed() > PATIENCE => {
                bail!("the source `{}` was not compared; the log says why", before.name)
            }
            _ => {}
        }
    }
}

fn reported(name: &SourceName, report: &SyncReport) -> String {
    let SyncReport { files, loaded, updated, moved, deleted, failed, left_out, waiting, .. } = report;
    let parts = [
        (*loaded, "loaded"),
        (*updated, "updated"),
        (*moved, "moved"),
        (*deleted, "deleted"),
        (*failed, "FAILED"),
        (*left_out, "left out"),
        (*waiting, "still being written or loaded"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let what = if parts.is_empty() { "nothing changed".to_owned() } else { parts.join(", ") };
    let seconds = report.ended.saturating_sub(report.began) as f64 / 1000.0;
    let mut text = match &report.outcome {
        SyncOutcome::Failed { why } => format!("{name}: NOT COMPARED: {}", printable(why)),
        _ => format!("{name}: {}: {what} ({seconds:.1} s)", counted(*files, "file")),
    };
    for problem in report.problems.iter().take(MOST_NAMED) {
        let path = printable(&problem.path);
        let between = if path.is_empty() { "" } else { ": " };
        text.push_str(&format!("\n  {path}{between}{}", printable(&problem.problem)));
    }
    if let SyncOutcome::Held { deletions } = report.outcome {
        let documents = counted(deletions, "document");
        text.push_str(&format!(
            "\n  HELD: {documents} are gone there, which is many at once. If that is right: ibid sync {name} --allow-deletions {deletions}"
        ));
    }
    text
}

fn planned(name: &SourceName, plan: &SyncPlan) -> String {
    let mut text = format!("{name}: {}, {} as they are here", counted(plan.files, "file"), plan.unchanged);
    let kinds = [
        ("new", &plan.new),
        ("perhaps changed", &plan.changed),
        ("gone", &plan.gone),
        ("left out", &plan.left_out),
    ];
    for (kind, SyncPaths { count, first }) in kinds {
        if *count > 0 {
            text.push_str(&format!("\n  {count} {kind}"));
        }
        for path in first.iter().take(MOST_NAMED) {
            text.push_str(&format!("\n    {}", printable(path)));
        }
        if *count > MOST_NAMED {
            text.push_str(&format!("\n    and {} more", count - MOST_NAMED));
        }
    }
    if plan.would_hold {
        text.push_str("\n  So many are gone that a person would have to say that they are to be deleted.");
    }
    if let Some(problem) = &plan.problem {
        text.push_str(&format!("\n  Nothing would be deleted: {}", printable(problem)));
    }
    text
}

fn standing(source: &SourceStatus) -> String {
    let SourceStatus { name, kind, location, corpus, every_seconds, .. } = source;
    let every = humantime::format_duration(Duration::from_secs(*every_seconds));
    let mut text = format!("{name}: {kind} {} into {corpus}, compared every {every}", printable(location));
    if let Some(running) = &source.running {
        text.push_str(&format!("\n  being compared: {} of {}", running.done, running.of));
    }
    match &source.last {
        Some(report) => text.push_str(&format!("\n  last: {}", reported(name, report))),
        None => text.push_str("\n  not compared yet"),
    }
    text
}

impl Sources {
    async fn list(&self) -> anyhow::Result<Vec<SourceStatus>> {
        match self {
            Self::Here { app, scope } => Ok(app.sources()?.list(scope).await?),
            Self::Server(client) => client.call(Method::GET, "/sources", None).await,
        }
    }

    async fn status(&self, name: &SourceName) -> anyhow::Result<SourceStatus> {
        match self {
            Self::Here { app, scope } => Ok(app.sources()?.status(scope, name).await?),
            Self::Server(client) => client.call(Method::GET, &format!("/sources/{name}"), None).await,
        }
    }

    async fn plan(&self, name: &SourceName) -> anyhow::Result<SyncPlan> {
        match self {
            Self::Here { app, scope } => Ok(Box::pin(app.sources()?.plan(scope, name)).await?),
            Self::Server(client) => client.call(Method::GET, &format!("/sources/{name}/plan"), None).await,
        }
    }

    async fn start(&self, name: &SourceName, allow_deletions: Option<usize>) -> anyhow::Result<()> {
        match self {
            Self::Here { app, scope } => {
                let deletions = allow_deletions.map_or(Deletions::Brake, Deletions::Allow);
                Ok(app.sources()?.start(scope, name, deletions)?)
            }
            Self::Server(client) => {
                let body = json!({ "allow_deletions": allow_deletions });
                let _: Value =
                    client.call(Method::POST, &format!("/sources/{name}/sync"), Some(body)).await?;
                Ok(())
            }
        }
    }
}
