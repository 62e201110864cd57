//! `ibid documents`: what was loaded, what was read of it, and how to be rid of it.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use http::Method;
use ibid_app::{OfflineLoads, Settings, erase_now};
use ibid_core::{Corpus, Label, Scope};
use ibid_knowledge::{Document, DocumentChange, PageCounts, Store};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{confirmed, counted, printable, runtime};
use crate::arguments::{Documents, DocumentsCommand};
use crate::client::Client;
use crate::place::Place;

/// So many documents are asked of a server at once.
const PAGE: usize = 1000;

/// Runs one of the commands about documents.
pub(super) fn run(config: &Settings, documents: &Documents) -> anyhow::Result<ExitCode> {
    let open = async |label: &[Label]| {
        Ledger::open(config, Place::of(config, &documents.target, label).await?).await
    };
    runtime()?.block_on(async {
        match &documents.command {
            DocumentsCommand::List { corpus, label, json } => {
                list(&open(label).await?.list(corpus.as_ref()).await?, *json)
            }
            DocumentsCommand::Show { document, label, json } => {
                let ledger = open(label).await?;
                show(&ledger.one(&ledger.find(document).await?).await?, *json)
            }
            DocumentsCommand::Edit { document, title, kind, labels, label } => {
                let ledger = open(label).await?;
                let document = ledger.find(document).await?;
                let labels = labels.as_deref().map(named_labels).transpose()?;
                let change = DocumentChange { title: title.clone(), kind: kind.clone(), labels };
                ledger.change(&document, change).await?;
                writeln!(std::io::stdout(), "Changed {}.", printable(&document.source))?;
                Ok(ExitCode::SUCCESS)
            }
            DocumentsCommand::Delete { document, label, yes } => {
                let ledger = open(label).await?;
                let document = ledger.find(document).await?;
                let name = printable(&document.source);
                if !yes
                    && !confirmed(&name, &format!("`{name}` with its {}", counted(document.chunks, "chunk")))?
                {
                    return Ok(ExitCode::SUCCESS);
                }
                ledger.delete(config, &document).await?;
                writeln!(std::io::stdout(), "Deleted {name}.")?;
                Ok(ExitCode::SUCCESS)
            }
        }
    })
}

/// What was loaded, in the data folder of this machine or at a server.
enum Ledger {
    Here { store: Box<Store>, scope: Scope },
    Server(Client),
}

/// A page of a server's list.
#[derive(Deserialize)]
struct Page {
    documents: Vec<Document<PageCounts>>,
    total: usize,
}

impl Ledger {
    async fn open(config: &Settings, place: Place) -> anyhow::Result<Self> {
        match place {
            Place::Here(scope) => {
                let store = Box::new(ibid_app::open_store(config).await?);
                Ok(Self::Here { store, scope })
            }
            Place::Server(client) => Ok(Self::Server(client)),
        }
    }

    async fn list(&self, corpus: Option<&Corpus>) -> anyhow::Result<Vec<Document<PageCounts>>> {
        let mut all = match self {
            Self::Here { store, scope } => store.listed(scope).await?,
            Self::Server(client) => {
                let mut all = Vec::new();
                loop {
                    let path = format!("/documents?limit={PAGE}&offset={}", all.len());
                    let Page { documents, total } = client.call(Method::GET, &path, None).await?;
                    let none = documents.is_empty();
                    all.extend(documents);
                    if none || all.len() >= total {
                        break all;
                    }
                }
            }
        };
        all.retain(|document| corpus.is_none_or(|corpus| document.corpus == *corpus));
        Ok(all)
    }

    /// The document of that name, or the only one whose source is or ends so.
    async fn find(&self, name: &str) -> anyhow::Result<Document<PageCounts>> {
        type Listed = Document<PageCounts>;
        let documents = self.list(None).await?;
        let fits: [&dyn Fn(&Listed) -> bool; 3] =
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

    /// One with a record of each page.
    async fn one(&self, listed: &Document<PageCounts>) -> anyhow::Result<Document> {
        match self {
            Self::Here { store, scope } => match store.document(scope, &listed.id).await? {
                Some(document) => Ok(document),
                None => bail!("{} was deleted just now", listed.source),
            },
            Self::Server(client) => {
                client.call(Method::GET, &format!("/documents/{}", listed.id), None).await
            }
        }
    }

    async fn change(&self, document: &Document<PageCounts>, change: DocumentChange) -> anyhow::Result<()> {
        match self {
            Self::Here { store, scope } => {
                if Box::pin(store.change(scope, &document.id, change)).await?.is_none() {
                    bail!("{} was deleted just now", document.source);
                }
                Ok(())
            }
            Self::Server(client) => {
                let DocumentChange { title, kind, labels } = change;
                let body = json!({ "title": title, "type": kind, "labels": labels });
                let path = format!("/documents/{}", document.id);
                client.call::<Value>(Method::PATCH, &path, Some(body)).await.map(drop)
            }
        }
    }

    async fn delete(&self, config: &Settings, document: &Document<PageCounts>) -> anyhow::Result<()> {
        match self {
            Self::Here { store, scope } => {
                if let Some(loads) = OfflineLoads::open(config).await? {
                    loads.delete(scope, &document.id).await?;
                }
                store.delete(scope, &document.id).await?;
                Ok(erase_now(config).await?)
            }
            Self::Server(client) => {
                let path = format!("/documents/{}", document.id);
                client.call::<Value>(Method::DELETE, &path, None).await.map(drop)
            }
        }
    }
}

fn named_labels(names: &str) -> anyhow::Result<BTreeSet<Label>> {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    Ok(names.map(str::parse).collect::<Result<_, _>>()?)
}

fn list(documents: &[Document<PageCounts>], json: bool) -> anyhow::Result<ExitCode> {
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
        let (status, pages) = (document.state.status().name(), document.pages.count);
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
    writeln!(out, "  id        {}", document.id)?;
    writeln!(out, "  source    {}", printable(&document.source))?;
    writeln!(out, "  corpus    {}", document.corpus)?;
    writeln!(out, "  type      {}", printable(&document.kind))?;
    writeln!(out, "  language  {}", printable(&document.language))?;
    writeln!(out, "  status    {}", document.state.status().name())?;
    if let Some(problem) = document.state.problem() {
        writeln!(out, "  problem   {}", printable(problem))?;
    }
    writeln!(out, "  content   {} bytes, SHA-256 {}", document.bytes, document.content)?;
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
        let name = page.location.as_ref().map(|location| format!("{}. ", location.in_words(page.number)));
        let remarks = format!("{}{skipped}{}", name.unwrap_or_default(), page.remarks.join(" "));
        writeln!(
            out,
            "{:>6}  {:<8} {:>10} {:>5} {:>7}  {}",
            page.number,
            printable(&page.kind),
            page.characters,
            page.rows,
            page.chunks,
            printable(&remarks)
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
