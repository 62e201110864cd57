//! Puts the store, the reader and the search together from the configuration.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use ibid_core::model::{Caller, Embedder};
use ibid_egress::{Egress, Host, Limits as EgressLimits, Rules};
use ibid_knowledge::{Download, Ingestion, Search, Store};
use ibid_models::pull::PDFIUM;
use ibid_reading::{Limits, Reader};
use url::Url;

use crate::config::Config;
use crate::parts::{NO_EMBEDDING, Parts};

/// What helps where PDFs cannot be read.
pub(crate) const NO_PDFIUM: &str = "PDFs cannot be read without the library PDFium: `ibid models pull` brings it; or set \
     `ingest.pdfium` to the file libpdfium.so";

/// The documents and what reads and finds them.
pub(crate) struct Library<'a> {
    config: &'a Config,
    pub(crate) parts: Parts<'a>,
    pub(crate) store: Arc<Store>,
    pub(crate) embedder: Arc<dyn Embedder>,
}

impl<'a> Library<'a> {
    /// Opens the store with the embedding model.
    pub(crate) async fn open(config: &'a Config, caller: &Caller) -> anyhow::Result<Self> {
        let parts = Parts::new(config)?;
        let Some(embedder) = parts.embedder(caller).await? else { bail!(NO_EMBEDDING) };
        let place = config.store_place();
        let store = Store::open(&place, config.store.options()?, embedder.name(), embedder.dimensions());
        let store = store.await.with_context(|| unopened(&place))?;
        Ok(Self { config, parts, store: Arc::new(store), embedder })
    }

    /// Finds what the documents say.
    pub(crate) fn search(&self) -> anyhow::Result<Search> {
        Ok(Search::new(self.store.clone(), self.embedder.clone()).with_reranker(self.parts.reranker()?))
    }

    /// Loads documents, also from addresses that an assistant names: to name one is to allow it.
    pub(crate) fn ingestion<'u>(&self, named: impl Iterator<Item = &'u str>) -> anyhow::Result<Ingestion> {
        let ingestion = Ingestion::new(self.store.clone(), self.embedder.clone(), reader(self.config)?);
        let hosts = self.config.ingest.hosts.iter().map(|host| host.parse());
        let mut hosts: Vec<Host> = hosts.collect::<Result<_, _>>().context("in `ingest.hosts`")?;
        for address in named {
            let url = Url::parse(address).with_context(|| format!("{address} is no address"))?;
            hosts.push(Host::of(&url)?);
        }
        if hosts.is_empty() {
            return Ok(ingestion);
        }
        let limits =
            EgressLimits { body_bytes: self.config.ingest.largest_mb << 20, ..EgressLimits::default() };
        Ok(ingestion.downloading(Download::new(Egress::new(Rules::only(hosts), limits)?)))
    }
}

/// The store alone, to look after what is in it; no model is needed for that.
pub(crate) async fn store(config: &Config) -> anyhow::Result<Store> {
    let place = config.store_place();
    Store::look(&place, config.store.options()?).await.with_context(|| unopened(&place))
}

fn unopened(place: &str) -> String {
    format!("the store at {place} cannot be opened")
}

/// Reads documents, each in a process of this program.
fn reader(config: &Config) -> anyhow::Result<Reader> {
    let program = std::env::current_exe().context("this program cannot find itself")?;
    let limits = Limits { memory: config.ingest.memory_mb << 20, ..Limits::default() };
    let mut reader = Reader::new(program, [crate::READ]).within(limits);
    // The allocator sets room aside, which would count as memory that is used.
    reader = reader.with_variable("MIMALLOC_ARENA_RESERVE", "32M");
    if let Some(library) = pdfium(config) {
        reader = reader.with_pdfium(library);
    }
    if let Some(languages) = recognition(config) {
        reader = reader.with_recognition(languages);
    }
    Ok(reader)
}

/// PDFium, from where the configuration says or where it is usually found.
pub(crate) fn pdfium(config: &Config) -> Option<PathBuf> {
    config.ingest.pdfium.clone().or_else(|| PDFIUM.find(&config.models_folder()))
}

/// The languages in which scanned pages are read: those that are configured and installed.
pub(crate) fn recognition(config: &Config) -> Option<String> {
    if config.ingest.recognition.is_empty() {
        return None;
    }
    let output = std::process::Command::new("tesseract").arg("--list-langs").output().ok()?;
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let installed = |language: &&str| listed.lines().any(|line| line.trim() == *language);
    let languages: Vec<&str> = config.ingest.recognition.split('+').filter(installed).collect();
    (!languages.is_empty()).then(|| languages.join("+"))
}
