//! `ibid ingest`: loads documents as durable runs, with a bar for each, and shows what was read.

mod loads;
mod sources;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use futures_util::StreamExt;
use ibid_app::{AssistantRegistry, DocumentFields, Settings};
use ibid_assistants::definition::Definition;
use ibid_core::LoadEvent;
use ibid_core::load::{LoadOutcome, LoadSummary};
use ibid_reading::FILE_FORMATS;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::sync::watch;

use super::printer::INTERRUPTED;
use super::{counted, printable, runtime};
use crate::arguments::Ingest;
use crate::place::Place;
use loads::{Begun, Load, Loads};
use sources::{Found, Source, is_url, sources};

/// So many files that are left out are named.
const MOST_NAMED: usize = 10;

/// Loads everything, and shows what came of it.
pub(super) fn run(config: &Settings, ingest: &Ingest) -> anyhow::Result<ExitCode> {
    let assistant =
        ingest.assistant.as_deref().map(|name| AssistantRegistry::find(config, name)).transpose()?;
    let faq = tempfile::tempdir().context("no temporary folder can be made")?;
    let Found { mut sources, left_out } = sources(&ingest.sources)?;
    name_left_out(&left_out);
    if let Some(assistant) = assistant.as_ref().filter(|_| ingest.sources.is_empty()) {
        sources.extend(assistant.definition.documents.iter().map(Source::named));
        sources.extend(Source::categories(assistant, faq.path())?);
    }
    let definition = assistant.map(|assistant| assistant.definition).unwrap_or_default();
    if sources.is_empty() {
        let labels: Vec<&str> = FILE_FORMATS.iter().map(|entry| entry.label).collect();
        bail!("there is nothing to load: no file was found that can be read ({})", labels.join(", "));
    }
    if ingest.title.is_some() && sources.len() > 1 {
        bail!("a title is for one document, and there are {}", sources.len());
    }
    runtime()?.block_on(async {
        // Before anything is begun that a stop would have to end.
        let stopped = stopped();
        // Here, whoever loads for a label must hold it; at a server, its key says what is held.
        let held = if ingest.target.server.is_some() { &[][..] } else { &ingest.label };
        let place = Place::to_run(config, &ingest.target, held).await?;
        let loader = Loader {
            config,
            ingest,
            definition: &definition,
            loads: Loads::open(config, place).await?,
            bars: bars(ingest.json),
            stopped,
        };
        let summaries = loader.all(sources).await;
        Box::pin(loader.loads.close()).await;
        show(ingest.json, &summaries)
    })
}

/// Names the files of a folder that are not loaded, and why.
fn name_left_out(left_out: &[PathBuf]) {
    for path in left_out.iter().take(MOST_NAMED) {
        eprintln!("left out: {}: no format that can be read", printable(&path.to_string_lossy()));
    }
    if left_out.len() > MOST_NAMED {
        eprintln!("left out: {} more files", left_out.len() - MOST_NAMED);
    }
}

/// Becomes true when the user wants to stop. Who wants it twice does not wait for what is going on: it is
/// safe, and goes on with the next command.
fn stopped() -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if stop.send_replace(true) {
                std::process::exit(INTERRUPTED);
            }
        }
    });
    stopped
}

fn bars(json: bool) -> MultiProgress {
    let bars = MultiProgress::new();
    if json || !std::io::stderr().is_terminal() {
        bars.set_draw_target(ProgressDrawTarget::hidden());
    }
    bars
}

/// Loads documents, with a bar for each.
struct Loader<'a> {
    config: &'a Settings,
    ingest: &'a Ingest,
    definition: &'a Definition,
    loads: Loads,
    bars: MultiProgress,
    stopped: watch::Receiver<bool>,
}

