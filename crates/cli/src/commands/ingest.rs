//! `ibid ingest`: loads documents as durable runs, with a bar for each, and shows what was read.

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, anyhow, bail};
use futures_util::StreamExt;
use ibid_assistants::definition::{Definition, RemoteDocument};
use ibid_core::model::Caller;
use ibid_core::{Corpus, Message, RunId};
use ibid_engine::{Assistant, Engine, LocalEngine, MessageWindow, Stop, Turn};
use ibid_graph::Kind;
use ibid_knowledge::{Ingestion, Job, Outcome, Settings, Store, Summary};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::sync::watch;

use super::{counted, printable, runtime, scope};
use crate::arguments::Ingest;
use crate::config::Config;
use crate::library::Library;

/// The name of the program that loads.
pub(super) const PROGRAM: &str = "ingestion";
/// Where documents go that nobody says otherwise of.
pub(super) const CORPUS: &str = "documents";
/// After so many documents the indexes are brought up to date.
const BETWEEN_UPKEEP: usize = 64;
/// How a program ends that was interrupted.
const INTERRUPTED: i32 = 130;
/// What a folder is searched for.
const KNOWN: [&str; 6] = ["pdf", "md", "markdown", "html", "htm", "txt"];

/// Loads everything, and shows what came of it.
pub(super) fn run(config: &Config, ingest: &Ingest) -> anyhow::Result<ExitCode> {
    let assistant =
        ingest.assistant.as_deref().map(|name| crate::assistants::find(config, name)).transpose()?;
    let definition = assistant.map(|assistant| assistant.definition).unwrap_or_default();
    let mut sources = sources(&ingest.sources)?;
    if ingest.sources.is_empty() {
        sources.extend(definition.documents.iter().map(Source::named));
    }
    if sources.is_empty() {
        bail!("there is nothing to load: no PDF, Markdown, HTML or text file was found");
    }
    if ingest.title.is_some() && sources.len() > 1 {
        bail!("a title is for one document, and there are {}", sources.len());
    }
    runtime()?.block_on(async {
        let library = Library::open(config, &Caller::ingestion(scope().tenant().clone())).await?;
        let ingestion =
            library.ingestion(definition.documents.iter().map(|document| document.url.as_str()))?;
        let program = ingestion.program()?;
        let assistants = [(PROGRAM.to_owned(), Assistant::new(program))].into_iter().collect();
        // Before anything is begun that a stop would have to end.
        let stopped = stopped();
        let engine = LocalEngine::open(&config.ingestion_file(), assistants, config.engine_settings())
            .await
            .context("documents cannot be loaded durably, so none was loaded")?;
        let loader = Loader {
            config,
            ingest,
            corpus: corpus(ingest, &definition)?,
            types: if definition.types.is_empty() { &config.ingest.types } else { &definition.types },
            store: &library.store,
            ingestion: &ingestion,
            engine: &engine,
            bars: bars(ingest.json),
            stopped,
            begun: AtomicUsize::new(0),
        };
        let summaries = loader.all(sources).await;
        loader.keep_up().await;
        engine.close().await;
        show(ingest.json, &summaries)
    })
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

/// What is to be loaded.
struct Source {
    /// Its path or URL.
    place: String,
    /// Its URL, or its path in the folder that was given, or its file name.
    key: String,
    /// What an assistant knows of it.
    known: Option<RemoteDocument>,
}

impl Source {
    fn at(place: String, key: String) -> Self {
        Self { place, key, known: None }
    }

    fn named(document: &RemoteDocument) -> Self {
        Self { place: document.url.clone(), key: document.key.clone(), known: Some(document.clone()) }
    }
}

/// Where documents go: where it is said, else where the assistant looks, else `documents`.
fn corpus(ingest: &Ingest, definition: &Definition) -> anyhow::Result<Corpus> {
    match (&ingest.corpus, definition.corpora.first()) {
        (Some(corpus), _) | (None, Some(corpus)) => Ok(corpus.clone()),
        (None, None) => Ok(CORPUS.parse()?),
    }
}

/// Files and URLs, folders opened.
fn sources(given: &[String]) -> anyhow::Result<Vec<Source>> {
    let mut sources: Vec<Source> = Vec::new();
    for place in given {
        if is_url(place) {
            sources.push(Source::at(place.clone(), place.clone()));
            continue;
        }
        let path = Path::new(place);
        let kind = path.metadata().with_context(|| format!("{place} cannot be read"))?;
        let (root, mut files) = if kind.is_dir() {
            (path, Vec::new())
        } else {
            (path.parent().unwrap_or(path), vec![path.to_owned()])
        };
        if kind.is_dir() {
            walk(path, &mut files)?;
            files.sort();
        }
        for file in files {
            let key = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
            sources.push(Source::at(file.to_string_lossy().into_owned(), key));
        }
    }
    let mut seen = HashSet::new();
    if let Some(twice) = sources.iter().find(|source| !seen.insert(source.key.as_str())) {
        bail!(
            "two files are called {}; load them into two corpora, or from the folder above both",
            twice.key
        );
    }
    Ok(sources)
}

fn is_url(source: &str) -> bool {
    source.starts_with("http://") || source.starts_with("https://")
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in folder.read_dir().with_context(|| format!("{} cannot be read", folder.display()))? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let known = path
            .extension()
            .is_some_and(|extension| KNOWN.iter().any(|known| extension.eq_ignore_ascii_case(known)));
        // Links are not followed: they may lead in circles, or out of the folder.
        if kind.is_dir() && !hidden {
            walk(&path, files)?;
        } else if kind.is_file() && known && !hidden {
            files.push(path);
        }
    }
    Ok(())
}

