//! `ibid documents`: what was loaded, what was read of it, and how to be rid of it.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use ibid_core::{Label, Scope};
use ibid_engine::{EngineFile, Error};
use ibid_knowledge::{Document, Job, Store};

use super::{confirmed, counted, printable, runtime, scope};
use crate::arguments::Documents;
use crate::config::Config;
use crate::library;

/// Runs one of the commands about documents.
pub(super) fn run(config: &Config, command: &Documents) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let store = library::store(config).await?;
        let holding = |label: &[Label]| scope().holding(label.iter().cloned());
        match command {
            Documents::List { corpus, label, json } => {
                let scope =
                    corpus.iter().fold(holding(label), |scope, corpus| scope.within([corpus.clone()]));
                list(&store.documents(&scope).await?, *json)
            }
            Documents::Show { document, label, json } => {
                show(&found(&store, &holding(label), document).await?, *json)
            }
            Documents::Delete { document, label, yes } => {
                let scope = holding(label);
                let document = found(&store, &scope, document).await?;
                let name = printable(&document.source);
                if !yes
                    && !confirmed(&name, &format!("`{name}` with its {}", counted(document.chunks, "chunk")))?
                {
                    return Ok(ExitCode::SUCCESS);
                }
                forget_load(config, &document)?;
                store.delete(&scope, &document.id).await?;
                store.keep_up().await?;
                writeln!(std::io::stdout(), "Deleted {name}.")?;
                Ok(ExitCode::SUCCESS)
            }
        }
    })
}

/// Forgets how a document was loaded, and a load that was interrupted with it: it would bring it back.
fn forget_load(config: &Config, document: &Document) -> anyhow::Result<()> {
    let file = config.ingestion_file();
    if !file.is_file() {
        return Ok(());
    }
    match EngineFile::at(&file).delete_thread(&scope(), Job::thread(&document.id)) {
        Ok(()) | Err(Error::UnknownThread(_)) => Ok(()),
        Err(error) => Err(error).context("it cannot be deleted while documents are being loaded"),
    }
}

/// The document of that name, or the only one whose source is or ends so.
async fn found(store: &Store, scope: &Scope, name: &str) -> anyhow::Result<Document> {
    let documents = store.documents(scope).await?;
    let fits: [&dyn Fn(&Document) -> bool; 3] =
        [&|document| document.id.0 == name, &|document| document.source == name, &|document| {
            document.source.ends_with(name)
        }];
    let fitting =
        fits.iter().map(|fits| documents.iter().filter(|document| fits(document)).collect::<Vec<_>>());
    match fitting.into_iter().find(|fitting| !fitting.is_empty()).unwrap_or_default().as_slice() {
        [only] => Ok((*only).clone()),
        [] => bail!("there is no document `{name}`; `ibid documents list` shows all"),
        several => {
            let names: Vec<String> =
                several.iter().map(|document| format!("{} ({})", document.id, document.corpus)).collect();
            bail!("`{name}` fits several documents: {}", names.join(", "))
        }
    }
}

fn list(documents: &[Document], json: bool) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if json {
        for document in documents {
            writeln!(out, "{}", serde_json::to_string(document)?)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if documents.is_empty() {
        writeln!(out, "There are no documents yet; `ibid ingest FILE` loads one.")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{:<24}  {:<16} {:<8} {:>6} {:>7}  source", "name", "corpus", "status", "pages", "chunks")?;
    for document in documents {
        let (status, pages) = (document.status.name(), document.pages.len());
        let source = printable(&document.source);
        writeln!(
            out,
            "{:<24}  {:<16} {status:<8} {pages:>6} {:>7}  {source}",
            document.id, document.corpus, document.chunks
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(document: &Document, json: bool) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(document)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{}", printable(&document.title))?;
    writeln!(out, "  name      {}", document.id)?;
    writeln!(out, "  source    {}", printable(&document.source))?;
    writeln!(out, "  corpus    {}", document.corpus)?;
    writeln!(out, "  type      {}", printable(&document.kind))?;
    writeln!(out, "  language  {}", document.language)?;
    writeln!(out, "  status    {}", document.status.name())?;
    if let Some(problem) = &document.problem {
        writeln!(out, "  problem   {}", printable(problem))?;
    }
    writeln!(out, "  content   {} bytes, SHA-256 {}", document.bytes, document.version)?;
    writeln!(
        out,
        "  figures   {}, {}, {}, {:.1} s",
        counted(document.pages.len(), "page"),
        counted(document.tables, "table"),
        counted(document.chunks, "chunk"),
        document.milliseconds as f64 / 1000.0
    )?;
    writeln!(out, "\n  page  kind     characters  rows  chunks  remarks")?;
    for page in &document.pages {
        let skipped = page.skipped.as_ref().map(|why| format!("skipped: {why}. ")).unwrap_or_default();
        let remarks = format!("{skipped}{}", page.remarks.join(" "));
        writeln!(
            out,
            "{:>6}  {:<8} {:>10} {:>5} {:>7}  {}",
            page.number,
            page.kind,
            page.characters,
            page.rows,
            page.chunks,
            printable(&remarks)
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