impl Loader<'_> {
    /// Some at once, in their order.
    async fn all(&self, sources: Vec<Source>) -> Vec<(String, anyhow::Result<LoadSummary>)> {
        let loads = sources.into_iter().map(|source| async move {
            if *self.stopped.borrow() {
                return (source.key, Err(anyhow!("stopped before it began")));
            }
            let summary = Box::pin(self.one(&source)).await;
            if let Ok(summary) = &summary
                && !self.ingest.json
                && !std::io::stderr().is_terminal()
            {
                eprintln!("{}: {}", shown(&source.key), outcome_text(&summary.outcome));
            }
            (source.key, summary)
        });
        futures_util::stream::iter(loads).buffered(self.config.ingest.at_once.max(1)).collect().await
    }

    async fn one(&self, source: &Source) -> anyhow::Result<LoadSummary> {
        let (request_source, bytes) = self.read(source).await?;
        loop {
            let begun = self.loads.begin(&request_source, &self.fields(source), bytes.as_deref()).await?;
            let load = match begun {
                Begun::Unchanged(summary) => return Ok(summary),
                Begun::Running(load) => load,
            };
            let resumed = load.resumed;
            let summary = self.follow(&request_source, load).await?;
            // A load that an earlier command had stopped ends here, and what is asked for now begins.
            if resumed && summary.outcome == LoadOutcome::Stopped && !*self.stopped.borrow() {
                continue;
            }
            return Ok(summary);
        }
    }

    /// The source as the ledger has it, and the content, if it is here.
    async fn read(&self, Source { place, key, known }: &Source) -> anyhow::Result<(String, Option<Vec<u8>>)> {
        if is_url(place) {
            return Ok((if known.is_some() { place.clone() } else { key.clone() }, None));
        }
        let unread = || format!("{place} cannot be read");
        let size = tokio::fs::metadata(place).await.with_context(unread)?.len();
        let most = self.config.ingest.largest_mb;
        if size > most << 20 {
            bail!("{place} has {} MB, more than the {most} MB of `ingest.largest_mb`", size >> 20);
        }
        Ok((key.clone(), Some(tokio::fs::read(place).await.with_context(unread)?)))
    }

    /// What is said of a document: in the command, and by the assistant that names it.
    fn fields(&self, Source { key, known, .. }: &Source) -> DocumentFields {
        let corpus = self.ingest.corpus.clone().or_else(|| self.definition.corpora.first().cloned());
        let named = known.as_ref().map(|known| DocumentFields::named(known, None)).unwrap_or_default();
        let given = self.ingest;
        DocumentFields {
            key: Some(key.clone()),
            corpus,
            document_type: named.document_type.or_else(|| given.kind.clone()),
            title: named.title.or_else(|| given.title.clone()),
            language: named.language.or_else(|| given.language.clone()),
            labels: given.label.clone(),
            chunk: (given.chunk_characters.or(named.chunk.0), given.chunk_overlap.or(named.chunk.1)),
            origin: None,
        }
    }

    /// Shows how a load goes on, until it has ended.
    async fn follow(&self, source: &str, mut load: Load) -> anyhow::Result<LoadSummary> {
        let bar = self.bars.add(ProgressBar::new(0));
        bar.set_style(ProgressStyle::with_template("{prefix:30!} {bar:30} {pos}/{len} {msg}")?);
        bar.set_prefix(shown(source));
        let mut stopped = self.stopped.clone();
        let (mut stopping, mut last) = (false, None);
        loop {
            let event = tokio::select! {
                event = load.events.next() => event,
                Ok(_) = stopped.wait_for(|stopped| *stopped), if !stopping => {
                    stopping = true;
                    bar.set_message("stopping");
                    self.loads.stop(&load).await?;
                    continue;
                }
            };
            let Some(event) = event else { break };
            let event = event?.event;
            progress(&bar, &event);
            last = Some(event);
        }
        bar.finish_and_clear();
        load.finish(last).await
    }
}

fn progress(bar: &ProgressBar, event: &LoadEvent) {
    let at = |position: u32, length: u32, message: &'static str| {
        bar.set_length(length.into());
        bar.set_position(position.into());
        bar.set_message(message);
    };
    match event {
        LoadEvent::Status { text } => bar.set_message(printable(text)),
        LoadEvent::PageRead { page, pages, .. } => at(*page, *pages, "pages read"),
        LoadEvent::ChunksEmbedded { chunks, of } => at(*chunks, *of, "chunks embedded"),
        _ => {}
    }
}

fn shown(source: &str) -> String {
    printable(source.rsplit('/').next().unwrap_or(source))
}

fn outcome_text(outcome: &LoadOutcome) -> String {
    match outcome {
        LoadOutcome::Loaded => "loaded".to_owned(),
        LoadOutcome::Unchanged => "unchanged".to_owned(),
        LoadOutcome::Duplicate { of } => format!("the same as {}", printable(of)),
        LoadOutcome::Empty => "EMPTY: nothing in it can be searched".to_owned(),
        LoadOutcome::Failed { why } => format!("FAILED: {}", printable(why)),
        LoadOutcome::Stopped => "stopped".to_owned(),
    }
}

fn show(json: bool, summaries: &[(String, anyhow::Result<LoadSummary>)]) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let mut failed = false;
    if !json {
        writeln!(
            out,
            "{:<34} {:>6} {:>7} {:>7} {:>7} {:>8}  what became of it",
            "document", "pages", "skipped", "tables", "chunks", "seconds"
        )?;
    }
    let (mut pages, mut chunks) = (0, 0);
    for (source, summary) in summaries {
        match summary {
            Ok(summary) => {
                failed |= matches!(
                    summary.outcome,
                    LoadOutcome::Failed { .. } | LoadOutcome::Empty | LoadOutcome::Stopped
                );
                pages += summary.pages;
                chunks += summary.chunks;
                if json {
                    writeln!(out, "{}", serde_json::to_string(summary)?)?;
                } else {
                    let name: String = shown(source).chars().take(34).collect();
                    let seconds = summary.milliseconds as f64 / 1000.0;
                    writeln!(
                        out,
                        "{name:<34} {:>6} {:>7} {:>7} {:>7} {seconds:>8.1}  {}",
                        summary.pages,
                        summary.skipped,
                        summary.tables,
                        summary.chunks,
                        outcome_text(&summary.outcome)
                    )?;
                }
            }
            Err(error) => {
                failed = true;
                let why = crate::error_chain(error);
                if json {
                    writeln!(out, "{}", serde_json::json!({ "source": source, "error": why }))?;
                } else {
                    writeln!(out, "{:<34} FAILED: {}", shown(source), printable(&why))?;
                }
            }
        }
    }
    if !json {
        writeln!(
            out,
            "\n{}, {}, {}. `ibid documents show NAME` tells what was read of each page.",
            counted(summaries.len(), "document"),
            counted(pages, "page"),
            counted(chunks, "chunk")
        )?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