fn bars(json: bool) -> MultiProgress {
    let bars = MultiProgress::new();
    if json || !std::io::stderr().is_terminal() {
        bars.set_draw_target(ProgressDrawTarget::hidden());
    }
    bars
}

/// Loads documents through the engine.
struct Loader<'a> {
    config: &'a Config,
    ingest: &'a Ingest,
    corpus: Corpus,
    types: &'a [String],
    store: &'a Store,
    ingestion: &'a Ingestion,
    engine: &'a LocalEngine,
    bars: MultiProgress,
    stopped: watch::Receiver<bool>,
    /// How many runs there were; what is unchanged needs none.
    begun: AtomicUsize,
}

impl Loader<'_> {
    /// Some at once, in their order.
    async fn all(&self, sources: Vec<Source>) -> Vec<(String, anyhow::Result<Summary>)> {
        let loads = sources.into_iter().map(|source| async move {
            if *self.stopped.borrow() {
                return (source.key, Err(anyhow!("stopped before it began")));
            }
            let summary = Box::pin(self.one(&source)).await;
            if let Ok(summary) = &summary
                && !self.ingest.json
                && !std::io::stderr().is_terminal()
            {
                eprintln!("{}: {}", shown(&source.key), told(&summary.outcome));
            }
            (source.key, summary)
        });
        futures_util::stream::iter(loads).buffered(self.config.ingest.at_once.max(1)).collect().await
    }

    /// Keeps the store quick. Where that fails nothing is lost, and the next command does it.
    async fn keep_up(&self) {
        if let Err(error) = self.store.keep_up().await {
            eprintln!("the indexes of the store could not be brought up to date: {error}");
        }
    }

    async fn one(&self, source: &Source) -> anyhow::Result<Summary> {
        let (job, bytes) = self.job(source).await?;
        let holder = scope().holding(self.ingest.label.iter().cloned());
        let known = self.ingestion.permit(&holder, &job).await?;
        let mut run = self.unfinished(&job).await?;
        if run.is_none()
            && let Some(unchanged) = known.and_then(|known| job.unchanged(&known))
        {
            // It is there, unless the store was damaged.
            self.keep(&job, bytes.as_deref()).await?;
            return Ok(unchanged);
        }
        if (self.begun.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(BETWEEN_UPKEEP) {
            self.keep_up().await;
        }
        loop {
            self.keep(&job, bytes.as_deref()).await?;
            let (goes_on, id) = match run.take() {
                Some(run) => (true, run),
                None => (false, self.submit(&job).await?),
            };
            let summary = self.follow(&job, id).await?;
            // A run that an earlier command had stopped ends here, and what is asked for now begins.
            if goes_on && summary.outcome == Outcome::Stopped && !*self.stopped.borrow() {
                continue;
            }
            return Ok(summary);
        }
    }

    /// Keeps the content, if it is here.
    async fn keep(&self, job: &Job, bytes: Option<&[u8]>) -> anyhow::Result<()> {
        if let (Some(version), Some(bytes)) = (&job.version, bytes) {
            self.ingestion.keep_as(version, bytes).await?;
        }
        Ok(())
    }

    async fn submit(&self, job: &Job) -> anyhow::Result<RunId> {
        let message = Message::user(serde_json::to_string(job)?);
        let turn = Turn::new(Job::thread(&job.document()), PROGRAM, message);
        Ok(self.engine.submit(&scope(), turn).await?.run)
    }

    /// Shows how a run goes on, until it has ended.
    async fn follow(&self, job: &Job, run: RunId) -> anyhow::Result<Summary> {
        let bar = self.bars.add(ProgressBar::new(0));
        bar.set_style(ProgressStyle::with_template("{prefix:30!} {bar:30} {pos}/{len} {msg}")?);
        bar.set_prefix(shown(&job.source));
        let mut events = self.engine.events(&scope(), run, 0).await?;
        let mut stopped = self.stopped.clone();
        let mut stopping = false;
        let mut failed = None;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                Ok(_) = stopped.wait_for(|stopped| *stopped), if !stopping => {
                    stopping = true;
                    bar.set_message("stopping");
                    self.engine.stop(&scope(), run, Stop::Keep).await?;
                    continue;
                }
            };
            let Some(event) = event else { break };
            match event?.what.kind {
                Kind::Status { text } => bar.set_message(printable(&text)),
                Kind::Data { name, value } => progress(&bar, &name, &value),
                Kind::Ended { error, .. } => {
                    failed = error;
                    break;
                }
                _ => {}
            }
        }
        bar.finish_and_clear();
        if let Some(error) = failed {
            self.ingestion.abandon(job, run).await?;
            bail!(error);
        }
        let mut summary = self.said(job).await?;
        if summary.outcome == Outcome::Stopped && self.ingestion.abandon(job, run).await? {
            summary.outcome = Outcome::Loaded;
        }
        Ok(summary)
    }

    /// What the last run of a document came to.
    async fn said(&self, job: &Job) -> anyhow::Result<Summary> {
        let last = self.last_word(job).await?.context("loading ended without a word")?;
        serde_json::from_str(&last).context("loading ended with something unclear")
    }

    /// The last message of a document's thread.
    async fn last_word(&self, job: &Job) -> anyhow::Result<Option<String>> {
        let window = MessageWindow { before: None, limit: 1 };
        let said = self.engine.messages(&scope(), Job::thread(&job.document()), window).await?;
        Ok(said.into_iter().next_back().map(|said| said.message.text))
    }

    /// The run of an interrupted command that loads the same in the same way: it goes on. One that loads
    /// something else under this name is stopped, since it would come after what is asked for now.
    async fn unfinished(&self, job: &Job) -> anyhow::Result<Option<RunId>> {
        let thread = Job::thread(&job.document());
        let runs = self.engine.runs(&scope(), thread).await.unwrap_or_default();
        let Some(run) = runs.iter().rev().find(|run| !run.status.is_final()) else { return Ok(None) };
        let asked = self.last_word(job).await?.and_then(|text| serde_json::from_str::<Job>(&text).ok());
        if asked.as_ref() == Some(job) {
            return Ok(Some(run.id));
        }
        self.engine.stop(&scope(), run.id, Stop::Keep).await?;
        let mut events = self.engine.events(&scope(), run.id, 0).await?;
        while events.next().await.is_some() {}
        if let Some(asked) = asked {
            self.ingestion.abandon(&asked, run.id).await?;
        }
        Ok(None)
    }

    /// What is to be done, and with which content, if it is here.
    async fn job(&self, Source { place, key, known }: &Source) -> anyhow::Result<(Job, Option<Vec<u8>>)> {
        let name = key.rsplit('/').next().unwrap_or(key);
        let config = &self.config.ingest;
        let mut job = Job {
            tenant: scope().tenant().clone(),
            corpus: self.corpus.clone(),
            key: key.clone(),
            source: if known.is_some() { place.clone() } else { key.clone() },
            version: None,
            settings: Settings {
                title: self.ingest.title.clone(),
                language: self.ingest.language.clone(),
                labels: self.ingest.label.iter().cloned().collect(),
                ..config.treated(name, self.types)
            },
        };
        if let Some(kind) = &self.ingest.kind {
            job.settings.kind.clone_from(kind);
        }
        if let Some(known) = known {
            let settings = &mut job.settings;
            settings.kind.clone_from(&known.kind);
            settings.title = Some(known.title.clone());
            settings.language = Some(known.language.clone());
            settings.size.characters = known.chunk_characters.unwrap_or(settings.size.characters);
            settings.size.overlap = known.chunk_overlap.unwrap_or(settings.size.overlap);
        }
        if !is_url(place) {
            let unread = || format!("{place} cannot be read");
            let size = tokio::fs::metadata(place).await.with_context(unread)?.len();
            let most = config.largest_mb;
            if size > most << 20 {
                bail!("{place} has {} MB, more than the {most} MB of `ingest.largest_mb`", size >> 20);
            }
            let bytes = tokio::fs::read(place).await.with_context(unread)?;
            job.version = Some(Ingestion::name(&bytes));
            return Ok((job, Some(bytes)));
        }
        Ok((job, None))
    }
}

fn progress(bar: &ProgressBar, name: &str, value: &serde_json::Value) {
    let number = |key: &str| value[key].as_u64().unwrap_or_default();
    match name {
        "page" => {
            bar.set_length(number("pages"));
            bar.set_position(number("page"));
            bar.set_message("pages read");
        }
        "chunks" => {
            bar.set_length(number("of"));
            bar.set_position(number("chunks"));
            bar.set_message("chunks embedded");
        }
        _ => {}
    }
}

fn shown(source: &str) -> String {
    printable(source.rsplit('/').next().unwrap_or(source))
}

fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Loaded => "loaded".to_owned(),
        Outcome::Unchanged => "unchanged".to_owned(),
        Outcome::Duplicate { of } => format!("the same as {}", printable(of)),
        Outcome::Empty => "EMPTY: nothing in it can be searched".to_owned(),
        Outcome::Failed { why } => format!("FAILED: {}", printable(why)),
        Outcome::Stopped => "stopped".to_owned(),
    }
}

fn show(json: bool, summaries: &[(String, anyhow::Result<Summary>)]) -> anyhow::Result<ExitCode> {
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
                failed |=
                    matches!(summary.outcome, Outcome::Failed { .. } | Outcome::Empty | Outcome::Stopped);
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
                        told(&summary.outcome)
                    )?;
                }
            }
            Err(error) => {
                failed = true;
                let why = crate::told(error);
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
